"""`argus report [RUN] -o FILE`: one HTML page about an optimisation run, from the journal."""

from __future__ import annotations

import argparse
from pathlib import Path

from argus.agent.journal import Journal
from argus.cli.answers import ReportAnswer, emit
from argus.cli.history import folder
from argus.cli.usage import GOOD
from argus.report.run_page import run_page


def handle(args: argparse.Namespace) -> int:
    with Journal.read(folder(args)) as journal:
        run = journal.info(args.run).id
        Path(args.output).write_text(run_page(journal, run), encoding="utf-8")
    if args.json:
        emit(ReportAnswer, {"run": run, "output": args.output})
    else:
        print(f"written to {args.output}")
    return GOOD

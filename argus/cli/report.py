"""`argus report [RUN] -o FILE`: one HTML page about an optimisation run, from the journal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from argus.agent.journal import Journal
from argus.cli.history import add_journal, folder
from argus.cli.options import GOOD
from argus.report.run_page import run_page


def register(verbs: Any) -> None:
    parser = verbs.add_parser("report", help="write an HTML page about an optimisation run")
    parser.add_argument("run", nargs="?")
    parser.add_argument("-o", "--output", metavar="FILE", default="argus-report.html")
    add_journal(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    with Journal.read(folder(args)) as journal:
        Path(args.output).write_text(run_page(journal, args.run), encoding="utf-8")
    print(f"written to {args.output}")
    return GOOD

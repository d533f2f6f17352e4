"""`argus check FILE`: prove the data flow of a kernel, or show where it breaks."""

from __future__ import annotations

import argparse
from pathlib import Path

from argus.check import Report
from argus.check.explain.picture import PictureError, page, pictures
from argus.check.explain.show import Look, ShowError, show
from argus.check.explain.stats import table
from argus.check.proof_cache import directory
from argus.check.solve.smtlib import dump
from argus.cli.answers import CheckAnswer, ShowAnswer, emit
from argus.cli.check_run import executed_on_machine
from argus.cli.check_text import short
from argus.cli.options import pairs
from argus.cli.reading import kernel_of
from argus.cli.usage import GOOD, UNKNOWN, WRONG, UsageError
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.passes.schedule import scheduled
from argus.pipeline import report_of


def exit_code(report: Report) -> int:
    """0 if everything is proved, 1 if anything is refuted, else 3."""
    states = {v.status for v in report.verdicts}
    return WRONG if "refuted" in states else UNKNOWN if "unknown" in states else GOOD


def handle(args: argparse.Namespace) -> int:
    kernel = kernel_of(args)
    if args.show is not None:
        return _show(args, kernel)
    program = scheduled(kernel)
    report = report_of(program, kept=not args.no_cache, run=not args.no_run)
    on_machine = executed_on_machine(program, report) if args.run else None
    report = report if on_machine is None else on_machine.report
    files = dump(report, Path(args.smt) if args.smt else directory().parent / "smt")
    if args.json:
        drawn = _draw(report, Path(args.picture)) if args.picture else None
        machine = [] if on_machine is None else on_machine.sentences
        more = {"status": report.status, "machine": machine, "smt": [str(f) for f in files], "picture": drawn}
        emit(CheckAnswer, {**report.to_json(), **more})
    else:
        print(report.render() if args.verbose else short(report))
        for sentence in () if on_machine is None else on_machine.sentences:
            print(sentence)
        for file in files:
            print(f"undecided question: {file}")
        if args.stats:
            print(table(report))
        if args.picture:
            print(_draw(report, Path(args.picture)))
    return exit_code(report)


def _show(args: argparse.Namespace, kernel: Kernel) -> int:
    known = {name: _whole(text, f"--at {name}") for name, text in pairs(args.at, "--at").items()}
    known |= {name: _whole(text, f"--shape {name}") for name, text in pairs(args.shape, "--shape").items()}
    if args.block:
        numbers = [_whole(text, "--block") for text in args.block.split(",")]
        known |= {v.name: n for v, n in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), numbers, strict=False)}
    try:
        text = show(scheduled(kernel), Look(args.show, args.thread, known))
    except ShowError as error:
        raise UsageError(str(error)) from error
    if args.json:
        emit(ShowAnswer, {"kernel": kernel.name, "line": args.show, "text": text})
    else:
        print(text)
    return GOOD


def _whole(text: str, flag: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise UsageError(f"{flag} takes whole numbers, not {text!r}") from error


def _draw(report: Report, path: Path) -> str:
    """What was drawn, or why nothing."""
    if path.suffix not in (".svg", ".html"):
        raise UsageError(f"--picture writes .svg or .html, not {path.name}")
    try:
        path.write_text(page(report) if path.suffix == ".html" else pictures(report)[0])
    except PictureError as error:
        return f"no picture: {error}"
    return f"wrote {path}"

"""`argus check FILE`: prove the data flow of a kernel, or show where it breaks.

argus check FILE --stats                     where the time went and how questions were decided
argus check FILE --show 47 --thread 40       the tags of the values on line 47, as one thread sees them
argus check FILE --picture out.html          the offending layout of the first counterexample
argus check FILE --no-cache                  decide again, although the verdicts are known
argus check FILE --run                       execute the proof, or the refuted value, on the machine, too
argus check FILE --no-run                    do not execute the proof
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from argus.check import Report
from argus.check.explain.picture import PictureError, page, pictures
from argus.check.explain.show import Look, ShowError, show
from argus.check.explain.stats import table
from argus.check.proof_cache import directory
from argus.check.solve.smtlib import dump
from argus.cli.check_run import executed_on_machine
from argus.cli.options import GOOD, UNKNOWN, WRONG, UsageError, add_kernel_arguments, pairs
from argus.cli.reading import kernel_of
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.passes.schedule import scheduled
from argus.pipeline import report_of


def register(verbs: Any) -> None:
    parser = verbs.add_parser("check", help="prove the kernel's data flow, or show a counterexample")
    add_kernel_arguments(parser)
    parser.add_argument("--stats", action="store_true", help="where time went, by what questions were decided")
    parser.add_argument("--no-cache", action="store_true", help="decide again instead of using verdicts kept on disk")
    runs = parser.add_mutually_exclusive_group()
    runs.add_argument("--run", action="store_true", help="also execute the code object on the simulated machine")
    runs.add_argument("--no-run", action="store_true", help="do not execute a proof before it is believed")
    parser.add_argument("--smt", metavar="DIR", help="where undecided questions are written (default: in the cache)")
    parser.add_argument("--picture", metavar="OUT", help="draw the offending layout: .svg, or .html with the report")
    parser.add_argument("--show", type=int, metavar="LINE", help="print the tags of the values on this line and stop")
    parser.add_argument("--thread", type=int, default=0, help="with --show: whose values (default 0)")
    parser.add_argument("--block", metavar="X,Y,Z", help="with --show: the workgroup")
    parser.add_argument("--at", action="append", default=[], metavar="LOOP=N,…", help="with --show: loop iterations")
    parser.set_defaults(handler=handle)


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
        machine = {} if on_machine is None else {"machine": on_machine.sentences}
        print(json.dumps({**report.to_json(), **machine, "smt": [str(f) for f in files]}, indent=2))
    else:
        print(report.render())
        for sentence in () if on_machine is None else on_machine.sentences:
            print(sentence)
        for file in files:
            print(f"undecided question: {file}")
        if args.stats:
            print(table(report))
    if args.picture:
        _draw(report, Path(args.picture))
    return exit_code(report)


def _show(args: argparse.Namespace, kernel: Kernel) -> int:
    known = {name: _whole(text, f"--at {name}") for name, text in pairs(args.at, "--at").items()}
    known |= {name: _whole(text, f"--shape {name}") for name, text in pairs(args.shape, "--shape").items()}
    if args.block:
        numbers = [_whole(text, "--block") for text in args.block.split(",")]
        known |= {v.name: n for v, n in zip((BLOCK_X, BLOCK_Y, BLOCK_Z), numbers, strict=False)}
    try:
        print(show(scheduled(kernel), Look(args.show, args.thread, known)))
    except ShowError as error:
        raise UsageError(str(error)) from error
    return GOOD


def _whole(text: str, flag: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise UsageError(f"{flag} takes whole numbers, not {text!r}") from error


def _draw(report: Report, path: Path) -> None:
    if path.suffix not in (".svg", ".html"):
        raise UsageError(f"--picture writes .svg or .html, not {path.name}")
    try:
        path.write_text(page(report) if path.suffix == ".html" else pictures(report)[0])
    except PictureError as error:
        print(f"no picture: {error}")
        return
    print(f"wrote {path}")

"""`argus check FILE`: prove the data flow of a kernel, or show where it breaks."""

from __future__ import annotations

import argparse
import json
from typing import Any

from argus.check import Report, check
from argus.cli.options import GOOD, UNKNOWN, WRONG, add_kernel_arguments
from argus.cli.reading import kernel_of
from argus.compile.schedule import scheduled
from argus.ir.kernel import Kernel


def register(verbs: Any) -> None:
    parser = verbs.add_parser("check", help="prove the kernel's data flow, or show a counterexample")
    add_kernel_arguments(parser)
    parser.set_defaults(handler=handle)


def exit_code(report: Report) -> int:
    """0 if everything is proved, 1 if anything is refuted, else 3."""
    states = {v.status for v in report.verdicts}
    return WRONG if "refuted" in states else UNKNOWN if "unknown" in states else GOOD


def judged(kernel: Kernel) -> Report:
    """The verdicts about the program in the order in which it is emitted: after scheduling, not as it is written."""
    return check(scheduled(kernel))


def handle(args: argparse.Namespace) -> int:
    report = judged(kernel_of(args))
    print(json.dumps(report.to_json(), indent=2) if args.json else report.render())
    return exit_code(report)

"""No object leaves the house unchecked: `compile`, `run` and `time` check first and stop at a refutation.

`--force` lets a refuted or unproved kernel through, to look at what it does; the output says so.
"""

from __future__ import annotations

import argparse
import sys

from argus.check import check
from argus.cli.check import exit_code
from argus.cli.options import GOOD, UNKNOWN
from argus.ir.kernel import Kernel


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="go on although the checker refuted or could not prove")


def refused(kernel: Kernel, args: argparse.Namespace) -> int:
    """0 if the kernel may go on; otherwise the exit code to end with, after saying why."""
    report = check(kernel)
    code = exit_code(report)
    if code == GOOD:
        return GOOD
    if args.force:
        word = "unproved" if code == UNKNOWN else "REFUTED"
        print(f"warning: {kernel.name} is {word}; going on because of --force", file=sys.stderr)
        return GOOD
    print(report.render(), file=sys.stderr)
    return code

"""No object leaves the house unchecked: `compile`, `run` and `time` check first and stop at a refutation.

`--force` lets a refuted or unproved kernel through, to look at what it does; `--no-check` of `run` and `time` does not
ask the checker at all. The output says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from argus.check import Report
from argus.cli.check import exit_code
from argus.cli.check_text import short
from argus.cli.options import sizes
from argus.cli.reading import kernel_of
from argus.cli.usage import GOOD, UNKNOWN, UsageError
from argus.device.guards import check_sizes
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.ir.semantics import MAX_BYTES, extent_bytes
from argus.ir.stages import Scheduled
from argus.layout.expr import evaluate
from argus.pipeline import report_of

STOPPED = "stopped here: nothing was compiled or executed; --force goes on"


class RefusedError(Exception):
    """The checker did not prove the kernel; `code` is the exit code."""

    def __init__(self, code: int, report: Report) -> None:
        super().__init__(f"{short(report)}\n{STOPPED}")
        self.code = code
        self.report = report


def admit(program: Scheduled, args: argparse.Namespace) -> Report:
    """The checker's report, if the program is proved or forced."""
    report = report_of(program)
    code = exit_code(report)
    if code != GOOD:
        if not args.force:
            raise RefusedError(code, report)
        word = "unproved" if code == UNKNOWN else "REFUTED"
        print(f"warning: {program.name} is {word}; going on because of --force", file=sys.stderr)
    return report


def admitted_launch(args: argparse.Namespace) -> tuple[Scheduled, Mapping[str, int], Report | None]:
    """The proved program, the sizes of the launch, which satisfy its `requires`, and the checker's report; None where
    it was not to be asked."""
    kernel = kernel_of(args)
    launch = sizes(args, kernel)
    check_sizes(kernel, launch)
    program = scheduled(kernel)
    if args.no_check:
        print(f"warning: {program.name} is not checked: nothing about it is proved", file=sys.stderr)
        return program, launch, None
    return program, launch, admit(program, args)


def refuse_large(kernel: Kernel, launch: Mapping[str, int]) -> None:
    """For verbs that make whole tensors, here and in float64: those that memory may not hold are refused."""
    for tensor in kernel.tensors:
        count = int(evaluate(extent_bytes(tensor), dict(launch)))
        if count >= MAX_BYTES:
            told = f"{tensor.name} has {count} bytes, and `argus run` makes whole tensors of fewer than {MAX_BYTES}"
            raise UsageError(f"{told}; `argus time` executes samples of larger launches")

"""`argus ir FILE`: the kernel as the rest of the house sees it."""

from __future__ import annotations

import argparse

from argus.cli.answers import IrAnswer, emit
from argus.cli.reading import kernel_of
from argus.cli.usage import GOOD
from argus.ir.printer import print_kernel


def handle(args: argparse.Namespace) -> int:
    kernel = kernel_of(args)
    if args.json:
        emit(IrAnswer, {"kernel": kernel.name, "ir": print_kernel(kernel)})
    else:
        print(print_kernel(kernel))
    return GOOD

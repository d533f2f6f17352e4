"""`argus ir FILE`: the kernel as the rest of the house sees it."""

from __future__ import annotations

import argparse
from typing import Any

from argus.cli.options import GOOD, add_kernel_arguments
from argus.cli.reading import kernel_of
from argus.ir.printer import print_kernel


def register(verbs: Any) -> None:
    parser = verbs.add_parser("ir", help="print the kernel IR")
    add_kernel_arguments(parser)
    parser.set_defaults(handler=handle)


def handle(args: argparse.Namespace) -> int:
    print(print_kernel(kernel_of(args)))
    return GOOD

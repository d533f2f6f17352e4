"""From the command line to a kernel: the first step of every verb that takes FILE."""

from __future__ import annotations

import argparse

from argus.cli.options import settings, sizes
from argus.device.guards import check_sizes
from argus.ir.kernel import Kernel
from argus.lang import read


def kernel_of(args: argparse.Namespace) -> Kernel:
    """Read the kernel named on the command line with its knob settings; sizes given with --shape must be ones it
    takes."""
    kernel = read(args.file, settings=settings(args), kernel=args.kernel)
    if args.shape:
        check_sizes(kernel, sizes(args, kernel))
    return kernel

"""How many workgroups a launch can have.

    grid_limits(kernel)      conditions on the sizes: N//128*(R//64) <= 16777215 of a kernel of 256 threads

A dispatch packet counts work-items in 32 bits, so an extent of the grid times the threads of a workgroup stays below
2**32. Launches refuse larger grids, and proofs take it for granted: block numbers fit.
"""

from __future__ import annotations

from argus.ir.kernel import Kernel
from argus.layout import expr as E
from argus.layout.expr import Expr

WORK_ITEMS = 2**32 - 1
"""Most work-items of one axis of a grid."""
MOST_BLOCKS = 2**31 - 1
"""Most workgroups along an axis in which a workgroup has one thread."""


def grid_limits(kernel: Kernel) -> tuple[Expr, ...]:
    """For each extent of the grid that may be too large, that it is not."""
    most = (WORK_ITEMS // kernel.threads, MOST_BLOCKS, MOST_BLOCKS)
    limits = (E.as_expr(extent).le(limit) for extent, limit in zip(kernel.grid, most, strict=True))
    return tuple(limit for limit in limits if limit is not E.TRUE)

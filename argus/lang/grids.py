"""Which workgroup computes which block: grid mappings, as expressions over the hardware's workgroup numbers.

    ag.grid(M // BM, N // BN)                          bm = block.y, bn = block.x (the last one runs fastest)
    ag.grid(..., order=ag.grouped(8))                  groups of 8 rows of blocks, walked column by column: their
                                                       operands stay in L2
    ag.grid(..., order=ag.xcd(8))                      workgroup i runs on chiplet i % 8; give each chiplet neighbouring
                                                       blocks. Optionally grouped as well: ag.xcd(8, group=4)

Every mapping is a bijection of the grid for every size (also when groups and chiplets do not divide it).
"""

from __future__ import annotations

from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z
from argus.lang.values import NamedPolicy
from argus.layout import expr as E
from argus.layout.expr import Expr, const

SCHEDULE_CLASSES = ("mfma", "valu", "salu", "ds_read", "ds_write", "buffer_load", "buffer_store")


def mapping(sizes: list[Expr], order: NamedPolicy | None) -> tuple[tuple[Expr, Expr, Expr], list[Expr]]:
    """(launch grid x, y, z) and the block's coordinates, one per size."""
    if order is None or order.kind == "row_major":
        if len(sizes) <= 3:
            own = (BLOCK_X, BLOCK_Y, BLOCK_Z)
            extents = [*reversed(sizes), const(1), const(1)]
            return (extents[0], extents[1], extents[2]), [own[len(sizes) - 1 - i] for i in range(len(sizes))]
        number = BLOCK_X
    elif order.kind == "xcd":
        number = _by_chiplet(BLOCK_X, _product(sizes), int(order.params["count"]))
    else:
        number = BLOCK_X
    rows = int(order.params.get("rows", 1)) if order is not None else 1
    return (_product(sizes), const(1), const(1)), _coordinates(number, sizes, rows)


def _product(sizes: list[Expr]) -> Expr:
    total: Expr = const(1)
    for s in sizes:
        total = total * s
    return total


def _by_chiplet(number: Expr, total: Expr, count: int) -> Expr:
    """Workgroups number, number + count, … share a chiplet: give them consecutive blocks.

    Chiplet c gets total//count blocks, one more if c < total%count, and they start after those of the chiplets before.
    """
    chiplet, turn = number % count, number // count
    return chiplet * (total // count) + E.minimum(chiplet, total % count) + turn


def _coordinates(number: Expr, sizes: list[Expr], rows: int) -> list[Expr]:
    """The coordinates of block `number`; the last two sizes are walked in groups of `rows` rows."""
    if rows == 1 or len(sizes) < 2:
        made: list[Expr] = []
        for size in reversed(sizes[1:]):
            made.append(number % size)
            number = number // size
        return [number, *reversed(made)]
    *outer, height, width = sizes
    plane = height * width
    inside = number % plane if outer else number
    group = inside // (rows * width)
    here = E.minimum(const(rows), height - group * rows)
    rest = inside - group * (rows * width)
    row, column = group * rows + rest % here, rest // here
    lead = _coordinates(number // plane, outer, 1) if outer else []
    return [*lead, row, column]

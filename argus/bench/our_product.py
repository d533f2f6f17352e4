"""Ours in a comparison of matrix products: the dispatcher's choice, or the same rows in several launches beyond 2 GiB.

    ours = our_product((2097152, 7168, 8192), "bf16", "TN")
    ours.text()              "matmul …, in 17 launches of 123392 rows and fewer"
    ours.time(Kept()).us     all launches one after the other, each with its start

A kernel reaches 2 GiB of a tensor. Rows of A and C lie one after the other, so whoever has more launches the product on
blocks of rows, as even as whole tiles allow; the library's operations do not do it by themselves. Where A is stored by
k, or B alone has 2 GiB, there is no such way and the product is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.bench.contestant import Contestant, Part, from_choice
from argus.bench.kept import Kept, Timed, mark
from argus.clock.uncertainty import Interval
from argus.ops.choice import LIMIT, Choice, NoKernel, choose_matmul
from argus.ops.launch import prepared

Shape = tuple[int, int, int]
TILE = 256
"""Rows of the largest tile: blocks of rows are multiples of it."""


@dataclass(frozen=True, slots=True)
class RowBlock:
    """`count` launches of a product of these sizes."""

    count: int
    shape: Shape
    choice: Choice

    def contestant(self) -> Contestant:
        return from_choice("ours", self.choice, dict(zip("MNK", self.shape, strict=True)))

    def time(self, store: Kept) -> Timed:
        """Of one launch of the proved kernels; a kept time is that of these very objects."""
        steps = [self.choice, *([] if self.choice.then is None else [self.choice.then])]
        objects = " ".join(mark(prepared(step).code) for step in steps)
        at = " x ".join(map(str, self.shape))
        return store.time(f"ours {self.choice.text()} {objects} at {at}", self.contestant, ())


@dataclass(frozen=True, slots=True)
class OurProduct:
    """Blocks of rows that together make the product: one, but for the largest."""

    blocks: tuple[RowBlock, ...]

    def text(self) -> str:
        first = self.blocks[0]
        count = sum(block.count for block in self.blocks)
        more = " and fewer" if len(self.blocks) > 1 else ""
        return first.choice.text() + (f", in {count} launches of {first.shape[0]} rows{more}" if count > 1 else "")

    def time(self, store: Kept) -> Timed:
        times = [(block.count, block.time(store)) for block in self.blocks]
        us = sum(count * time.us for count, time in times)
        known = [(count, time.interval) for count, time in times if time.interval is not None]
        interval = None
        if len(known) == len(times):
            low, high = (sum(count * getattr(each, end) for count, each in known) for end in ("low", "high"))
            interval = Interval(low, high, known[0][1].regime)
        return Timed(us, times[0][1].mhz, interval=interval)

    def contestant(self) -> Contestant:
        """All launches, each timed under any clock."""
        parts: list[Part] = []
        for block in self.blocks:
            parts += block.count * list(block.contestant().parts)
        return Contestant("ours", self.text(), tuple(parts))


def our_product(shape: Shape, dtype: str, layout: str) -> OurProduct:
    """What the library takes for this product; NoKernel says why there is nothing."""
    m, n, k = shape
    a_by_k, b_by_k = layout == "NT", layout != "TN"

    def block(count: int, rows: int) -> RowBlock:
        return RowBlock(count, (rows, n, k), choose_matmul(rows, n, k, dtype, a_by_k=a_by_k, b_by_k=b_by_k))

    try:
        return OurProduct((block(1, m),))
    except NoKernel:
        rows = _rows(shape, 1 if dtype == "fp8" else 2)
        if a_by_k or rows is None or rows >= m:
            raise
        whole, left = divmod(m, rows)
        return OurProduct((block(whole, rows), *([block(1, left)] if left else [])))


def _rows(shape: Shape, size: int) -> int | None:
    """Rows of a block, even over as few launches as may be; None if not even a tile's rows are within reach."""
    m, n, k = shape
    most = (LIMIT - 1) // max(size * k, 2 * n) // TILE * TILE
    if not most:
        return None
    return -(-m // -(-m // most) // TILE) * TILE

"""The exclusive-or part of a layout: an invertible map over the bits of a byte address.

    X(a) = exclusive or of columns[i] over the set bits i of a        (bits above the last column stay)

    rows of 128 bytes, chunk ^= row & 7:    bit 7 -> 128+16, bit 8 -> 256+32, bit 9 -> 512+64, the others stay
    on an expression:   X(row*128 + chunk*16 + e*2)  ==  row*128 + (chunk ^ row%8)*16 + e*2

It acts on bytes, never on elements, so reading the same memory with another element type leaves it alone.  The map is
kept invertible: two elements never meet because of a swizzle.

What it cannot do: carries.  A swizzle of rows that are not a power of two apart (padded rows) is not of this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.layout import gf2
from argus.layout.error import LayoutError
from argus.layout.node import Expr, as_expr


@dataclass(frozen=True)
class Swizzle:
    """Columns of the map, as many as bits take part; it maps the numbers of that many bits to themselves."""

    columns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        columns = list(self.columns)
        while columns and columns[-1] == 1 << (top := len(columns) - 1) and not any(c >> top for c in columns[:-1]):
            columns.pop()
        object.__setattr__(self, "columns", tuple(columns))
        if columns and gf2.inverse(columns) is None:
            raise LayoutError("two addresses would meet: the exclusive-or part of the layout is not invertible")

    @property
    def identity(self) -> bool:
        return not self.columns

    def column(self, bit: int) -> int:
        """Image of one address bit."""
        return self.columns[bit] if bit < len(self.columns) else 1 << bit

    def inverse(self) -> Swizzle:
        found = gf2.inverse(self.columns)
        if found is None:
            raise LayoutError("the exclusive-or part of the layout is not invertible")
        return Swizzle(tuple(found))

    def after(self, other: Swizzle) -> Swizzle:
        """self(other(a))"""
        size = max(len(self.columns), len(other.columns))
        mine = [self.column(i) for i in range(size)]
        return Swizzle(tuple(gf2.compose(mine, [other.column(i) for i in range(size)])))

    def of_table(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        """The map on an array of addresses."""
        result = addresses.copy()
        for bit, column in enumerate(self.columns):
            if column != 1 << bit:
                result ^= ((addresses >> bit) & 1) * (column ^ (1 << bit))
        return result

    def of_expr(self, address: Expr) -> Expr:
        """The map on an expression."""
        extra = [column ^ (1 << bit) for bit, column in enumerate(self.columns)]
        return address ^ xor_of_fields([extra], [address])

    def __str__(self) -> str:
        moved = [f"{1 << i}->{c}" for i, c in enumerate(self.columns) if c != 1 << i]
        return ", ".join(moved) or "none"


def xor_of_fields(columns: Sequence[Sequence[int]], values: Sequence[Expr]) -> Expr:
    """Exclusive or over values[j]'s bits i of columns[j][i]; runs of bits moved alike become one field."""
    total = as_expr(0)
    for value, images in zip(values, columns, strict=True):
        moves = sorted({(target - bit, bit) for bit, image in enumerate(images) for target in _set_bits(image)})
        while moves:
            shift, first = moves[0]
            width = 1
            while (shift, first + width) in moves:
                width += 1
            moves = [move for move in moves if move[0] != shift or not first <= move[1] < first + width]
            total = total ^ ((value >> first) % (1 << width) << (first + shift))
    return total


def _set_bits(x: int) -> list[int]:
    return [i for i in range(x.bit_length()) if x >> i & 1]

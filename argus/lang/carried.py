"""Values that hold tiles (a tile, or lists, tuples, dictionaries of them): registers taken out and put in.

Loops and branches work on registers; names stand for structures of tiles. These functions go between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from argus.ir.types import Value
from argus.lang import arithmetic
from argus.lang.values import Tile


def tiles_in(value: object) -> list[Tile]:
    """The tiles of a value, in order."""
    if isinstance(value, Tile):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tiles_in(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tiles_in(v)]
    return []


def with_values(value: object, new: Iterator[Value]) -> Any:
    """The same value with the registers of its tiles replaced, in order."""
    if isinstance(value, Tile):
        return Tile(value.dtype, value.dist, tuple(next(new) for _ in value.pieces))
    if isinstance(value, (list, tuple)):
        return type(value)([with_values(v, new) for v in value])
    if isinstance(value, dict):
        return {k: with_values(v, new) for k, v in value.items()}
    return value


def shape_of(value: object) -> object:
    """Nesting of a value, with everything that is not a tile compared as it is."""
    if isinstance(value, Tile):
        return "tile"
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(shape_of(v) for v in value))
    if isinstance(value, dict):
        return ("dict", tuple((k, shape_of(v)) for k, v in value.items()))
    return value


def kind_text(value: object) -> str:
    if isinstance(value, Tile):
        digits = "×".join(str(n) for _, n in value.dist.digits) or "1"
        return f"{arithmetic.article(value.dtype.name)} tile of {digits} over ({', '.join(value.dist.axes)})"
    return repr(value) if isinstance(value, (int, float, str)) else arithmetic.describe(value)

"""ATen's scans, places of extremes, concatenations and dropout as nodes of a graph (`aten`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argus.torch.export import Conversion

Converter = Callable[..., str]


def scan(kind: str) -> Converter:
    def convert(at: Conversion, x: Any, dim: int, **named: Any) -> str:
        rank = len(at.node_of(x).shape)
        if rank == 0:
            return at.name_of(x)
        form: dict[str, Any] = {"kind": kind, "dim": dim % rank, "exclusive": False, "reverse": False}
        return at.add("scan", (at.name_of(x),), **form)

    return convert


def place(kind: str) -> Converter:
    """The first place of an extreme: along an axis, or in the whole array seen flat."""

    def convert(at: Conversion, x: Any, dim: int | None = None, keepdim: bool = False) -> str:
        node = at.node_of(x)
        name, shape = node.name, node.shape
        if dim is None:
            name, shape, dim = at.add("view", (name,), (node.elements,), dtype=node.dtype), (node.elements,), 0
        return at.add("argreduce", (name,), kind=kind, dim=dim % len(shape), dtype="i64")

    return convert


def flip(at: Conversion, x: Any, dims: Sequence[int]) -> str:
    rank = len(at.node_of(x).shape)
    return at.add("flip", (at.name_of(x),), dims=tuple(sorted(dim % rank for dim in dims)))


def cat(at: Conversion, parts: Sequence[Any], dim: int = 0) -> str:
    names = [at.name_of(part) for part in parts]
    if len(names) == 1:
        return names[0]
    return at.add("cat", tuple(names), dim=dim % len(at.shape))


def full(at: Conversion, shape_or_like: Any, value: float = 0.0, *ignored: Any, **named: Any) -> str:
    """One number everywhere, of the result's shape."""
    return at.add("full", (), value=float(value))


def dropout(at: Conversion, x: Any, p: float, train: bool | None = True) -> str:
    """The mask is an input that torch draws before the run: ones where a value is kept."""
    name = at.name_of(x)
    if not train or p == 0:
        return name
    if p == 1:
        return at.add("scale", (name,), p=0.0)
    kept = at.add("mul", (name, at.drawn(1.0 - p)))
    return at.add("scale", (kept,), p=1.0 / (1.0 - p))

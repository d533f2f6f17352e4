"""What names in a kernel stand for while it is read, besides Python's own numbers, strings, tuples and lists.

Static things (numbers, layouts, owners, element types) are known to the reader. An index is an expression over lane,
wave, block, loops and sizes. A `Tile` is data: registers each thread holds. Everything here is a value: assigning to
`acc[i, j]` rebinds the name `acc` to a new tile, it changes no other name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from argus.ir.ops import Memory, Shared, Tensor
from argus.ir.types import DType, Span, Value
from argus.lang.distribution import Distribution
from argus.layout.expr import Expr
from argus.layout.layout import Layout


@dataclass(frozen=True, eq=False)
class Tile:
    """Registers: `dist.count` elements of `dtype` per thread, in `pieces` of equal count."""

    dtype: DType
    dist: Distribution
    pieces: tuple[Value, ...]

    @property
    def chunk(self) -> int:
        return self.pieces[0].count

    @property
    def count(self) -> int:
        return self.dist.count


@dataclass(frozen=True, eq=False)
class Coordinates:
    """`tile.Sk`: an index for every element of a tile; arithmetic and comparisons with it stay expressions."""

    dist: Distribution
    exprs: tuple[Expr, ...]

    @property
    def boolean(self) -> bool:
        return all(e.boolean for e in self.exprs)


@dataclass(frozen=True, eq=False)
class TensorView:
    """A tensor argument seen from an origin: `A[bm*BM, kt*BK]`."""

    tensor: Tensor
    origin: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class SharedTile:
    """A buffer in LDS and the layout that says where its elements are; `shift` is a byte offset (a slot of a ring)."""

    buffer: Shared
    layout: Layout
    shift: Expr


@dataclass(frozen=True, eq=False)
class Ring:
    """`depth` slots of named LDS tiles, used in turn: `ring[j]` is slot j mod depth."""

    depth: int
    members: dict[str, SharedTile]
    strides: dict[str, int]

    @property
    def buffers(self) -> tuple[Memory, ...]:
        return tuple(m.buffer for m in self.members.values())


@dataclass(frozen=True, eq=False)
class Slot:
    """One slot of a ring; its members are LDS tiles."""

    members: dict[str, SharedTile]


@dataclass(frozen=True, eq=False)
class Range:
    """`ag.range(lo, hi, step)`: a loop that stays a loop."""

    lo: Expr
    hi: Expr
    step: int


@dataclass(frozen=True, eq=False)
class Unroll:
    """`ag.unroll(4, 2)`: all index combinations, read one after another."""

    points: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class NamedPolicy:
    """A named setting such as a grid order or a schedule, with its parameters."""

    kind: str
    params: dict[str, int | str]


@dataclass(frozen=True, slots=True)
class Annotation:
    """`ag.In`, `ag.Out`, `ag.InOut`, `ag.const`: what an argument is; with brackets its axes, type and strides."""

    kind: str
    axes: str = ""
    dtype: DType | None = None
    static: str = ""
    strides: str = ""


@dataclass(frozen=True, eq=False)
class FileFunction:
    """A function of a kernel file; calls are read in place."""

    name: str
    node: ast.FunctionDef | ast.Lambda
    scope: NameScope
    file: str


@dataclass(frozen=True, eq=False)
class Builtin:
    """A function of the language, or a method with the value it belongs to."""

    name: str
    call: Callable[..., object]
    bound: tuple[object, ...] = ()


@dataclass(frozen=True, eq=False)
class Namespace:
    """`ag`, `ag.check`: names with a dot."""

    name: str


@dataclass(frozen=True, eq=False)
class Unavailable:
    """A name that has no usable value here; using it is the error `code`."""

    code: str
    words: dict[str, object]
    span: Span


@dataclass(eq=False)
class NameScope:
    """Names of one function, and the scope around it."""

    parent: NameScope | None
    names: dict[str, object] = field(default_factory=dict)
    nonlocals: set[str] = field(default_factory=set)

    def chain(self) -> Iterator[NameScope]:
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def holder(self, name: str) -> NameScope | None:
        """The innermost scope that has the name."""
        return next((s for s in self.chain() if name in s.names), None)

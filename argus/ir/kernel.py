"""A whole kernel: signature, launch shape, LDS, body.

The machine-code signature follows from it, in this order, and is the same for every launcher:

    one 64-bit pointer per tensor, in the order written; then each scalar argument;
    then one 32-bit integer per shape symbol, in the order of `shapes`.

`knobs` are the values this instance of the kernel was read with; `requires` are the conditions under which everything
proved about it holds and which a launcher must check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from argus.gfx942.target import GFX942, Target
from argus.ir.ops import Op, Shared, Tensor
from argus.ir.types import NOWHERE, DType, Span, Value
from argus.layout.expr import Expr, var
from argus.spec.tree import Specification

WAVE = 64
LANE = var("lane", 0, WAVE - 1)
BLOCK_X = var("block_x", 0, None)
BLOCK_Y = var("block_y", 0, None)
BLOCK_Z = var("block_z", 0, None)


def wave_variable(waves: int) -> Expr:
    """The wave's number in its workgroup, 0 .. waves-1."""
    return var("wave", 0, waves - 1)


KnobValue = int | bool | str


@dataclass(frozen=True, slots=True)
class Knob:
    """A typed parameter of a kernel file: its default and every value it may take."""

    name: str
    default: KnobValue
    legal: tuple[KnobValue, ...]
    why: str = ""
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class ScalarArg:
    """A scalar kernel argument and the value through which ops read it; `positive`: the kernel requires it to be."""

    name: str
    dtype: DType
    value: Value
    span: Span = NOWHERE
    positive: bool = False


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """A kernel file that another one imports: its module name, how places in it are named, and its text."""

    module: str
    file: str
    text: str


@dataclass(slots=True, eq=False, kw_only=True)
class Kernel:
    """`shapes` are the shape symbols in the order of the signature; `example` sizes the author gave as defaults.

    `computes` is the author's specification (`C[m, n] = sum(A[m, k] * B[n, k], k)`), read once: its text and its tree.
    `source` is the text of its file, `imports` are the kernel files it is read with, each once.
    """

    name: str
    file: str
    source: str
    tensors: tuple[Tensor, ...]
    scalars: tuple[ScalarArg, ...]
    shapes: tuple[Expr, ...]
    knobs: tuple[Knob, ...]
    settings: Mapping[str, KnobValue]
    requires: tuple[Expr, ...]
    waves: int
    grid: tuple[Expr, Expr, Expr]
    shared: tuple[Shared, ...]
    body: list[Op]
    policies: Mapping[str, int | str | bool] = field(default_factory=dict)
    example: Mapping[str, int] = field(default_factory=dict)
    computes: Specification | None = None
    span: Span = NOWHERE
    target: Target = GFX942
    imports: tuple[ImportedSource, ...] = ()

    @property
    def full_source(self) -> str:
        """The text of all its files: what it is read from, for the keys of caches."""
        return "\0".join((self.source, *(f"{i.module}\0{i.text}" for i in self.imports)))

    def files(self) -> tuple[tuple[str, str], ...]:
        """(name, text) of its file and of each file it imports."""
        return ((self.file, self.source), *((i.file, i.text) for i in self.imports))

    def text_of(self, file: str) -> str:
        """The text of one of its files; empty if it is none of them."""
        return dict(self.files()).get(file, "")

    @property
    def threads(self) -> int:
        return self.waves * WAVE

    @property
    def lds_bytes(self) -> int:
        return max((b.base + b.bytes for b in self.shared), default=0)

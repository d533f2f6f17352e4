"""Ops that make values from values, without memory and without order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from argus.ir.ops.declared import Declared, MakesOne, OpBase, Ordering
from argus.ir.types import Value
from argus.layout.expr import Expr


@dataclass(slots=True, eq=False, kw_only=True)
class Constant(MakesOne):
    """Every element of the result is `value`."""

    declared: ClassVar = Declared("constant")
    value: float | int


@dataclass(slots=True, eq=False, kw_only=True)
class Index(MakesOne):
    """An index expression as data (i32 x 1), e.g. a coordinate used in a mask."""

    declared: ClassVar = Declared("index")
    expr: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.expr,)


@dataclass(slots=True, eq=False, kw_only=True)
class Symbol(OpBase):
    """Data as an index: names the integer a thread holds so that expressions may use it (gather, routing, paging).

    `symbol` is a variable with the bounds the author stated; those bounds, and the conditions in `facts` (such as
    `expert <= E - 1`), are obligations of the launch, not proved.
    """

    declared: ClassVar = Declared("symbol")
    value: Value
    symbol: Expr
    facts: tuple[Expr, ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)

    @property
    def binds(self) -> tuple[Expr, ...]:
        return (self.symbol,)

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (self.symbol, *self.facts)


@dataclass(slots=True, eq=False, kw_only=True)
class Map(MakesOne):
    """Elementwise `fn` (see `argus.ir.maps`) over operands of equal count."""

    declared: ClassVar = Declared("map")
    fn: str
    args: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.args

    @property
    def map_function(self) -> str | None:
        return self.fn

    @property
    def issue_class(self) -> str | None:
        return "valu"


@dataclass(slots=True, eq=False, kw_only=True)
class Convert(MakesOne):
    """Change of element type, as `argus.ir.conversions` says. `rounding`: rne (default), rtz; integers wrap unless
    `saturate`.

    bf16 by rne keeps NaN a NaN; `finite` states that the range excludes NaN, which is cheaper.
    """

    declared: ClassVar = Declared("convert")
    value: Value
    rounding: str = "rne"
    saturate: bool = False
    finite: bool = False

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)

    @property
    def converts_unbounded(self) -> bool:
        return not self.saturate

    @property
    def issue_class(self) -> str | None:
        return "valu"


@dataclass(slots=True, eq=False, kw_only=True)
class Bitcast(MakesOne):
    """The same registers read as another element type (count x bits unchanged)."""

    declared: ClassVar = Declared("bitcast", needs_contents=False)
    value: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class Registers(MakesOne):
    """Any static rearrangement of registers: result[n] = args[pick[n][0]][pick[n][1]]. Slices, concatenations,
    transposes and splats of register elements are all this op."""

    declared: ClassVar = Declared("registers", needs_contents=False)
    args: tuple[Value, ...]
    pick: tuple[tuple[int, int], ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.args


@dataclass(slots=True, eq=False, kw_only=True)
class Lanes(MakesOne):
    """Exchange between lanes of a wave: lane l of the result holds what lane `source(l)` held."""

    declared: ClassVar = Declared("lanes")
    value: Value
    source: Expr

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.source,)

    @property
    def issue_class(self) -> str | None:
        return "valu"


@dataclass(slots=True, eq=False, kw_only=True)
class Mfma(MakesOne):
    """result = a * b + c on the matrix unit; `inst` is a key of `argus.gfx942.mfma`. All 64 lanes take part."""

    declared: ClassVar = Declared("mfma")
    inst: str
    a: Value
    b: Value
    c: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.a, self.b, self.c)

    @property
    def matrix_instruction(self) -> str | None:
        return self.inst

    @property
    def issue_class(self) -> str | None:
        return "mfma"


@dataclass(slots=True, eq=False, kw_only=True)
class Instruction(OpBase):
    """Any other instruction of the table, by its kernel-language name, with static attributes. One without results is
    there for what it does, and keeps its place."""

    declared: ClassVar = Declared("instruction")
    inst: str
    args: tuple[Value, ...]
    outs: tuple[Value, ...]
    attrs: dict[str, int | str | bool] = field(default_factory=dict)

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.args

    @property
    def results(self) -> tuple[Value, ...]:
        return self.outs

    @property
    def effect(self) -> bool:
        return not self.outs

    @property
    def ordering(self) -> Ordering:
        return Ordering.FREE if self.outs else Ordering.FIXED

    @property
    def issue_class(self) -> str | None:
        return "valu" if self.outs else None

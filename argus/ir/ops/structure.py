"""Ops of order and structure: meetings, waits, loops, branches, schedule regions, and the author's annotations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from argus.ir.ops.declared import Control, Declared, OpBase, Ordering
from argus.ir.ops.places import Memory
from argus.ir.types import Value
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.ir.ops import Op


@dataclass(slots=True, eq=False, kw_only=True)
class Barrier(OpBase):
    """All waves of the workgroup meet. Unless `bare`, the wave first retires its own LDS accesses (lgkmcnt 0)."""

    declared: ClassVar = Declared("barrier", Ordering.MEETING, effect=True)
    bare: bool = False

    @property
    def issue_class(self) -> str | None:
        return "barrier"


@dataclass(slots=True, eq=False, kw_only=True)
class Wait(OpBase):
    """Wait until at most `vm` global and `lgkm` LDS accesses of the wave are outstanding; None: any number.

    `registers`: it was put in for registers that the next op, which is arithmetic, reads, and orders no access to
    memory. In the code it stands before that op's instruction, which may have gone past a barrier.
    """

    declared: ClassVar = Declared("wait", Ordering.FIXED, effect=True)
    vm: int | None = None
    lgkm: int | None = None
    registers: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class SetPrio(OpBase):
    declared: ClassVar = Declared("setprio", Ordering.FIXED, effect=True)
    priority: int


@dataclass(slots=True, eq=False, kw_only=True)
class For(OpBase):
    """`for var in range(lo, hi, step)`, uniform over the workgroup, carrying values: `args[i]` enters an iteration as
    `inits[i]` or the previous `yields[i]`; `outs[i]` is the value after the last iteration."""

    declared: ClassVar = Declared("for", Ordering.FIXED, Control.LOOP, needs_contents=False)
    var: Expr
    lo: Expr
    hi: Expr
    step: int
    inits: tuple[Value, ...]
    args: tuple[Value, ...]
    body: list[Op]
    yields: tuple[Value, ...]
    outs: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.inits

    @property
    def results(self) -> tuple[Value, ...]:
        return self.outs

    @property
    def blocks(self) -> tuple[list[Op], ...]:
        return (self.body,)

    @property
    def handed(self) -> tuple[tuple[Value, ...], ...]:
        return (self.yields,)

    @property
    def sources(self) -> tuple[tuple[Value, tuple[Value, ...]], ...]:
        rows = zip(self.args, self.outs, self.inits, self.yields, strict=True)
        return tuple((made, (init, back)) for arg, out, init, back in rows for made in (arg, out))

    @property
    def binds(self) -> tuple[Expr, ...]:
        return (self.var,)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.lo, self.hi)

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (self.var, self.lo, self.hi)


@dataclass(slots=True, eq=False, kw_only=True)
class If(OpBase):
    """`if cond`; `uniform` says every thread of a wave agrees (a branch), else lanes are masked."""

    declared: ClassVar = Declared("if", Ordering.FIXED, Control.BRANCH, needs_contents=False)
    cond: Expr
    uniform: bool
    then: list[Op]
    orelse: list[Op]
    then_yields: tuple[Value, ...]
    else_yields: tuple[Value, ...]
    outs: tuple[Value, ...]

    @property
    def results(self) -> tuple[Value, ...]:
        return self.outs

    @property
    def blocks(self) -> tuple[list[Op], ...]:
        return (self.then, self.orelse)

    @property
    def handed(self) -> tuple[tuple[Value, ...], ...]:
        return (self.then_yields, self.else_yields)

    @property
    def sources(self) -> tuple[tuple[Value, tuple[Value, ...]], ...]:
        return tuple(zip(self.outs, zip(self.then_yields, self.else_yields, strict=True), strict=True))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.cond,)


@dataclass(slots=True, eq=False, kw_only=True)
class Schedule(OpBase):
    """The ops of `body` may be interleaved by the compiler by `policy` (class -> ratio, or an explicit order)."""

    declared: ClassVar = Declared("schedule", Ordering.FIXED, Control.REGION, needs_contents=False)
    policy: dict[str, int | str]
    body: list[Op]

    @property
    def blocks(self) -> tuple[list[Op], ...]:
        return (self.body,)

    @property
    def handed(self) -> tuple[tuple[Value, ...], ...]:
        return ((),)


@dataclass(slots=True, eq=False, kw_only=True)
class Tag(OpBase):
    """Author's annotation: element e of `value` (or of a tensor) carries `name` = `exprs`. No code."""

    declared: ClassVar = Declared("tag", code=False, needs_contents=False)
    target: Value | Memory
    name: str
    params: tuple[Expr, ...]
    exprs: tuple[Expr, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.target,) if isinstance(self.target, Value) else ()

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        return (*self.params, *self.exprs)


@dataclass(slots=True, eq=False, kw_only=True)
class Check(OpBase):
    """Author's assertion, decided at compile time. `targets`: values, memories or op names; `args` the rest."""

    declared: ClassVar = Declared("check", code=False, needs_contents=False)
    rule: str
    targets: tuple[Value | Memory | str, ...]
    args: dict[str, Expr | str | int | tuple[Expr, ...]] = field(default_factory=dict)

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(t for t in self.targets if isinstance(t, Value))

    @property
    def mentioned(self) -> tuple[Expr, ...]:
        found: list[Expr] = []
        for value in self.args.values():
            found += value if isinstance(value, tuple) else [value] if isinstance(value, Expr) else []
        return tuple(found)

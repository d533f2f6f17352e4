"""The ops of the kernel IR: few, each one (or a fixed handful of) machine instruction(s), each with its source span.

The IR is the program of *one thread* of the grid with the addresses of *all* threads: a value is the registers one
thread holds, while every address and coordinate is an index expression (`argus.layout.expr`) over

    lane 0..63, wave 0..W-1, block_x, block_y, block_z       who computes
    loop variables, shape symbols, data-dependent symbols     when, how large, where to

so one op describes what every thread of every workgroup does. Static Python loops of the kernel file are unrolled by
the reader; `For` is a loop that stays a loop in the machine code. Index arithmetic has no ops: it lives in the
expressions, which the checker reads as formulas and the compiler as code, so the two cannot disagree about an address.

The order of ops in a block is the order of issue. Example, one step of a GEMM (thread = 64*wave + lane):

    %4 = load A[block_y*128 + wave*16 + lane//8, kt*64 + lane%8*8] : bf16x8
    store lds.sA[...] <- %4
    barrier
    %7 = load lds.sA[...] : bf16x8
    %9 = mfma mfma_32x32x8_bf16 %8[0:4], %7[0:4], %6 : f32x16
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from argus.ir.types import NOWHERE, DType, Span, Value
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A kernel argument in global memory. `shape` and `strides` (in elements) are expressions over shape symbols.

    `written` says whether the kernel may store to it, `read` whether its first contents matter.
    """

    name: str
    dtype: DType
    axes: tuple[str, ...]
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    read: bool
    written: bool
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A buffer in LDS at byte `base` of the workgroup's allocation; `layout` is its printed form, for reports."""

    name: str
    dtype: DType
    bytes: int
    base: int
    layout: str = ""
    span: Span = NOWHERE


Memory = Tensor | Shared


@dataclass(frozen=True, slots=True)
class Access:
    """Where one thread touches memory: `count` consecutive elements.

    address   byte offset of element 0 from the start of `memory`, for the thread (lane, wave, block...)
    coords    coordinate of element 0 on every axis of a tensor; for LDS the logical coordinates it was addressed
              by, or empty. Element e has coords with `axis` advanced by e. What the checker's tags start from.
    guard     condition per thread: where it is false a load yields zeros and a store does nothing. Global accesses are
              *also* zero (dropped) where the byte offset leaves the tensor's buffer: that is what the hardware does.
    """

    memory: Memory
    address: Expr
    count: int
    coords: tuple[Expr, ...] = ()
    axis: int = -1
    guard: Expr | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Op:
    """Base of all ops. `id` is unique in the kernel and names the op in sidecar and reports; `site` is the unrolled
    position, e.g. (("ks", 1), ("i", 0)), of the copy of the source line."""

    id: int = -1
    span: Span = NOWHERE
    site: tuple[tuple[str, int], ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()

    @property
    def results(self) -> tuple[Value, ...]:
        return ()

    @property
    def blocks(self) -> tuple[list[Op], ...]:
        return ()


@dataclass(slots=True, eq=False, kw_only=True)
class _OneResult(Op):
    result: Value

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(slots=True, eq=False, kw_only=True)
class Constant(_OneResult):
    """Every element of the result is `value`."""

    value: float | int


@dataclass(slots=True, eq=False, kw_only=True)
class Index(_OneResult):
    """An index expression as data (i32 x 1), e.g. a coordinate used in a mask."""

    expr: Expr


@dataclass(slots=True, eq=False, kw_only=True)
class Symbol(Op):
    """Data as an index: names the integer a thread holds so that expressions may use it (gather, routing, paging).

    `symbol` is a variable with the bounds the author stated; those bounds, and the conditions in `facts` (such as
    `expert <= E - 1`), are obligations of the launch, not proved.
    """

    value: Value
    symbol: Expr
    facts: tuple[Expr, ...] = ()

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class Load(_OneResult):
    access: Access


@dataclass(slots=True, eq=False, kw_only=True)
class Store(Op):
    access: Access
    value: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class CopyToLds(Op):
    """Direct global-to-LDS copy, `access.count` elements (1, 2 or 4 bytes) per lane.

    The hardware writes lane i of a wave at `lds_base + 4*i`: `lds_base` may not depend on the lane.
    """

    access: Access
    into: Shared
    lds_base: Expr


@dataclass(slots=True, eq=False, kw_only=True)
class Atomic(Op):
    """Read-modify-write without result: memory[...] = fn(memory[...], value)."""

    fn: str
    access: Access
    value: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class Map(_OneResult):
    """Elementwise `fn` (see `argus.ir.maps`) over operands of equal count."""

    fn: str
    args: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.args


@dataclass(slots=True, eq=False, kw_only=True)
class Convert(_OneResult):
    """Change of element type. `rounding`: rne (default), rtz; integers wrap unless `saturate`.

    bf16 by rne keeps NaN a NaN; `finite` states that the range excludes NaN, which is cheaper.
    """

    value: Value
    rounding: str = "rne"
    saturate: bool = False
    finite: bool = False

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class Bitcast(_OneResult):
    """The same registers read as another element type (count x bits unchanged)."""

    value: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class Registers(_OneResult):
    """Any static rearrangement of registers: result[n] = args[pick[n][0]][pick[n][1]]. Slices, concatenations,
    transposes and splats of register elements are all this op."""

    args: tuple[Value, ...]
    pick: tuple[tuple[int, int], ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.args


@dataclass(slots=True, eq=False, kw_only=True)
class Lanes(_OneResult):
    """Exchange between lanes of a wave: lane l of the result holds what lane `source(l)` held."""

    value: Value
    source: Expr

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.value,)


@dataclass(slots=True, eq=False, kw_only=True)
class Mfma(_OneResult):
    """result = a * b + c on the matrix unit; `inst` is a key of `argus.gfx942.mfma`. All 64 lanes take part."""

    inst: str
    a: Value
    b: Value
    c: Value

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.a, self.b, self.c)


@dataclass(slots=True, eq=False, kw_only=True)
class Instruction(Op):
    """Any other instruction of the table, by its kernel-language name, with static attributes."""

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


@dataclass(slots=True, eq=False, kw_only=True)
class Barrier(Op):
    """All waves of the workgroup meet. Unless `bare`, the wave first retires its own LDS accesses (lgkmcnt 0)."""

    bare: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Wait(Op):
    """Wait until at most `vm` global and `lgkm` LDS accesses of the wave are outstanding; None: any number."""

    vm: int | None = None
    lgkm: int | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class SetPrio(Op):
    priority: int


@dataclass(slots=True, eq=False, kw_only=True)
class For(Op):
    """`for var in range(lo, hi, step)`, uniform over the workgroup, carrying values: `args[i]` enters an iteration as
    `inits[i]` or the previous `yields[i]`; `outs[i]` is the value after the last iteration."""

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


@dataclass(slots=True, eq=False, kw_only=True)
class If(Op):
    """`if cond`; `uniform` says every thread of a wave agrees (a branch), else lanes are masked."""

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


@dataclass(slots=True, eq=False, kw_only=True)
class Schedule(Op):
    """The ops of `body` may be interleaved by the compiler by `policy` (class -> ratio, or an explicit order)."""

    policy: dict[str, int | str]
    body: list[Op]

    @property
    def blocks(self) -> tuple[list[Op], ...]:
        return (self.body,)


@dataclass(slots=True, eq=False, kw_only=True)
class Tag(Op):
    """Author's annotation: element e of `value` (or of a tensor) carries `name` = `exprs`. No code."""

    target: Value | Memory
    name: str
    params: tuple[Expr, ...]
    exprs: tuple[Expr, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.target,) if isinstance(self.target, Value) else ()


@dataclass(slots=True, eq=False, kw_only=True)
class Check(Op):
    """Author's assertion, decided at compile time. `targets`: values, memories or op names; `args` the rest."""

    rule: str
    targets: tuple[Value | Memory | str, ...]
    args: dict[str, Expr | str | int | tuple[Expr, ...]] = field(default_factory=dict)

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(t for t in self.targets if isinstance(t, Value))


def walk(block: list[Op]) -> Iterator[Op]:
    """Every op of the block and of the blocks inside it, in program order."""
    for op in block:
        yield op
        for inner in op.blocks:
            yield from walk(inner)

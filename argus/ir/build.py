"""Making IR: numbers values and ops, keeps the insertion point, spans and unroll sites.

    b = IrBuilder()
    with b.at(span):
        x = b.load(Access(A, address, 8, coords))
        b.store(Access(lds, address, 8), x)
        with b.loop(var, lo, hi, inits=(acc,)) as loop:
            ...
            loop.yields(acc2)
        (total,) = loop.outs

The reader of the language and tests that write IR by hand use the same calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from argus.ir import ops
from argus.ir.maps import MAPS
from argus.ir.ops import Access, Op
from argus.ir.types import NOWHERE, DType, Span, Value, boolean, i32
from argus.layout.expr import Expr, const


class LoopHandle:
    """What `IrBuilder.loop` hands out: `args` inside the body, `outs` after it."""

    def __init__(self, args: tuple[Value, ...], outs: tuple[Value, ...]) -> None:
        self.args = args
        self.outs = outs
        self.yielded: tuple[Value, ...] | None = None

    def yields(self, *values: Value) -> None:
        self.yielded = values


class IrBuilder:
    """Appends ops to the innermost open block."""

    def __init__(self) -> None:
        self.body: list[Op] = []
        self._blocks: list[list[Op]] = [self.body]
        self._values = 0
        self._ops = 0
        self.span: Span = NOWHERE
        self.site: tuple[tuple[str, int], ...] = ()

    def value(self, dtype: DType, count: int, name: str = "") -> Value:
        self._values += 1
        return Value(self._values - 1, dtype, count, name)

    def append(self, op: Op) -> None:
        op.id, op.span, op.site = self._ops, self.span, self.site
        self._ops += 1
        self._blocks[-1].append(op)

    @contextmanager
    def at(self, span: Span) -> Iterator[None]:
        before, self.span = self.span, span
        try:
            yield
        finally:
            self.span = before

    @contextmanager
    def unrolled(self, name: str, index: int) -> Iterator[None]:
        before, self.site = self.site, (*self.site, (name, index))
        try:
            yield
        finally:
            self.site = before

    @contextmanager
    def into(self, block: list[Op]) -> Iterator[None]:
        self._blocks.append(block)
        try:
            yield
        finally:
            self._blocks.pop()

    def constant(self, value: float | int, dtype: DType, count: int = 1) -> Value:
        result = self.value(dtype, count)
        self.append(ops.Constant(value=value, result=result))
        return result

    def index(self, expr: Expr) -> Value:
        result = self.value(i32, 1)
        self.append(ops.Index(expr=expr, result=result))
        return result

    def symbol(self, value: Value, symbol: Expr, facts: tuple[Expr, ...] = ()) -> None:
        self.append(ops.Symbol(value=value, symbol=symbol, facts=facts))

    def load(self, access: Access) -> Value:
        result = self.value(access.memory.dtype, access.count)
        self.append(ops.Load(access=access, result=result))
        return result

    def store(self, access: Access, value: Value) -> None:
        self.append(ops.Store(access=access, value=value))

    def copy_to_lds(self, access: Access, into: ops.Shared, lds_base: Expr) -> None:
        self.append(ops.CopyToLds(access=access, into=into, lds_base=lds_base))

    def atomic(self, fn: str, access: Access, value: Value) -> None:
        self.append(ops.Atomic(fn=fn, access=access, value=value))

    def map(self, fn: str, *args: Value) -> Value:
        out = MAPS[fn].out
        dtype = boolean if out == "bool" else args[-1].dtype
        result = self.value(dtype, args[-1].count)
        self.append(ops.Map(fn=fn, args=args, result=result))
        return result

    def convert(
        self, value: Value, dtype: DType, rounding: str = "rne", saturate: bool = False, finite: bool = False
    ) -> Value:
        result = self.value(dtype, value.count)
        self.append(ops.Convert(value=value, result=result, rounding=rounding, saturate=saturate, finite=finite))
        return result

    def bitcast(self, value: Value, dtype: DType) -> Value:
        result = self.value(dtype, value.count * value.dtype.bits // dtype.bits)
        self.append(ops.Bitcast(value=value, result=result))
        return result

    def registers(self, args: tuple[Value, ...], pick: tuple[tuple[int, int], ...]) -> Value:
        result = self.value(args[0].dtype, len(pick))
        self.append(ops.Registers(args=args, pick=pick, result=result))
        return result

    def slice(self, value: Value, start: int, count: int) -> Value:
        return self.registers((value,), tuple((0, start + n) for n in range(count)))

    def lanes(self, value: Value, source: Expr) -> Value:
        result = self.value(value.dtype, value.count)
        self.append(ops.Lanes(value=value, source=source, result=result))
        return result

    def mfma(self, inst: str, a: Value, b: Value, c: Value) -> Value:
        result = self.value(c.dtype, c.count)
        self.append(ops.Mfma(inst=inst, a=a, b=b, c=c, result=result))
        return result

    def barrier(self, bare: bool = False) -> None:
        self.append(ops.Barrier(bare=bare))

    def wait(self, vm: int | None = None, lgkm: int | None = None) -> None:
        self.append(ops.Wait(vm=vm, lgkm=lgkm))

    def check(self, rule: str, *targets: Value | ops.Memory | str, **args: Expr | str | int | tuple[Expr, ...]) -> None:
        self.append(ops.Check(rule=rule, targets=targets, args=dict(args)))

    @contextmanager
    def loop(
        self, var: Expr, lo: Expr | int, hi: Expr | int, inits: tuple[Value, ...] = (), step: int = 1
    ) -> Iterator[LoopHandle]:
        args = tuple(self.value(v.dtype, v.count, v.name) for v in inits)
        outs = tuple(self.value(v.dtype, v.count, v.name) for v in inits)
        handle = LoopHandle(args, outs)
        body: list[Op] = []
        op = ops.For(
            var=var,
            lo=const(lo) if isinstance(lo, int) else lo,
            hi=const(hi) if isinstance(hi, int) else hi,
            step=step,
            inits=inits,
            args=args,
            body=body,
            yields=(),
            outs=outs,
        )
        self.append(op)
        with self.into(body):
            yield handle
        op.yields = handle.yielded if handle.yielded is not None else ()
        if len(op.yields) != len(inits):
            raise ValueError(f"loop over {var} carries {len(inits)} values but yields {len(op.yields)}")

    def branch(
        self,
        cond: Expr,
        uniform: bool,
        then: list[Op],
        orelse: list[Op],
        then_yields: tuple[Value, ...] = (),
        else_yields: tuple[Value, ...] = (),
    ) -> tuple[Value, ...]:
        outs = tuple(self.value(v.dtype, v.count, v.name) for v in then_yields)
        self.append(
            ops.If(
                cond=cond,
                uniform=uniform,
                then=then,
                orelse=orelse,
                then_yields=then_yields,
                else_yields=else_yields,
                outs=outs,
            )
        )
        return outs

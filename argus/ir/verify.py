"""Structural rules every kernel IR keeps, whatever made it: `verify(kernel)` raises `IrError` naming op and rule.

    values      defined once, before use, in the block or one around it; operands have the counts and types the op needs
    loops       as many values carried in, carried round and out, of equal types; branches likewise
    accesses    of the kernel's own memories, inside an LDS buffer where bounds are known, one coordinate per axis
    variables   one meaning per name: lane, wave, block, sizes, loop variables in their loop, symbols after their op;
                assertions may speak of every loop variable
    lanes       what takes values of other lanes stands where all lanes of a wave are active
    LDS         buffers do not overlap and fit
    ops         unique numbers

Later phases rely on these and do not check them again. What the data means is the checker's business, not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.gfx942.calls import accepts, bind
from argus.gfx942.mfma import ALIASES
from argus.ir import ops
from argus.ir.conversions import roundable
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, Kernel, wave_variable
from argus.ir.maps import MAPS
from argus.ir.ops import Access, Op, Shared
from argus.ir.types import DTYPES, Value, boolean
from argus.layout.expr import Expr


class IrError(ValueError):
    """The IR breaks a structural rule. `op` is the op at fault, if it is one."""

    def __init__(self, message: str, op: Op | None = None) -> None:
        where = f" (op {op.id} {type(op).__name__}, {op.span})" if op is not None else ""
        super().__init__(message + where)
        self.op = op


def verify(kernel: Kernel) -> None:
    """Raise `IrError` at the first rule that does not hold."""
    _Verifier(kernel).run()


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.memories = {id(m) for m in (*kernel.tensors, *kernel.shared)}
        self.numbers: set[int] = set()
        self.known_values: set[Value] = set()
        self.value_numbers: set[int] = set()
        self.masked = 0
        """Branches around the op in which some lanes of a wave may be masked."""
        self.bound = {variable for op in ops.walk(kernel.body) for variable in op.binds}

    def run(self) -> None:
        kernel = self.kernel
        base = {LANE, BLOCK_X, BLOCK_Y, BLOCK_Z, wave_variable(kernel.waves), *kernel.shapes}
        sizes = set(kernel.shapes)
        for e in (*kernel.requires, *kernel.grid, *(x for t in kernel.tensors for x in (*t.shape, *t.strides))):
            self._known(e, sizes, None, "may only use sizes")
        for t in kernel.tensors:
            if not len(t.axes) == len(t.shape) == len(t.strides):
                raise IrError(
                    f"tensor {t.name} has {len(t.axes)} axes, {len(t.shape)} extents, {len(t.strides)} strides"
                )
        names = [*(t.name for t in kernel.tensors), *(b.name for b in kernel.shared)]
        if len(set(names)) != len(names):
            raise IrError(f"two memories have one name: {', '.join(names)}")
        self._lds()
        for s in kernel.scalars:
            self._define((s.value,), None)
        self._block(kernel.body, base)

    def _lds(self) -> None:
        end = 0
        for b in sorted(self.kernel.shared, key=lambda b: b.base):
            if b.base < end:
                raise IrError(f"LDS buffer {b.name} at byte {b.base} overlaps the one before, which ends at {end}")
            end = b.base + b.bytes
        if end > self.kernel.target.lds_bytes:
            raise IrError(f"LDS buffers end at byte {end}; a workgroup has {self.kernel.target.lds_bytes}")

    def _block(self, block: list[Op], variables: set[Expr]) -> None:
        """Check a block; values it defines are forgotten afterwards, variables are its own copy."""
        outer = set(self.known_values)
        variables = set(variables)
        for op in block:
            self._op(op, variables)
        self.known_values = outer

    def _op(self, op: Op, variables: set[Expr]) -> None:
        if op.id in self.numbers:
            raise IrError(f"two ops have the number {op.id}", op)
        self.numbers.add(op.id)
        for v in op.operands:
            self._used(v, op)
        inner = variables
        match op:
            case ops.Symbol():
                variables.add(op.symbol)
            case ops.For():
                inner = {*variables, op.var}
            case ops.Tag():
                inner = {*variables, *op.params}
            case ops.Check():
                inner = {*variables, *self.bound}
            case (
                ops.Constant() | ops.Index() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Registers() |
                ops.Lanes() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.Store() | ops.CopyToLds() |
                ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.If() | ops.Schedule()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)
        for e in op.mentioned:
            self._known(e, inner, op, "is not known here")
        self._rules(op, variables)
        self._define(op.results, op)

    def _used(self, v: Value, op: Op) -> None:
        if v not in self.known_values:
            raise IrError(f"{v} is used before it is defined, or outside its block", op)

    def _define(self, values: Iterable[Value], op: Op | None) -> None:
        for v in values:
            if v.id in self.value_numbers:
                raise IrError(f"{v} is defined twice", op)
            if v.count < 1 or v.dtype.name not in DTYPES:
                raise IrError(f"{v} has no valid type: {v.type}", op)
            self.value_numbers.add(v.id)
            self.known_values.add(v)

    def _known(self, e: Expr, variables: set[Expr], op: Op | None, reason: str) -> None:
        for v in e.free():
            if v not in variables:
                low, high = v.bounds()
                raise IrError(f"`{e}`: the variable {v.name} ({low}..{high}) {reason}", op)

    def _rules(self, op: Op, variables: set[Expr]) -> None:
        match op:
            case ops.Load():
                self._access(op.access, op)
                self._same(op, op.result, op.access.count, op.access.memory.dtype.name)
            case ops.Store() | ops.Atomic():
                self._access(op.access, op)
                self._same(op, op.value, op.access.count, op.access.memory.dtype.name)
            case ops.CopyToLds():
                self._access(op.access, op)
                if id(op.into) not in self.memories or any(v.name == "lane" for v in op.lds_base.free()):
                    raise IrError("a direct copy goes to an LDS buffer of the kernel, at a base all lanes share", op)
            case ops.Index():
                self._same(op, op.result, 1, "i32")
            case ops.Symbol():
                if op.value.count != 1 or op.value.dtype.kind not in ("int", "uint") or op.symbol.op != "var":
                    raise IrError("a symbol names one integer", op)
            case ops.Map():
                self._map(op)
            case ops.Convert():
                self._count(op, op.result, op.value.count)
                if not roundable(op.value.dtype, op.result.dtype, op.rounding):
                    raise IrError(f"no conversion of {op.value.dtype} to {op.result.dtype} rounds {op.rounding}", op)
            case ops.Bitcast():
                if op.result.count * op.result.dtype.bits != op.value.count * op.value.dtype.bits:
                    raise IrError(f"a bitcast keeps the bits: {op.value.type} to {op.result.type}", op)
            case ops.Registers():
                self._registers(op)
            case ops.Lanes():
                self._all_lanes(op, "an exchange between lanes")
                self._same(op, op.result, op.value.count, op.value.dtype.name)
            case ops.Mfma():
                self._mfma(op)
            case ops.Instruction():
                self._instruction(op)
            case ops.For():
                self._loop(op, variables)
            case ops.If():
                self._branch(op, variables)
            case ops.Schedule():
                self._inline(op.body, variables)
            case ops.Wait():
                if op.vm is None and op.lgkm is None:
                    raise IrError("a wait waits for something", op)
                counters = self.kernel.target.counters
                if (op.vm or 0) > counters["vm"] or (op.lgkm or 0) > counters["lgkm"]:
                    raise IrError(f"{self.kernel.target.name} cannot count to vm={op.vm} lgkm={op.lgkm}", op)
            case ops.Constant() | ops.Barrier() | ops.SetPrio() | ops.Tag() | ops.Check():
                pass
            case _:
                assert_never(op)

    def _inline(self, block: list[Op], variables: set[Expr]) -> None:
        """A schedule's ops belong to the block around it."""
        for op in block:
            self._op(op, variables)

    def _access(self, a: Access, op: Op) -> None:
        if id(a.memory) not in self.memories:
            raise IrError(f"{a.memory.name} is not a memory of this kernel", op)
        if a.count < 1:
            raise IrError(f"an access of {a.count} elements", op)
        if a.guard is not None and not a.guard.boolean:
            raise IrError(f"the guard `{a.guard}` is not a condition", op)
        if a.coords and not -1 <= a.axis < len(a.coords):
            raise IrError(f"axis {a.axis} of {len(a.coords)} coordinates", op)
        if isinstance(a.memory, Shared):
            low, high = a.address.bounds()
            if (
                low is not None
                and high is not None
                and (high < 0 or low + a.count * a.memory.dtype.bytes > a.memory.bytes)
            ):
                raise IrError(f"`{a.address}` is never inside the {a.memory.bytes} bytes of {a.memory.name}", op)
        elif len(a.coords) != len(a.memory.axes):
            raise IrError(f"{len(a.coords)} coordinates for the {len(a.memory.axes)} axes of {a.memory.name}", op)

    def _map(self, op: ops.Map) -> None:
        spec = MAPS.get(op.fn)
        if spec is None or spec.arity != len(op.args):
            raise IrError(f"there is no elementwise function {op.fn} of {len(op.args)} operands", op)
        for v in op.args:
            self._count(op, v, op.result.count)
        data = op.args[1:] if op.fn == "select" else op.args
        if op.fn == "select" and op.args[0].dtype != boolean:
            raise IrError("the condition of a select is a mask", op)
        if any(v.dtype != data[0].dtype for v in data) or data[0].dtype.kind not in spec.kinds:
            raise IrError(f"{op.fn} on {', '.join(v.type for v in op.args)}", op)
        wanted = boolean if spec.out == "bool" else data[0].dtype
        if op.result.dtype != wanted:
            raise IrError(f"{op.fn} gives {wanted}, not {op.result.dtype}", op)

    def _registers(self, op: ops.Registers) -> None:
        self._count(op, op.result, len(op.pick))
        if any(v.dtype != op.result.dtype for v in op.args):
            raise IrError("registers of one element type are rearranged", op)
        for arg, element in op.pick:
            if not 0 <= arg < len(op.args) or not 0 <= element < op.args[arg].count:
                raise IrError(f"element {element} of operand {arg} does not exist", op)

    def _mfma(self, op: ops.Mfma) -> None:
        if op.inst not in ALIASES or self.kernel.target.matrix(op.inst) is None:
            raise IrError(f"{self.kernel.target.name} has no matrix instruction {op.inst}", op)
        self._all_lanes(op, op.inst)
        row = self.kernel.target.mfma(op.inst)
        for v, name, count in (
            (op.a, row.a, row.a_elements),
            (op.b, row.b, row.a_elements),
            (op.c, row.c, row.d_elements),
        ):
            self._same(op, v, count, "f32" if name == "xf32" else name)
        self._same(op, op.result, op.c.count, op.c.dtype.name)

    def _instruction(self, op: ops.Instruction) -> None:
        row = self.kernel.target.call(op.inst)
        if row is None:
            raise IrError(f"there is no instruction {op.inst} to be named", op)
        if row.crosses_lanes:
            self._all_lanes(op, op.inst)
        if len(op.args) != len(row.operands) or len(op.outs) != len(row.results):
            raise IrError(f"{op.inst} is {row.signature}", op)
        try:
            bind(row, {k: int(v) for k, v in op.attrs.items()})
        except ValueError as error:
            raise IrError(f"{op.inst}: {error}", op) from None
        for v, word in (*zip(op.args, row.operands, strict=True), *zip(op.outs, row.results, strict=True)):
            self._count(op, v, op.outs[0].count)
            if not accepts(word, v.dtype.name) or (row.packed and v.count % 2):
                raise IrError(f"{op.inst} is {row.signature}; {v} is {v.type}", op)

    def _loop(self, op: ops.For, variables: set[Expr]) -> None:
        if op.var.op != "var" or op.step < 1 or op.var in variables:
            raise IrError("a loop has a variable of its own and a positive step", op)
        for value in (*op.lo.free(), *op.hi.free()):
            if value.name in ("lane", "wave"):
                raise IrError(f"the loop bounds {op.lo} .. {op.hi} differ between threads", op)
        lists = (op.inits, op.args, op.yields, op.outs)
        if len({len(values) for values in lists}) != 1:
            raise IrError(
                f"the loop takes {len(op.inits)} values, carries {len(op.args)}, yields {len(op.yields)}, "
                f"gives {len(op.outs)}",
                op,
            )
        for group in zip(*lists, strict=True):
            if len({v.type for v in group}) != 1:
                raise IrError(f"a carried value changes its type: {', '.join(v.type for v in group)}", op)
        outer = set(self.known_values)
        self._define(op.args, op)
        inner = {*variables, op.var}
        for part in op.body:
            self._op(part, inner)
        for v in op.yields:
            self._used(v, op)
        self.known_values = outer

    def _branch(self, op: ops.If, variables: set[Expr]) -> None:
        if not op.cond.boolean:
            raise IrError(f"`{op.cond}` is not a condition", op)
        if op.uniform and any(v.name == "lane" for v in op.cond.free()):
            raise IrError(f"`{op.cond}` differs between lanes, but the branch is called uniform", op)
        if not len(op.outs) == len(op.then_yields) == len(op.else_yields):
            raise IrError("both ways of a branch give as many values", op)
        for group in zip(op.outs, op.then_yields, op.else_yields, strict=True):
            if len({v.type for v in group}) != 1:
                raise IrError(f"the ways of a branch give {', '.join(v.type for v in group)}", op)
        self.masked += not op.uniform
        for block, yields in ((op.then, op.then_yields), (op.orelse, op.else_yields)):
            outer, inner = set(self.known_values), set(variables)
            for part in block:
                self._op(part, inner)
            for v in yields:
                self._used(v, op)
            self.known_values = outer
        self.masked -= not op.uniform

    def _all_lanes(self, op: Op, what: str) -> None:
        if self.masked:
            raise IrError(f"{what} inside a branch that some lanes do not take", op)

    def _count(self, op: Op, v: Value, count: int) -> None:
        if v.count != count:
            raise IrError(f"{v} has {v.count} elements where {count} are needed", op)

    def _same(self, op: Op, v: Value, count: int, dtype: str) -> None:
        if v.count != count or v.dtype.name != dtype:
            raise IrError(f"{v} is {v.type} where {dtype}x{count} is needed", op)

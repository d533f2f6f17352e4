"""What a register element was computed from: one execution (`recorded_run`) read backwards, number by number.

    origins.operand(stored value, lane 9, element 3)     X[0, 5] * 2 + 1, each number with the op that made it

What only moves numbers is passed: registers, lanes, conversions, LDS, what loops and branches hand on, the arm that a
selection took. `OriginOperand.path` are the moves that decide *which* number is taken; a wrong one is a fault as
much as wrong arithmetic. A matrix instruction is the sum of its accumulator and its products.

Numbers are those of the execution. Bit patterns are not followed: a piece of an element has no origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.check.explain.recorded_run import LANES, Recording, RegisterPlace, SharedWrite, Untraceable
from argus.check.explain.writers import coordinates_of
from argus.check.transfer.matrix import lane_maps
from argus.gfx942.calling import entry
from argus.ir import interp, ops
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.ir.types import Value
from argus.layout import expr as E

STEPS = 60_000
"""Moves that are followed before an execution counts as too long."""
Sort = Literal["computed", "element", "padding", "constant", "unwritten", "opaque"]


@dataclass(frozen=True, slots=True, eq=False)
class ComputedNumber:
    """A number of the execution: `fn` of operands, an element of a tensor, the zero outside of one, or a constant.

    `uses` are the register elements it was computed from, `parts` the numbers, where they are no register elements.
    """

    op: Op | None
    sort: Sort
    fn: str
    value: float
    uses: tuple[tuple[Value, RegisterPlace], ...] = ()
    parts: tuple[OriginOperand, ...] = ()
    tensor: str = ""
    coords: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OriginOperand:
    """A number, and the moves on its way that decided that it is this one."""

    number: ComputedNumber
    path: tuple[Op, ...] = ()


class ValueOrigins:
    """The numbers of one recorded execution."""

    def __init__(self, run: Recording) -> None:
        self.run = run
        self._made: dict[Value, Op] = {}
        self._carried: dict[Value, tuple[ops.For, int, bool]] = {}
        self._merged: dict[Value, tuple[ops.If, int]] = {}
        self._scalars = {s.value: float(run.scalars[s.name]) for s in run.kernel.scalars}
        self._known: dict[tuple[Value, RegisterPlace], ComputedNumber] = {}
        self._steps = 0
        for op in ops.walk(run.kernel.body):
            self._define(op)

    def _define(self, op: Op) -> None:
        match op:
            case ops.For():
                self._carried |= {arg: (op, n, True) for n, arg in enumerate(op.args)}
                self._carried |= {out: (op, n, False) for n, out in enumerate(op.outs)}
            case ops.If():
                self._merged |= {out: (op, n) for n, out in enumerate(op.outs)}
            case (
                ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast()
                | ops.Registers() | ops.Lanes() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.Store()
                | ops.CopyToLds() | ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag()
                | ops.Check() | ops.Schedule()
            ):  # fmt: skip
                self._made |= dict.fromkeys(op.results, op)
            case _:
                assert_never(op)

    def operands(self, number: ComputedNumber) -> tuple[OriginOperand, ...]:
        """The numbers that a computed one was made from."""
        return number.parts or tuple(self.operand(value, at) for value, at in number.uses)

    def operand(self, value: Value, at: RegisterPlace) -> OriginOperand:
        """The number that a register element held, followed back through all that only moved it."""
        path: list[Op] = []
        while True:
            self._steps += 1
            if self._steps > STEPS:
                raise Untraceable("it was computed in too many steps")
            if value in self._carried:
                value, at = self._handed_on(value, at, path)
                continue
            if value in self._merged:
                branch, n = self._merged[value]
                at = self.run.at_op(branch, at)
                path.append(branch)
                value = (branch.then_yields if self.run.number(branch.cond, at) else branch.else_yields)[n]
                continue
            if value in self._scalars:
                return OriginOperand(ComputedNumber(None, "opaque", "scalar", self._scalars[value]), tuple(path))
            if value not in self._made:
                raise Untraceable("nobody made it")
            op = self._made[value]
            at = self.run.at_op(op, at)
            moved = self._moved(op, value, at, path)
            if moved is None:
                return OriginOperand(self._number(op, value, at), tuple(path))
            if isinstance(moved, ComputedNumber):
                return OriginOperand(moved, tuple(path))
            value, at = moved

    def _handed_on(self, value: Value, at: RegisterPlace, path: list[Op]) -> tuple[Value, RegisterPlace]:
        """What a loop carries: the value before it, or of the iteration before. It decides by not running at all."""
        loop, n, enters = self._carried[value]
        name, depth = loop.var.name, len(self.run.loops_of[loop.id])
        outside = at._replace(loops=at.loops[:depth])
        low, high = self.run.number(loop.lo, outside), self.run.number(loop.hi, outside)
        turn = dict(at.loops).get(name, low) - loop.step if enters else low + (high - low - 1) // loop.step * loop.step
        if high <= low:
            path.append(loop)
        if turn < low or high <= low:
            return loop.inits[n], outside
        return loop.yields[n], at._replace(loops=(*outside.loops, (name, turn)))

    def _moved(
        self, op: Op, value: Value, at: RegisterPlace, path: list[Op]
    ) -> tuple[Value, RegisterPlace] | ComputedNumber | None:
        """Where a number that the op only moves was before; the number, where it enters; None: the op makes it."""
        match op:
            case ops.Registers():
                source, element = op.pick[at.element]
                return op.args[source], at._replace(element=element)
            case ops.Lanes():
                return op.value, at._replace(lane=self.run.number(op.source, at) % LANES)
            case ops.Convert():
                return op.value, at
            case ops.Bitcast():
                return (op.value, at) if op.value.dtype.bits == op.result.dtype.bits else None
            case ops.Map(fn="select", args=(condition, yes, no)):
                path.append(op)
                return (yes if self.operand(condition, at).number.value else no), at
            case ops.Load():
                return self._loaded(op, at, path) if isinstance(op.access.memory, Shared) else None
            case ops.Instruction():
                row = entry(op.inst)
                sources = None if row is None or row.sources is None else row.sources(**_numbers(op))
                lane = -1 if sources is None else int(sources[at.lane])
                return (op.args[0], at._replace(lane=lane)) if lane >= 0 else None
            case ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Mfma():
                return None
            case (
                ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag()
                | ops.Check() | ops.Schedule() | ops.For() | ops.If()
            ):  # fmt: skip
                raise Untraceable("it has no result")
            case _:
                assert_never(op)

    def _loaded(self, op: ops.Load, at: RegisterPlace, path: list[Op]) -> tuple[Value, RegisterPlace] | ComputedNumber:
        """What a load from LDS read: the register element that was stored there, or a tensor's element."""
        found = self.run.written(op, op.access, at)
        if found is None:
            return ComputedNumber(op, "unwritten", "LDS", self.run.held(op, at))
        write, place = found
        path += [op, write.op]
        return self._stored(write, place)

    def _stored(self, write: SharedWrite, place: RegisterPlace) -> tuple[Value, RegisterPlace] | ComputedNumber:
        match write.op:
            case ops.Store():
                return write.op.value, place
            case ops.CopyToLds():
                return self._element(write.op, write.op.access, place)
            case ops.Atomic():
                return ComputedNumber(write.op, "opaque", write.op.fn, float("nan"))
            case (
                ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast()
                | ops.Registers() | ops.Lanes() | ops.Mfma() | ops.Instruction() | ops.Load() | ops.Barrier()
                | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check() | ops.Schedule() | ops.For() | ops.If()
            ):  # fmt: skip
                raise Untraceable("it writes nothing")
            case _:
                assert_never(write.op)

    def _element(self, op: Op, access: Access, at: RegisterPlace) -> ComputedNumber:
        """The element of a tensor that an access read, by its address; a zero where it read none."""
        tensor = access.memory
        assert isinstance(tensor, Tensor)
        place, rest = divmod(self.run.number(access.address, at), tensor.dtype.bytes)
        place += at.element
        shape = interp.extents(tensor, self.run.sizes)
        strides = [int(E.evaluate(s, self.run.sizes)) for s in tensor.strides]
        last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        guarded = access.guard is not None and not self.run.number(access.guard, at)
        if rest or guarded or not 0 <= place <= last:
            return ComputedNumber(op, "padding", "load", 0.0, tensor=tensor.name)
        coords = coordinates_of(tensor, self.run.sizes, place)
        value = float(self.run.arrays[tensor.name][coords])
        return ComputedNumber(op, "element", "load", value, tensor=tensor.name, coords=coords)

    def _number(self, op: Op, value: Value, at: RegisterPlace) -> ComputedNumber:
        key = (value, at)
        if key not in self._known:
            self._known[key] = self._computed(op, at)
        return self._known[key]

    def _computed(self, op: Op, at: RegisterPlace) -> ComputedNumber:
        held = self.run.held(op, at)
        match op:
            case ops.Load():
                return self._element(op, op.access, at)
            case ops.Constant():
                return ComputedNumber(op, "constant", "constant", held)
            case ops.Map(fn="fma", args=(x, y, z)):
                product = self._product(op, (x, at), (y, at))
                return ComputedNumber(op, "computed", "add", held, parts=(product, self.operand(z, at)))
            case ops.Map(fn=fn, args=args):
                return ComputedNumber(op, "computed", fn, held, tuple((arg, at) for arg in args))
            case ops.Mfma():
                return ComputedNumber(op, "computed", "add", held, parts=self._multiplied(op, at))
            case ops.Instruction():
                alike = [arg for arg in op.args if arg.count == op.outs[0].count]
                return ComputedNumber(op, "computed", op.inst, held, tuple((arg, at) for arg in alike))
            case (
                ops.Index() | ops.Symbol() | ops.Convert() | ops.Bitcast() | ops.Registers() | ops.Lanes()
                | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio()
                | ops.Tag() | ops.Check() | ops.Schedule() | ops.For() | ops.If()
            ):  # fmt: skip
                return ComputedNumber(op, "opaque", op.declared.word, held)
            case _:
                assert_never(op)

    def _multiplied(self, op: ops.Mfma, at: RegisterPlace) -> tuple[OriginOperand, ...]:
        """The accumulator, and the products of one row and column."""
        maps = lane_maps(op.inst)
        block, i, j = (int(m[at.lane, at.element]) for m in (maps.d_block, maps.d_i, maps.d_j))
        products = []
        for k in range(maps.a_lane.shape[2]):
            a = at._replace(lane=_at(maps.a_lane, block, i, k), element=_at(maps.a_element, block, i, k))
            b = at._replace(lane=_at(maps.b_lane, block, j, k), element=_at(maps.b_element, block, j, k))
            products.append(self._product(op, (op.a, a), (op.b, b)))
        return (self.operand(op.c, at), *products)

    def _product(self, op: Op, x: tuple[Value, RegisterPlace], y: tuple[Value, RegisterPlace]) -> OriginOperand:
        """A product that has no register of its own."""
        parts = (self.operand(*x), self.operand(*y))
        value = parts[0].number.value * parts[1].number.value
        return OriginOperand(ComputedNumber(op, "computed", "mul", value, parts=parts))


def _at(table: NDArray[np.int64], block: int, row: int, k: int) -> int:
    return int(table[block, row, k])


def _numbers(op: ops.Instruction) -> dict[str, int]:
    return {name: int(v) for name, v in op.attrs.items()}

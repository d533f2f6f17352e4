"""One wave executing kernel IR on concrete data, 64 lanes at a time.

A wave is a generator: it yields after every memory access and at every barrier, so that the workgroup decides who goes
next. Registers are arrays `[64, count]`; the result of a load is garbage until the load retires, unless the program's
waits are implied, in which case the first use waits for it (and for everything issued before it on the same counter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.calling import entry
from argus.ir import ops
from argus.ir.interp import instructions
from argus.ir.interp.access import Accesses
from argus.ir.interp.memory import COMPUTED, ZERO, Hazard, Token, WaitCounters
from argus.ir.interp.numbers import convert, elementwise, matrix_multiply, numpy_dtype
from argus.ir.kernel import LANE
from argus.ir.ops import Counter, Op, Tensor
from argus.ir.types import Value
from argus.layout.evaluate import Environment
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.ir.interp.workgroup import InterpWorkgroup

LANES = 64
Pause = Literal["step", "barrier"]
Mask = NDArray[np.bool_]


class InterpError(Exception):
    """The program or its arguments cannot be executed; the message says what is missing."""


@dataclass(slots=True, eq=False)
class Register:
    """What one value holds: data and provenance `[64, count]`, and the load that still has to fill it.

    A mere renaming of registers needs no data yet: `sources` are what it renames, `rename` makes it when it is read.
    """

    data: NDArray[Any]
    code: NDArray[np.int64]
    token: Token | None = None
    sources: tuple[Register, ...] = ()
    rename: Callable[[], tuple[NDArray[Any], NDArray[np.int64]]] | None = None


@dataclass(frozen=True, slots=True)
class OpEvent:
    """What a watcher sees: an op's operands before it takes effect, or the result of a load when it arrives."""

    op: Op
    block: tuple[int, int, int]
    wave: int
    loops: dict[str, int]
    operands: tuple[Register, ...]
    active: Mask


@dataclass(frozen=True, slots=True)
class StoreEvent:
    """A store to a tensor: the byte each register element `[64, count]` goes to, which are done, and the values."""

    op: Op
    tensor: Tensor
    block: tuple[int, int, int]
    wave: int
    loops: dict[str, int]
    start: NDArray[np.int64]
    done: NDArray[np.bool_]
    data: NDArray[Any]


class InterpWave:
    """State and program of one wave; `execute` runs a block."""

    def __init__(self, group: InterpWorkgroup, number: int) -> None:
        self.group = group
        self.number = number
        self.barriers = 0
        self.arms: tuple[tuple[int, bool], ...] = ()
        self.queues = WaitCounters()
        self.file: dict[Value, Register] = {}
        self.loops: dict[str, int] = {}
        self.env = Environment({**group.env, "wave": number, LANE.name: np.arange(LANES, dtype=np.int64)})
        self.accesses = Accesses(self)
        for scalar in group.kernel.scalars:
            given = np.full((LANES, scalar.value.count), group.scalars[scalar.name], dtype=numpy_dtype(scalar.dtype))
            self.file[scalar.value] = self.computed(given)

    def computed(self, data: NDArray[Any], code: int = COMPUTED) -> Register:
        return Register(data, np.full(data.shape, code, dtype=np.int64))

    def lanes(self, e: Expr) -> NDArray[np.int64]:
        try:
            return np.broadcast_to(np.asarray(self.env.evaluate(e), dtype=np.int64), (LANES,))
        except OverflowError:
            raise InterpError(f"`{e}` is a number of more than 64 bits") from None

    def uniform(self, e: Expr) -> int:
        values = self.lanes(e)
        if (values != values[0]).any():
            raise InterpError(f"`{e}` must be the same in all lanes of a wave")
        return int(values[0])

    def read(self, value: Value, op: Op) -> Register:
        return self.settle(self.file[value], op)

    def settle(self, register: Register, op: Op) -> Register:
        for source in register.sources:
            self.settle(source, op)
        self.refresh(register)
        token = register.token
        if token is not None and not token.arrived and token in self.queues.of(token.counter):
            if self.group.implied_waits or op.id not in self.group.emitted:  # what is not in the code waits for nothing
                self.queues.arrive_through(token)
            else:
                note = f"{token.counter} wait is missing between op {token.op.id} and op {op.id}"
                who = (token.op.id, self.number), (op.id, self.number)
                self.group.hazards.append(Hazard("unwaited", "registers", 0, *who, note))
        return register

    def refresh(self, register: Register) -> None:
        """Make a renaming again from what its sources, themselves possibly renamings, hold by now."""
        if register.rename is None:
            return
        for source in register.sources:
            self.refresh(source)
        register.data, register.code = register.rename()
        if not any(self.outstanding(source) for source in register.sources):
            register.sources, register.rename = (), None

    def outstanding(self, register: Register) -> bool:
        token = register.token
        waiting = token is not None and not token.arrived and token in self.queues.of(token.counter)
        return waiting or any(self.outstanding(source) for source in register.sources)

    def renaming(self, sources: tuple[Register, ...], rename: Callable[[], tuple[Any, Any]]) -> Register:
        for source in sources:
            self.refresh(source)
        data, code = rename()
        if any(self.outstanding(source) for source in sources):
            return Register(data, code, sources=sources, rename=rename)
        return Register(data, code)

    def event(self, op: Op, operands: tuple[Register, ...], active: Mask) -> OpEvent:
        return OpEvent(op, self.group.block, self.number, dict(self.loops), operands, active)

    def execute(self, block: list[Op], active: Mask) -> Iterator[Pause]:
        for op in block:
            self.group.count_step(op)
            self.fits(op, active)
            watcher = self.group.watch.get(op.id)
            if watcher is not None:
                operands = tuple(self.read(v, op) for v in op.operands)
                watcher(self.event(op, operands, active))
            match op:
                case ops.For():
                    yield from self.loop(op, active)
                case ops.If():
                    yield from self.branch(op, active)
                case ops.Schedule():
                    yield from self.execute(op.body, active)
                case ops.Barrier():
                    if not active.all():
                        who = (op.id, self.number)
                        self.group.hazards.append(Hazard("barrier", "", 0, who, who, "barrier under a lane mask"))
                    if not op.bare:
                        self.queues.retire("lgkm", 0, self.barriers)
                    yield "barrier"
                    self.barriers += 1
                case ops.Wait():
                    counts: tuple[tuple[Counter, int | None], ...] = (("vm", op.vm), ("lgkm", op.lgkm))
                    for counter, leave in counts:
                        if leave is not None and op.registers:
                            self.queues.arrive(counter, leave)
                        elif leave is not None:
                            self.queues.retire(counter, leave, self.barriers)
                case ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic():
                    self.accesses.perform(op, active)
                    yield "step"
                case ops.Symbol():
                    self.compute(op)
                    self.stated(op, active)
                case _:
                    self.compute(op)
                    observer = self.group.results.get(op.id)
                    if observer is not None:
                        observer(self.event(op, tuple(self.file[v] for v in op.results), active))

    def stated(self, op: ops.Symbol, active: Mask) -> None:
        """Note loaded numbers that are not what the kernel states of them: then nothing is promised."""
        low, high = op.symbol.bounds()
        held, whole = self.env[op.symbol.name], self.file[op.value].data[:, 0].astype(np.int64)
        broken = [(held != whole, f"{op.symbol} fits 32 bits")]
        broken += [(held < low, f"{op.symbol} >= {low}")] if low is not None else []
        broken += [(held > high, f"{op.symbol} <= {high}")] if high is not None else []
        broken += [(self.lanes(fact) == 0, str(fact)) for fact in op.facts]
        for wrong, fact in broken:
            if (active & wrong).any():
                who = (op.id, self.number)
                self.group.hazards.append(Hazard("stated", "", 0, who, who, f"`{fact}` is stated and does not hold"))
                return

    def fits(self, op: Op, active: Mask) -> None:
        """Note a number of the op that the machine's 32 bits do not hold."""
        for need, guard in self.group.numbers.get(op.id, ()):
            concerned = active if guard is None else active & (self.lanes(guard) != 0)
            values = self.lanes(need.number)
            wrong = concerned & ((values < need.low) | (values > need.high))
            if wrong.any():
                who = (op.id, self.number)
                text = f"`{need.number}` is {int(values[wrong][0])}, which 32 bits do not hold"
                self.group.hazards.append(Hazard("wraps", "", 0, who, who, text))

    def finish(self) -> None:
        self.queues.retire("vm", 0, self.barriers)
        self.queues.retire("lgkm", 0, self.barriers)

    def loop(self, op: ops.For, active: Mask) -> Iterator[Pause]:
        carried = [self.file[v] for v in op.inits]
        lo, hi = self.uniform(op.lo), self.uniform(op.hi)
        for i in range(lo, hi, op.step):
            self.env[op.var.name] = self.loops[op.var.name] = i
            self.file.update(zip(op.args, carried, strict=True))
            yield from self.execute(op.body, active)
            carried = [self.file[v] for v in op.yields]
        self.loops.pop(op.var.name, None)
        self.env.remove(op.var.name)
        self.file.update(zip(op.outs, carried, strict=True))

    def branch(self, op: ops.If, active: Mask) -> Iterator[Pause]:
        taken = self.lanes(op.cond) != 0
        here, there = active & taken, active & ~taken
        if op.uniform and here.any() and there.any():
            who = (op.id, self.number)
            self.group.hazards.append(Hazard("barrier", "", 0, who, who, "a branch stated uniform splits the wave"))
        results: dict[bool, list[Register]] = {}
        arms = [(True, here, op.then, op.then_yields), (False, there, op.orelse, op.else_yields)]
        both = bool(here.any() and there.any())
        outer, branch = self.arms, self.group.next_branch()
        for arm, mask, block, yields in arms if self.group.schedule.arms == "then" else arms[::-1]:
            if mask.any():
                self.arms = (*outer, (branch, arm)) if both else outer
                yield from self.execute(block, mask)
                results[arm] = [self.file[v] for v in yields] if yields else []
        self.arms = outer
        for n, out in enumerate(op.outs):
            if not both:
                self.file[out] = results[bool(here.any())][n]
                continue
            yes, no = results[True][n], results[False][n]
            self.file[out] = self.renaming((yes, no), _merged(here[:, None], yes, no))

    def compute(self, op: ops.Computing | ops.SetPrio | ops.Annotation) -> None:
        match op:
            case ops.Constant():
                data = np.full((LANES, op.result.count), op.value).astype(numpy_dtype(op.result.dtype))
                self.file[op.result] = self.computed(data, ZERO if op.value == 0 else COMPUTED)
            case ops.Index():
                self.file[op.result] = self.computed(self.lanes(op.expr).astype(np.int32)[:, None])
            case ops.Symbol():
                number = self.read(op.value, op).data[:, 0].astype(np.int64)
                wide = op.value.dtype.bits > 32  # of a wider number the index is the low 32 bits
                self.env[op.symbol.name] = number.astype(np.int32).astype(np.int64) if wide else number
            case ops.Map():
                self.file[op.result] = self.map(op)
            case ops.Convert():
                source = self.read(op.value, op)
                data = convert(source.data, op.value.dtype, op.result.dtype, op.rounding, op.saturate)
                self.file[op.result] = Register(data, source.code)
            case ops.Bitcast():
                source = self.file[op.value]
                self.file[op.result] = self.renaming((source,), lambda: self.bitcast(op, source))
            case ops.Registers():
                args = tuple(self.file[v] for v in op.args)
                self.file[op.result] = self.renaming(args, lambda: _picked(args, op.pick))
            case ops.Lanes():
                source, where = self.read(op.value, op), self.lanes(op.source) % LANES
                self.file[op.result] = Register(source.data[where], source.code[where])
            case ops.Mfma():
                a, b, c = (self.read(v, op).data for v in (op.a, op.b, op.c))
                self.file[op.result] = self.computed(matrix_multiply(op.inst, a, b, c))
            case ops.Instruction():
                self.instruction(op)
            case ops.SetPrio() | ops.Tag() | ops.Check():
                pass
            case _:
                assert_never(op)

    def map(self, op: ops.Map) -> Register:
        args = [self.read(v, op) for v in op.args]
        data = elementwise(op.fn, tuple(a.data for a in args), op.result.dtype)
        if op.fn == "select":
            picked = np.where(args[0].data, args[1].code, args[2].code)
            return Register(data, picked)
        if len(args) == 1:
            return Register(data, args[0].code)
        return self.computed(data)

    def instruction(self, op: ops.Instruction) -> None:
        row = entry(op.inst)
        if row is None:
            raise InterpError(f"{op.span}: `{op.inst}` is not an instruction that can be named")
        args = [self.read(v, op) for v in op.args]
        codes = instructions.moved(row, op, [a.code for a in args], ZERO)
        for out, data in zip(op.outs, instructions.compute(op, [a.data for a in args]), strict=True):
            self.file[out] = self.computed(data) if codes is None else Register(data, codes)

    def bitcast(self, op: ops.Bitcast, source: Register) -> tuple[NDArray[Any], NDArray[np.int64]]:
        data = np.ascontiguousarray(source.data).view(numpy_dtype(op.result.dtype)).reshape(LANES, op.result.count)
        if op.value.dtype.bits == op.result.dtype.bits:
            return data, source.code
        return data, np.full(data.shape, COMPUTED, dtype=np.int64)


def _merged(pick: Mask, yes: Register, no: Register) -> Callable[[], tuple[Any, Any]]:
    """What the lanes of two arms hand on; nothing reads it yet, so no load has to have arrived."""
    return lambda: (np.where(pick, yes.data, no.data), np.where(pick, yes.code, no.code))


def _picked(args: tuple[Register, ...], pick: tuple[tuple[int, int], ...]) -> tuple[Any, Any]:
    data = np.stack([args[i].data[:, j] for i, j in pick], axis=1)
    return data, np.stack([args[i].code[:, j] for i, j in pick], axis=1)

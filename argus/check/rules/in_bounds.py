"""Rule `in_bounds`: an access touches the element its coordinates name, or nothing.

Proved, for every access to a tensor, all threads, elements, paths and sizes: its byte address is the one its
coordinates and the tensor's strides give; and where its guard lets it through, either every coordinate is inside the
tensor, or the byte offset is outside the buffer, where the hardware reads zero and writes nothing. A coordinate that
leaves an inner axis does not leave the buffer: it reaches the next row, which is what this rule refutes. For LDS:
every byte address is inside the access's own buffer.

Only in a contiguous row-major tensor may the outermost coordinate run past the end. Assumes byte offsets below 2**32.
Method: the thread part is enumerated and only its extremes are put to the prover; guarded accesses keep lane and wave
as variables. A refutation is a concrete thread whose address, evaluated, lies in the buffer but not at its
coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

import numpy as np

from argus.check.domain.tags import Tags
from argus.check.domain.threads import Spread
from argus.check.explain.small_executions import executions, interference
from argus.check.explain.witness import Execution, replay, smallest_execution
from argus.check.report import Counterexample, Party, Verdict
from argus.check.rules.rule import Rule, RuleFindings
from argus.check.walk import KernelWalk, ProgramPoint, bounds_of
from argus.ir import interp, ops
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.ir.types import Span
from argus.layout import expr as E
from argus.layout.expr import Expr

Values = Callable[[Expr], np.ndarray]


@dataclass(frozen=True, slots=True)
class Doubt:
    """An access that was not proved: `condition` describes the bad executions."""

    op: Op
    place: ProgramPoint
    access: Access
    condition: Expr
    what: str
    stray: bool = False


class InBounds(Rule):
    """Listens to all memory accesses."""

    name = "in_bounds"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: RuleFindings[Doubt] = RuleFindings()
        self.steps: dict[tuple[tuple[Expr, ...], Expr, Expr, int], bool] = {}

    def global_load(self, op: ops.Load | ops.CopyToLds, place: ProgramPoint, access: Access) -> None:
        self._tensor(op, place, access)

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        self._tensor(op, place, access)

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        buffer = access.memory
        assert isinstance(buffer, Shared)
        size = access.count * buffer.dtype.bytes
        inside = place.active
        doubts: list[Doubt] = []
        if start.rest is None:
            condition = E.TRUE
            doubts.append(Doubt(op, place, access, condition, f"the address in {buffer.name} is not known"))
        elif inside.any():
            low, high = int(start.offsets[inside].min()), int(start.offsets[inside].max())
            bad = E.lor((start.rest + low).lt(0), (start.rest + (high + size)).gt(buffer.bytes))
            if self.flow.prover.holds(self._facts(place, access), E.lnot(bad)) is not True:
                doubts.append(Doubt(op, place, access, bad, f"leaves {buffer.name} ({buffer.bytes} bytes)"))
        self.settle(op, "inside", self.flow.prover.reason(), [d.what for d in doubts])
        self.found.add(op, place.facts, doubts)

    def _facts(self, place: ProgramPoint, access: Access) -> tuple[Expr, ...]:
        return place.facts if access.guard is None else (*place.facts, self.flow.here(access.guard))

    def _tensor(self, op: Op, place: ProgramPoint, access: Access) -> None:
        doubts = [d for d in (self._address(op, place, access), self._coordinates(op, place, access)) if d is not None]
        self.settle(op, "place", self.flow.prover.reason(), [d.what for d in doubts])
        self.found.add(op, place.facts, doubts)

    def _address(self, op: Op, place: ProgramPoint, access: Access) -> Doubt | None:
        tensor, flow = access.memory, self.flow
        assert isinstance(tensor, Tensor)
        if len(access.coords) != len(tensor.axes):
            return Doubt(op, place, access, E.TRUE, "names no coordinates")
        flat: Expr = E.const(0)
        for coordinate, stride in zip(access.coords, tensor.strides, strict=True):
            flat = flat + coordinate * stride
        expected, given = flow.here(flat * tensor.dtype.bytes), flow.here(access.address)
        if expected is given or flow.prover.holds(self._facts(place, access), expected.eq(given)) is True:
            return None
        return Doubt(
            op, place, access, expected.ne(given), f"does not address the coordinates of {tensor.name} it names"
        )

    def _coordinates(self, op: Op, place: ProgramPoint, access: Access) -> Doubt | None:
        """Inner axes must stay inside; the outermost one may leave upwards, which leaves the buffer too."""
        tensor, flow = access.memory, self.flow
        assert isinstance(tensor, Tensor)
        if len(access.coords) != len(tensor.axes):
            return None
        outer = 0 if _contiguous(tensor) else -1
        for axis, (coordinate, extent) in enumerate(zip(access.coords, tensor.shape, strict=True)):
            last = access.count - 1 if axis == (access.axis % len(tensor.axes)) else 0
            limits = self._limits(place, access, flow.here(coordinate), last, extent, upper=axis != outer)
            for limit in limits:
                if flow.prover.holds(self._facts(place, access), limit) is not True:
                    name = tensor.axes[axis]
                    what = f"leaves axis {name} of {tensor.name} without leaving the buffer"
                    return Doubt(op, place, access, E.lnot(limit), what, stray=True)
        return None

    def _limits(self, place: ProgramPoint, access: Access, c: Expr, last: int, extent: Expr, upper: bool) -> list[Expr]:
        """Conditions that together keep the coordinate inside, in the cheapest form that is exact."""
        flow = self.flow
        spread = flow.threads.spread(c)
        if access.guard is None and spread.rest is not None and place.active.any():
            low, high = int(spread.offsets[place.active].min()), int(spread.offsets[place.active].max())
            limits = [] if self._above(place.facts, spread.rest, low) else [(spread.rest + low).ge(0)]
            if upper and not self._below(place.facts, spread.rest, high + last, extent):
                limits.append((spread.rest + (high + last)).lt(extent))
            return limits
        limits = [c.ge(0)]
        return [*limits, (c + last).lt(extent)] if upper else limits

    def _above(self, facts: tuple[Expr, ...], rest: Expr, offset: int) -> bool:
        """rest + offset >= 0, from the lower end of the step it lies in."""
        parts, constant = E.linear(rest)
        step = gcd(*parts.values()) if parts else 1
        least = (offset + constant) // step * step - constant
        key = (facts, rest, E.const(0), least)
        if key not in self.steps:
            self.steps[key] = self.flow.prover.holds(facts, (rest + least).ge(0)) is True
        return self.steps[key]

    def _below(self, facts: tuple[Expr, ...], rest: Expr, offset: int, extent: Expr) -> bool:
        """rest + offset < extent, proved for the whole step of `rest` at once, so that its other offsets follow."""
        parts, constant = E.linear(rest)
        step = gcd(*parts.values()) if parts else 1
        most = (offset + constant) // step * step + step - 1 - constant
        key = (facts, rest, extent, most)
        if key not in self.steps:
            self.steps[key] = self.flow.prover.holds(facts, (rest + most).lt(extent)) is True
        return self.steps[key]

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        return [self._verdict(flow, span) for span in self.found.spans()]

    def _verdict(self, flow: KernelWalk, span: Span) -> Verdict:
        entries = self.found.at(span)
        doubts = [d for entry in entries for d in entry.failures]
        first = entries[0]
        if not doubts:
            facts = (*flow.prover.base, *first.facts)
            by = "structural+z3"
            shown = flow.ledger.at("in_bounds", span)
            return flow.ledger.conclude(shown, "in_bounds", span, first.op.id, by, len(entries), bounds_of(facts))
        for doubt in doubts[:4]:
            example = _counterexample(flow, doubt)
            if example is not None:
                return Verdict("in_bounds", "refuted", span, doubt.op.id, "z3", counterexample=example)
        reason = f"this access may be wrong: it {doubts[0].what}"
        return Verdict("in_bounds", "unknown", span, doubts[0].op.id, "z3", sites=len(entries), reason=reason)


def _contiguous(tensor: Tensor) -> bool:
    """Row-major without gaps: then beyond the outermost axis lies only the end of the buffer."""
    expected: Expr = E.const(1)
    for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if stride is not expected:
            return False
        expected = expected * extent
    return True


def _counterexample(flow: KernelWalk, doubt: Doubt) -> Counterexample | None:
    found = _execution(flow, doubt)
    if found is None:
        return None
    execution, thread = found
    if not _reached(flow, doubt, execution, thread // 64):
        return None
    if doubt.stray and not isinstance(doubt.op, ops.Store | ops.Atomic) and not _matters(flow, doubt, execution):
        return None
    env = {**execution.env, "lane": thread % 64, "wave": thread // 64}
    access = doubt.access
    address = int(E.evaluate(access.address, env))
    kind = "stores" if isinstance(doubt.op, ops.Store | ops.Atomic) else "loads"
    if isinstance(access.memory, Tensor):
        coords = {a: int(E.evaluate(c, env)) for a, c in zip(access.memory.axes, access.coords, strict=True)}
        named = ", ".join(f"{a}={c}" for a, c in coords.items())
        text = f"{kind} {access.memory.name}[{named}] and {access.count - 1} more at byte {address}"
    else:
        coords, text = {}, f"{kind} bytes from {address} of {access.memory.name}"
    operand = Party("access", thread, 0, text, access.memory.name, coords, span=doubt.op.span)
    message = f"an access {doubt.what}"
    return Counterexample(
        "in_bounds", doubt.op.span, doubt.op.id, message, execution.sizes, execution.block, execution.loops,
        thread // 64, (operand,), "guard the access by its coordinates, or require sizes that divide evenly",
    )  # fmt: skip


def _matters(flow: KernelWalk, doubt: Doubt, execution: Execution) -> bool:
    """A load that strays into the next row is wrong if some output depends on a row it should not depend on."""
    spec = flow.spec
    tensor = doubt.access.memory
    if spec is None or not isinstance(tensor, Tensor):
        return False
    numbers = flow.tables.tensor_axes[tensor]
    sizes = [execution.sizes]
    return any(
        interference(flow.kernel, spec.output, tensor, numbers.index(axis), position, sizes) is not None
        for axis, position in spec.placed.items()
        if axis in numbers
    )


def _execution(flow: KernelWalk, doubt: Doubt) -> tuple[Execution, int] | None:
    """The solver's smallest execution if it shows the fault, else the first small one that does."""
    extra: tuple[Expr, ...] = (flow.here(doubt.condition),)
    if doubt.access.guard is not None:
        extra = (*extra, doubt.access.guard)
    solved = smallest_execution(flow.kernel, flow.prover, doubt.place, extra)
    tried = [] if solved is None else [solved[0]]
    for execution in (*tried, *executions(flow.kernel, doubt.place)):
        thread = _wrong_thread(flow, doubt, execution)
        if thread is not None:
            return execution, thread
    return None


def _wrong_thread(flow: KernelWalk, doubt: Doubt, execution: Execution) -> int | None:
    """The first thread whose evaluated address is inside the memory but not where its coordinates say."""
    access = doubt.access
    lanes = np.arange(64 * flow.kernel.waves)
    env: dict[str, int | np.ndarray] = {**execution.env, "lane": lanes % 64, "wave": lanes // 64}
    if any(v.name not in env for v in access.address.free()):
        return None

    def values(e: Expr) -> np.ndarray:
        return np.broadcast_to(np.asarray(E.evaluate(e, env), dtype=np.int64), lanes.shape)

    done = doubt.place.active.reshape(-1).copy()
    if access.guard is not None:
        done &= values(access.guard) != 0
    element = np.arange(access.count)
    start = values(access.address)[:, None] + element * access.memory.dtype.bytes
    if isinstance(access.memory, Shared):
        wrong = (start < 0) | (start + access.memory.dtype.bytes > access.memory.bytes)
    else:
        wrong = _misplaced(flow, access, execution, values, start)
    wrong &= done[:, None]
    return int(np.argwhere(wrong)[0][0]) if wrong.any() else None


def _misplaced(flow: KernelWalk, access: Access, execution: Execution, values: Values, start: np.ndarray) -> np.ndarray:
    tensor = access.memory
    assert isinstance(tensor, Tensor)
    shape = interp.extents(tensor, execution.sizes)
    strides = [int(E.evaluate(s, execution.sizes)) for s in tensor.strides]
    size = tensor.dtype.bytes * (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)))
    in_buffer = (start >= 0) & (start + tensor.dtype.bytes <= size)
    in_tensor = np.ones(start.shape, dtype=bool)
    flat = np.zeros(start.shape, dtype=np.int64)
    for axis, coordinate in enumerate(access.coords):
        moving = np.arange(access.count) if axis == access.axis % len(shape) else np.zeros(access.count, dtype=np.int64)
        c = values(coordinate)[:, None] + moving
        in_tensor &= (c >= 0) & (c < shape[axis])
        flat += c * strides[axis]
    elsewhere = flat * tensor.dtype.bytes != start
    return np.asarray((in_buffer & ~in_tensor) | ((in_buffer | in_tensor) & elsewhere))


def _reached(flow: KernelWalk, doubt: Doubt, execution: Execution, wave: int) -> bool:
    """The interpreter comes to this op in this iteration."""
    seen: list[bool] = []

    def watch(event: interp.OpEvent) -> None:
        if event.wave == wave and event.loops == execution.loops:
            seen.append(True)

    return replay(flow.kernel, execution, {doubt.op.id: watch}) is not None and bool(seen)

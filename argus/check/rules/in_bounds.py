"""Rule `in_bounds`: an access touches the element its coordinates name, or nothing.

Proved, for every access to a tensor, all threads, elements, paths and sizes: its byte address is the one its
coordinates and the tensor's strides give; and where its guard lets it through, either every coordinate is inside the
tensor, or the byte offset is outside the buffer, where the hardware reads zero and writes nothing. A coordinate that
leaves an inner axis does not leave the buffer: it reaches the next row, which is what this rule refutes. For LDS:
every byte address is inside the access's own buffer.

Only in a contiguous row-major tensor may the outermost coordinate leave: past the end, or before the start, where the
offset is negative and so, for the hardware, beyond every buffer. An access that begins before the start and ends behind
it is not accepted: how far its offset counts up again is not documented. Offsets stay in reach by rule `fits`.
Method: the thread part is enumerated and only its extremes are put to the prover; guarded accesses keep lane and wave
as variables. A refutation is a concrete thread whose address, evaluated, lies in the buffer but not at its
coordinates.

What `ag.as_index` states must hold of the zeros, too, that loads outside a tensor give (`stated_numbers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from argus.check.domain.tags import Tags
from argus.check.domain.threads import Spread
from argus.check.events import ProgramPoint
from argus.check.obligations import STATED_NUMBERS
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.rules.stated_numbers import StatedNumbers
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr


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
        self.found: list[RuleEvent[Doubt]] = []
        self.steps: dict[tuple[tuple[Expr, ...], Expr, Expr, int], bool] = {}
        self.stated_numbers = StatedNumbers(flow)

    def indexed(self, op: ops.Symbol, place: ProgramPoint) -> None:
        doubts = self.stated_numbers.doubts(op, place.facts)
        self.settle(op, STATED_NUMBERS, self.flow.prover.reason(), doubts)

    def finish(self) -> None:
        for op, why in self.stated_numbers.outside():
            self.flow.ledger.doubt(op.id, self.name, STATED_NUMBERS, why)

    def global_load(self, op: ops.Load | ops.CopyToLds, place: ProgramPoint, access: Access) -> None:
        self._tensor(op, place, access)
        self.stated_numbers.met(op, place.facts)

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
        self.found.append(RuleEvent(op, place.facts, tuple(doubts)))

    def _facts(self, place: ProgramPoint, access: Access) -> tuple[Expr, ...]:
        return place.facts if access.guard is None else (*place.facts, self.flow.here(access.guard))

    def _tensor(self, op: Op, place: ProgramPoint, access: Access) -> None:
        doubts = [d for d in (self._address(op, place, access), self._coordinates(op, place, access)) if d is not None]
        self.settle(op, "place", self.flow.prover.reason(), [d.what for d in doubts])
        self.found.append(RuleEvent(op, place.facts, tuple(doubts)))

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
        """Inner axes must stay inside; the outermost one may leave as a whole, which leaves the buffer too."""
        tensor, flow = access.memory, self.flow
        assert isinstance(tensor, Tensor)
        if len(access.coords) != len(tensor.axes):
            return None
        outer = 0 if _contiguous(tensor) else -1
        for axis, (coordinate, extent) in enumerate(zip(access.coords, tensor.shape, strict=True)):
            last = access.count - 1 if axis == (access.axis % len(tensor.axes)) else 0
            if axis == outer and last == 0:
                continue
            here, facts = flow.here(coordinate), self._facts(place, access)
            limits = self._limits(place, access, here, last, extent, upper=axis != outer)
            for limit in limits:
                if (
                    whole_steps((*flow.prover.base, *facts), here, last, extent, limit)
                    or flow.prover.holds(facts, limit) is True
                ):
                    continue
                name = tensor.axes[axis]
                if axis != outer:
                    what = f"leaves axis {name} of {tensor.name} without leaving the buffer"
                    return Doubt(op, place, access, E.lnot(limit), what, stray=True)
                if flow.prover.holds(facts, E.lor(here.ge(0), (here + last).lt(0))) is not True:
                    what = f"may begin before the first {name} of {tensor.name} and end behind it"
                    return Doubt(op, place, access, E.lnot(limit), what, stray=True)
        return None

    def _limits(self, place: ProgramPoint, access: Access, c: Expr, last: int, extent: Expr, upper: bool) -> list[Expr]:
        """Conditions that together keep the coordinate inside, in the cheapest form that is exact."""
        flow = self.flow
        spread = flow.threads.spread(c)
        inside = spread.offsets[place.active] if spread.rest is not None and place.active.any() else None
        if inside is None or spread.rest is None:
            limits = [c.ge(0)]
            return [*limits, (c + last).lt(extent)] if upper else limits
        low, high = int(inside.min()), int(inside.max())
        if access.guard is not None:
            limits = [] if low >= 0 and self._above(place.facts, spread.rest, low) else [c.ge(0)]
            return [*limits, (c + last).lt(extent)] if upper else limits
        limits = [] if self._above(place.facts, spread.rest, low) else [(spread.rest + low).ge(0)]
        if upper and not self._below(place.facts, spread.rest, high + last, extent):
            limits.append((spread.rest + (high + last)).lt(extent))
        return limits

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


def whole_steps(facts: tuple[Expr, ...], start: Expr, last: int, extent: Expr, limit: Expr) -> bool:
    """start + last < extent, where start < extent is a fact and both are multiples of last + 1: an access that begins
    inside does not end behind the axis."""
    if last == 0 or limit is not (start + last).lt(extent):
        return False
    terms, constant = E.linear(start)
    if any(number % (last + 1) for number in (*terms.values(), constant)):
        return False
    known = {part for fact in facts for part in (fact.args if fact.op == "land" else (fact,))}
    return start.lt(extent) in known and (extent % (last + 1)).eq(0) in known


def _contiguous(tensor: Tensor) -> bool:
    """Row-major without gaps: then beyond the outermost axis lies only the end of the buffer."""
    expected: Expr = E.const(1)
    for extent, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
        if stride is not expected:
            return False
        expected = expected * extent
    return True

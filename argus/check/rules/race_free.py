"""Rule `race_free`: no two waves touch the same byte of LDS, one of them writing, without a barrier that orders them.

Proved: for every pair of accesses e, f to LDS by different waves, of which one writes, on every path and in any two
iterations, either they touch no common byte, or every path from e to f passes a barrier at which e has retired.
Retired means: the wave waited for it. A plain barrier waits for the wave's own LDS accesses first; a bare barrier
waits for nothing, so an access still in flight there is not ordered by it. Direct-to-LDS copies retire by `vm` waits
only. Also: no two lanes of one store write one byte, unless with the same data; and a direct copy and an ordinary
access of one wave to a common byte are separated by a wait.

Waves that run out of step (`ag.opposite()`) are followed: what a wave that is one barrier behind touches is compared
with what the others touch one barrier later. Any other barrier under a condition on wave or lane is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread
from argus.check.explain.witness import replay, smallest_execution
from argus.check.report import Counterexample, Party, Verdict
from argus.check.rules.lds_conflicts import LdsConflict, LiveAccess, Races, lds_target
from argus.check.rules.rule import Rule
from argus.check.walk import KernelWalk, ProgramPoint, bounds_of
from argus.ir import interp, ops
from argus.ir.ops import Access, Op, Shared
from argus.ir.types import Span
from argus.layout import expr as E


class RaceFree(Rule):
    """Runs its own walk and reports per buffer."""

    name = "race_free"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.clashes: list[Clash] = []

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        """Two lanes of one wave that store different tags to one granule."""
        constant = start.constant()
        buffer = access.memory
        if not isinstance(op, ops.Store | ops.CopyToLds) or constant is None or not isinstance(buffer, Shared):
            return
        where = self.flow.memory.granules(constant + buffer.base, access.count, buffer.dtype.bytes)[..., 0]
        for case in value.cases:
            clash = _clash(where, case, place)
            if clash is not None:
                self.clashes.append(Clash(op, place, buffer, *clash))
                return

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        if not flow.kernel.shared:
            return []
        races = Races(flow)
        races.run(flow.kernel.body)
        return list(self._by_buffer(flow, races))

    def _by_buffer(self, flow: KernelWalk, races: Races) -> Iterator[Verdict]:
        for buffer, first_op in races.touched.items():
            span = buffer.span if buffer.span.line else first_op.span
            conflicts = [c for c in races.conflicts.values() if buffer in (c.first.touch.buffer, c.second.touch.buffer)]
            if conflicts:
                yield self._refutation(flow, races, conflicts, span)
                continue
            clashes = [c for c in self.clashes if c.buffer is buffer]
            if clashes:
                yield _overlap(flow, clashes[0])
                continue
            unclear = [why for op, why in races.unknown if (t := lds_target(op)) is None or t.memory is buffer]
            if unclear:
                yield Verdict("race_free", "unknown", span, first_op.id, "enumeration", reason=unclear[0])
                continue
            bounds = bounds_of(flow.prover.base)
            yield Verdict("race_free", "proved", span, first_op.id, "enumeration", sites=races.pairs, bounds=bounds)

    def _refutation(self, flow: KernelWalk, races: Races, conflicts: list[LdsConflict], span: Span) -> Verdict:
        reason = ""
        for conflict in conflicts[:3]:
            example = self._counterexample(flow, races, conflict, len(conflicts))
            op = conflict.second.touch.op
            if isinstance(example, Counterexample):
                return Verdict("race_free", "refuted", op.span, op.id, "enumeration", counterexample=example)
            reason = reason or example
        op = conflicts[0].second.touch.op
        return Verdict("race_free", "unknown", span, op.id, "enumeration", reason=reason)

    def _counterexample(
        self, flow: KernelWalk, races: Races, conflict: LdsConflict, total: int
    ) -> Counterexample | str:
        first, second = conflict.first, conflict.second
        place = ProgramPoint((*first.facts, *second.facts), second.loops, flow.active)
        found = smallest_execution(flow.kernel, flow.prover, place)
        lines = f"lines {first.touch.op.span.line} and {second.touch.op.span.line}"
        if found is None:
            return f"the accesses of {lines} may overlap, but no launch that shows it was found"
        execution, values = found
        outcome = replay(flow.kernel, execution, {}, interp.InterpSchedule("forward", "late"))
        wanted = {first.touch.op.id, second.touch.op.id}
        confirmed = outcome is not None and any(
            h.kind in ("race", "overlap") and {h.first[0], h.second[0]} == wanted for h in outcome.hazards
        )
        if not confirmed:
            return f"the accesses of {lines} may overlap, but the replay does not show it"
        env = {v.name: n for v, n in values.items()}
        operands = _parties(flow, races, conflict, env)
        buffer = second.touch.buffer.name
        more = f" (and {total - 1} more pairs)" if total > 1 else ""
        message = f"two waves touch the same bytes of {buffer} without a barrier between them{more}"
        op = second.touch.op
        return Counterexample(
            "race_free", op.span, op.id, message, execution.sizes, execution.block, execution.loops,
            operands[-1].thread // 64, operands, _help(first, second), table=True,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clash:
    """Two threads of one wave whose store writes different data to one granule."""

    op: Op
    place: ProgramPoint
    buffer: Shared
    first: int
    second: int
    granule: int


def _clash(where: np.ndarray, case: Case, place: ProgramPoint) -> tuple[int, int, int] | None:
    for w in range(len(where)):
        if not place.active[w].any():
            continue
        count = where.shape[-1]
        lanes = np.repeat(np.arange(64), count)[np.repeat(place.active[w], count)]
        flat, record = where[w][place.active[w]].reshape(-1), case.record[w][place.active[w]].reshape(-1)
        offset = case.offset[w][place.active[w]].reshape(len(flat), -1)
        order = np.argsort(flat, kind="stable")
        same = flat[order][1:] == flat[order][:-1]
        differ = (record[order][1:] != record[order][:-1]) | (offset[order][1:] != offset[order][:-1]).any(axis=1)
        hit = np.flatnonzero(same & differ)
        if len(hit):
            n = int(hit[0])
            return 64 * w + int(lanes[order][n]), 64 * w + int(lanes[order][n + 1]), int(flat[order][n])
    return None


def _overlap(flow: KernelWalk, clash: Clash) -> Verdict:
    op = clash.op
    found = smallest_execution(flow.kernel, flow.prover, clash.place)
    reason = (
        f"two lanes of line {op.span.line} may write different data to one address, but the replay does not show it"
    )
    if found is None:
        return Verdict("race_free", "unknown", op.span, op.id, "enumeration", reason=reason)
    execution, _ = found
    outcome = replay(flow.kernel, execution, {})
    if outcome is None or not any(h.kind == "overlap" and h.first[0] == op.id for h in outcome.hazards):
        return Verdict("race_free", "unknown", op.span, op.id, "enumeration", reason=reason)
    byte = clash.granule * flow.memory.unit - clash.buffer.base
    text = f"byte {byte} of {clash.buffer.name}"
    operands = tuple(Party("writes", thread, 0, text, span=op.span) for thread in (clash.first, clash.second))
    message = f"two lanes of one store write different data to the same bytes of {clash.buffer.name}"
    example = Counterexample(
        "race_free", op.span, op.id, message, execution.sizes, execution.block, execution.loops, clash.first // 64,
        operands, "give every lane its own address", table=True,
    )  # fmt: skip
    return Verdict("race_free", "refuted", op.span, op.id, "enumeration", counterexample=example)


def _help(first: LiveAccess, second: LiveAccess) -> str:
    if first.counter == "vm" and not first.retired:
        return "wait for the direct copy (ag.wait(vm=0)) before the barrier that publishes it"
    where = f"line {first.touch.op.span.line} and line {second.touch.op.span.line}"
    if first.loops and first.loops != second.loops:
        return f"put a barrier between {where} of the next iteration"
    return f"put a barrier between {where}"


def _parties(flow: KernelWalk, races: Races, conflict: LdsConflict, env: dict[str, int]) -> tuple[Party, Party]:
    """The two smallest threads of different waves that touch the granule."""
    sides: list[list[tuple[int, int]]] = []
    for live in (conflict.first, conflict.second):
        shift = 0
        if live is conflict.first:
            difference = E.as_expr(conflict.first.touch.rest - conflict.second.touch.rest)
            shift = difference.value // races.unit if difference.op == "const" else 0
        sides.append(_threads_at(flow, races, live, conflict.granule - shift))
    same_wave = conflict.first.counter != conflict.second.counter
    pairs = [
        (x, y)
        for x in sides[0]
        for y in sides[1]
        if x[0] // 64 != y[0] // 64 or (same_wave and x[0] // 64 == y[0] // 64)
    ]
    (one, element), (other, other_element) = pairs[0]
    byte = conflict.granule * races.unit
    made = []
    for live, thread, n in ((conflict.first, one, element), (conflict.second, other, other_element)):
        buffer = live.touch.buffer
        values = {var.name: int(E.evaluate(value, env)) for var, value in live.loops}
        when = "".join(f" at {name}={value}" for name, value in values.items())
        verb = "writes" if live.touch.write else "reads"
        text = f"byte {byte - buffer.base} of {buffer.name}"
        made.append(Party(f"{verb}{when}", thread, n, text, span=live.touch.op.span))
    return made[0], made[1]


def _threads_at(flow: KernelWalk, races: Races, live: LiveAccess, granule: int) -> list[tuple[int, int]]:
    target = lds_target(live.touch.op)
    assert target is not None
    buffer = live.touch.buffer
    # The address as it was when the touch was computed: its offsets do not depend on the iteration.
    for (number, address), touch in races.touches.items():
        if number == live.touch.op.id and touch is not None and touch.start == live.touch.start:
            spread = flow.threads.spread(address)
            constant = spread.rest.value if spread.rest is not None and spread.rest.op == "const" else 0
            first = (spread.offsets + constant + buffer.base) // races.unit
            per_element = buffer.dtype.bytes // races.unit
            inside = (first <= granule) & (granule < first + target.count * per_element)
            return [(64 * int(w) + int(l), int((granule - first[w, l]) // per_element)) for w, l in np.argwhere(inside)]
    return []

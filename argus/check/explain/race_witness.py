"""Counterexamples of `race_free`: two accesses that meet in LDS, replayed by the interpreter, as two threads.

What may meet is found by the walk; here the smallest launch that shows it is looked for.
"""

from __future__ import annotations

import numpy as np

from argus.check.domain.access_order import LiveAccess
from argus.check.events import ProgramPoint
from argus.check.explain.witness import replay, smallest_execution
from argus.check.report import Counterexample, Party, Verdict
from argus.check.rules.race_free import Clash
from argus.check.transfer.ordering import LdsConflict, lds_target
from argus.check.walk import KernelWalk
from argus.ir import interp
from argus.ir.types import Span
from argus.layout import expr as E
from argus.layout.expr import Expr


def refutation(flow: KernelWalk, conflicts: list[LdsConflict], span: Span) -> Verdict:
    reason = ""
    for conflict in conflicts[:3]:
        example = _counterexample(flow, conflict, len(conflicts))
        op = conflict.second.touch.op
        if isinstance(example, Counterexample):
            return Verdict("race_free", "refuted", op.span, op.id, "enumeration", counterexample=example)
        reason = reason or example
    op = conflicts[0].second.touch.op
    return Verdict("race_free", "unknown", span, op.id, "enumeration", reason=reason)


def _counterexample(flow: KernelWalk, conflict: LdsConflict, total: int) -> Counterexample | str:
    first, second = conflict.first, conflict.second
    place = ProgramPoint((*first.facts, *second.facts), second.loops, flow.active)
    found = smallest_execution(flow.kernel, flow.prover, place)
    lines = f"lines {first.touch.op.span.line} and {second.touch.op.span.line}"
    if found is None:
        return f"the accesses of {lines} may overlap, but no launch that shows it was found"
    execution, values = found
    outcome = replay(flow.kernel, execution, {}, interp.InterpSchedule("forward", "late"))
    wanted = {first.touch.op.id, second.touch.op.id}
    hazards = () if outcome is None else outcome.hazards
    seen = [h for h in hazards if h.kind in ("race", "overlap") and {h.first[0], h.second[0]} == wanted]
    if not seen:
        return f"the accesses of {lines} may overlap, but the replay does not show it"
    env = {v.name: n for v, n in values.items()}
    operands = _parties(flow, conflict, seen[0].byte, env)
    if operands is None:
        return f"the accesses of {lines} overlap when replayed, but no two threads were found for it"
    buffer = second.touch.buffer.name
    more = f" (and {total - 1} more pairs)" if total > 1 else ""
    message = f"{_what(conflict, operands)} {buffer} {_missing(conflict, operands)}{more}"
    op = second.touch.op
    return Counterexample(
        "race_free", op.span, op.id, message, execution.sizes, execution.block, execution.loops,
        operands[-1].thread // 64, operands, _help(conflict, operands), table=True,
    )  # fmt: skip


def _one_wave(operands: tuple[Party, Party]) -> bool:
    return operands[0].thread // 64 == operands[1].thread // 64


def _what(conflict: LdsConflict, operands: tuple[Party, Party]) -> str:
    if not _one_wave(operands):
        return "two waves touch the same bytes of"
    if conflict.first.counter != conflict.second.counter:
        return "a direct copy and an ordinary access of one wave touch the same bytes of"
    return "two arms of a branch touch, in one wave, the same bytes of"


def _missing(conflict: LdsConflict, operands: tuple[Party, Party]) -> str:
    if not _one_wave(operands):
        return "without a barrier between them"
    if conflict.first.counter != conflict.second.counter:
        return "without a wait between them"
    return "and have no order"


def overlap_verdict(flow: KernelWalk, clash: Clash) -> Verdict:
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


def _help(conflict: LdsConflict, operands: tuple[Party, Party]) -> str:
    first, second = conflict.first, conflict.second
    if _one_wave(operands) and first.counter != second.counter:
        return f"wait for the first of them (ag.wait({first.counter}=0)) before the second"
    if first.counter == "vm" and not first.retired:
        return "wait for the direct copy (ag.wait(vm=0)) before the barrier that publishes it"
    where = f"line {first.touch.op.span.line} and line {second.touch.op.span.line}"
    if first.loops and first.loops != second.loops:
        return f"put a barrier between {where} of the next iteration"
    return f"put a barrier between {where}"


def _parties(flow: KernelWalk, conflict: LdsConflict, byte: int, env: dict[str, int]) -> tuple[Party, Party] | None:
    """The two smallest threads that touch one granule: the first that may conflict, else that of the byte at which the
    replay has seen it. In two arms of one wave the first may be touched by one thread alone, which takes one arm."""
    unit = flow.memory.unit
    for granule in (conflict.granule, byte // unit):
        if pairs := _pairs(flow, conflict, granule):
            break
    else:
        return None
    (one, element), (other, other_element) = pairs[0]
    made = []
    for live, thread, n in ((conflict.first, one, element), (conflict.second, other, other_element)):
        buffer = live.touch.buffer
        known = [(var, value) for var, value in live.loops if all(v.name in env for v in value.free())]
        values = {var.name: int(E.evaluate(value, env)) for var, value in known}  # a loop that has ended has no turn
        when = "".join(f" at {name}={value}" for name, value in values.items())
        verb = "writes" if live.touch.write else "reads"
        text = f"byte {granule * unit - buffer.base} of {buffer.name}"
        made.append(Party(f"{verb}{when}", thread, n, text, span=live.touch.op.span))
    return made[0], made[1]


def _pairs(flow: KernelWalk, conflict: LdsConflict, granule: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Threads with their elements that touch the granule: of different waves; of one, where its order is not enough."""
    sides: list[list[tuple[int, int]]] = []
    for live in (conflict.first, conflict.second):
        shift = 0
        if live is conflict.first:
            difference = E.as_expr(conflict.first.touch.rest - conflict.second.touch.rest)
            shift = difference.value // flow.memory.unit if difference.op == "const" else 0
        sides.append(_threads_at(flow, live, granule - shift))
    same_wave = conflict.first.counter != conflict.second.counter
    pairs = [
        (x, y)
        for x in sides[0]
        for y in sides[1]
        if x[0] // 64 != y[0] // 64 or (same_wave and x[0] // 64 == y[0] // 64)
    ]
    return pairs or [(x, y) for x in sides[0] for y in sides[1] if x[0] != y[0]]  # two arms of one wave


def _threads_at(flow: KernelWalk, live: LiveAccess, granule: int) -> list[tuple[int, int]]:
    target = lds_target(live.touch.op)
    assert target is not None
    buffer = live.touch.buffer
    # The address as it was when the touch was computed: its offsets do not depend on the iteration.
    for (number, address, *_), touch in flow.touches.items():
        if number == live.touch.op.id and touch is not None and touch.start == live.touch.start:
            assert isinstance(address, Expr)
            spread = flow.threads.spread(address)
            constant = spread.rest.value if spread.rest is not None and spread.rest.op == "const" else 0
            first = (spread.offsets + constant + buffer.base) // flow.memory.unit
            per_element = buffer.dtype.bytes // flow.memory.unit
            inside = (first <= granule) & (granule < first + target.count * per_element)
            return [(64 * int(w) + int(l), int((granule - first[w, l]) // per_element)) for w, l in np.argwhere(inside)]
    return []

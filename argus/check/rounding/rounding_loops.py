"""Loops of any number of turns: errors and magnitudes that grow as polynomials of the turn.

    acc = mfma(a, b, acc)        theta after n turns: theta of the products + n * (the instruction's additions)

Some turns are walked. Then the state at the loop's head gets a name i for the turn, and is walked once more: what comes
back must be at most the state at i + 1, coefficient by coefficient. Where it is more, by E, the state is given i * E in
addition, and tried again. What is not shown that way is unbounded. After the loop i is the number of turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from argus.check.rounding.magnitudes import NOTHING, LaunchQuantity, Magnitude, atom, constant
from argus.check.rounding.rounded_value import Abstract, RoundedValue, Unbounded
from argus.ir import ops
from argus.ir.ops import Shared
from argus.layout import expr as E

if TYPE_CHECKING:
    from argus.check.rounding.rounding_walk import RoundingWalk

WALKED = 4
"""Turns before growth is measured: a pipeline has filled by then."""
REFINED = 6
"""How often growth is corrected."""

Slot = tuple[int, int] | Shared
"""An element of a carried value, or an LDS buffer."""
State = dict[Slot, Abstract]


def looped(walk: RoundingWalk, op: ops.For) -> None:
    """Walk the loop; afterwards its results are held."""
    states = [_start(walk, op)]
    for _ in range(WALKED):
        states.append(_turn(walk, op, states[-1]))
        if states[-1] == states[-2]:
            _finish(walk, op, states[-1])
            walk.hazards.loop(op, walk)
            return
    index = LaunchQuantity("turn", f"i{op.id}")
    head: State = {}
    lost: dict[Slot, Unbounded] = {}
    for base in (1, WALKED, WALKED, WALKED):
        head = {slot: lost.get(slot, _from(states[base].get(slot), x)) for slot, x in states[-1].items()}
        wrong = _shown(walk, op, head, index)
        if not wrong:
            break
        if base == WALKED:
            lost |= dict.fromkeys(wrong, Unbounded(op.span.line, "an error that grows otherwise than by turns"))
    else:
        head = {slot: Unbounded(op.span.line, "an error that grows otherwise than by turns") for slot in head}
    walk.hazards.loop(op, walk)
    turns = _turns(op)
    done = {slot: _replaced(value, index, turns) for slot, value in head.items()}
    _finish(walk, op, {slot: walk.kept(value) for slot, value in done.items()})
    walk.stored = {name: walk.kept(_replaced(v, index, turns)) for name, v in walk.stored.items()}
    walk.largest_theta = walk.largest_theta.replaced(index, turns)
    walk.shares = walk.shares.replaced(index, turns)


def _turns(op: ops.For) -> Magnitude:
    """How often the loop turns."""
    count = E.maximum((op.hi - op.lo + (op.step - 1)) // op.step, E.const(0))
    return constant(float(count.value)) if count.op == "const" else atom("turns", str(count), count)


def _start(walk: RoundingWalk, op: ops.For) -> State:
    state: State = {(n, e): x for n, value in enumerate(op.inits) for e, x in enumerate(walk.elements(value))}
    state.update(walk.lds.items())
    return state


def _set(walk: RoundingWalk, op: ops.For, state: State) -> None:
    for n, arg in enumerate(op.args):
        walk.hold(arg, tuple(state[n, e] for e in range(arg.count)))
    walk.lds = {slot: value for slot, value in state.items() if isinstance(slot, Shared)}


def _turn(walk: RoundingWalk, op: ops.For, state: State) -> State:
    """The state at the next turn's head, or at this one's."""
    _set(walk, op, state)
    walk.block(op.body)
    made: State = {}
    for n, value in enumerate(op.yields):
        for e, x in enumerate(walk.elements(value)):
            made[n, e] = walk.joined(state[n, e], x)
    made.update(walk.lds.items())
    return made


def _finish(walk: RoundingWalk, op: ops.For, state: State) -> None:
    for n, out in enumerate(op.outs):
        walk.hold(out, tuple(state[n, e] for e in range(out.count)))
    walk.lds = {slot: value for slot, value in state.items() if isinstance(slot, Shared)}


def _from(base: Abstract | None, last: Abstract) -> Abstract:
    """What is known after some turns, with the errors and magnitudes of an earlier turn."""
    if not (isinstance(base, RoundedValue) and isinstance(last, RoundedValue)):
        return last
    size = base.size if last.size is not None else None
    return replace(last, theta=base.theta, alpha=base.alpha, size=size)


def _shown(walk: RoundingWalk, op: ops.For, head: State, index: LaunchQuantity) -> list[Slot]:
    """Make the state at the loop's head one that every turn keeps; slots for which that was not possible."""
    i = Magnitude(((((index, 2),), 1.0),))
    wrong: list[Slot] = []
    for _ in range(REFINED):
        back = _turn(walk, op, head)
        wrong = []
        for slot, after in back.items():
            now = head.get(slot)
            if now is None or not (isinstance(after, RoundedValue) and isinstance(now, RoundedValue)):
                if after != now and not isinstance(now, Unbounded):
                    wrong.append(slot)
                continue
            more = _excess(after, _replaced(now, index, i + constant(1.0)))
            if more is None:
                wrong.append(slot)
            elif any(more):
                theta, alpha, size = more
                grown = None if now.size is None else now.size + i * size
                head[slot] = replace(now, theta=now.theta + i * theta, alpha=now.alpha + i * alpha, size=grown)
                wrong.append(slot)
        if not wrong:
            return []
    return wrong


def _excess(after: RoundedValue, next_head: Abstract) -> tuple[Magnitude, Magnitude, Magnitude] | None:
    """By how much theta, alpha and size are more than they may be; None if something else differs."""
    assert isinstance(next_head, RoundedValue)
    if replace(after, theta=NOTHING, alpha=NOTHING, size=None) != replace(
        next_head, theta=NOTHING, alpha=NOTHING, size=None
    ):
        return None
    size = NOTHING
    if next_head.size is not None:
        if after.size is None:
            return None
        size = after.size.grown_from(next_head.size)
    return after.theta.grown_from(next_head.theta), after.alpha.grown_from(next_head.alpha), size


def _replaced(value: Abstract, index: LaunchQuantity, turns: Magnitude) -> Abstract:
    if not isinstance(value, RoundedValue):
        return value
    size = None if value.size is None else value.size.replaced(index, turns)
    return replace(value, theta=value.theta.replaced(index, turns), alpha=value.alpha.replaced(index, turns), size=size)

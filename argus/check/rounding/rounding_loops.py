"""Loops of any number of turns: errors and magnitudes that grow by the same amount in every turn.

    acc = mfma(a, b, acc)        theta after n turns: theta of the products + n * (the instruction's additions)

Some turns are walked. What then still grows is supposed to grow by as much in every further turn: the state at the loop's
head is base + i * growth with a name for i. One more walk, from that state, shows it: what comes back is at most
base + (i + 1) * growth, coefficient by coefficient. What is not shown is unbounded. After the loop i is the number of turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from argus.check.rounding.magnitudes import NOTHING, Atom, Magnitude, atom, constant
from argus.check.rounding.rounded_value import Abstract, BitPattern, RoundedValue, Unbounded
from argus.ir import ops
from argus.ir.ops import Shared
from argus.layout import expr as E

if TYPE_CHECKING:
    from argus.check.rounding.rounding_walk import RoundingWalk

WALKED = 4
"""Turns before growth is measured: a pipeline has filled by then."""
ATTEMPTS = 3

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
    index = Atom("turn", f"i{op.id}")
    lost: dict[Slot, Unbounded] = {}
    head: State = {}
    for base in (*range(1, WALKED), WALKED):
        head = _head(states[base], states[-1], states[-2], index, lost, op)
        back = _turn(walk, op, head)
        wrong = [slot for slot in back if not _shown(back[slot], head.get(slot), states[-1], states[-2], slot)]
        if not wrong:
            break
    else:
        for _ in range(ATTEMPTS):
            for slot in wrong:
                lost[slot] = Unbounded(op.span.line, "an error that grows otherwise than by turns")
            head = _head(states[-1], states[-1], states[-2], index, lost, op)
            back = _turn(walk, op, head)
            wrong = [slot for slot in back if not _shown(back[slot], head.get(slot), states[-1], states[-2], slot)]
            if not wrong:
                break
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
    return {**state, **walk.lds}


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
    return {**made, **walk.lds}


def _finish(walk: RoundingWalk, op: ops.For, state: State) -> None:
    for n, out in enumerate(op.outs):
        walk.hold(out, tuple(state[n, e] for e in range(out.count)))
    walk.lds = {slot: value for slot, value in state.items() if isinstance(slot, Shared)}


def _growth(last: RoundedValue, before: RoundedValue) -> tuple[Magnitude, Magnitude, Magnitude]:
    size = NOTHING
    if last.size is not None and before.size is not None:
        size = last.size.grown_from(before.size)
    return last.theta.grown_from(before.theta), last.alpha.grown_from(before.alpha), size


def _head(
    base: State, last: State, before: State, index: Atom, lost: dict[Slot, Unbounded], op: ops.For
) -> State:
    head: State = {}
    for slot in last:
        a, b, c = last[slot], before.get(slot), base.get(slot, last[slot])
        if slot in lost:
            head[slot] = lost[slot]
        elif not (isinstance(a, RoundedValue) and isinstance(b, RoundedValue) and isinstance(c, RoundedValue)):
            head[slot] = a
        else:
            i = Magnitude(((((index, 2),), 1.0),))
            theta, alpha, size = _growth(a, b)
            grown = a.size if a.size is None or c.size is None else c.size + i * size
            head[slot] = replace(a, theta=c.theta + i * theta, alpha=c.alpha + i * alpha, size=grown)
    return head


def _shown(back: Abstract, head: Abstract | None, last: State, before: State, slot: Slot) -> bool:
    if head is None:
        return False
    if isinstance(back, Unbounded | BitPattern) or isinstance(head, Unbounded | BitPattern):
        return back == head or isinstance(head, Unbounded)
    a, b = last.get(slot), before.get(slot)
    theta = alpha = size = NOTHING
    if isinstance(a, RoundedValue) and isinstance(b, RoundedValue):
        theta, alpha, size = _growth(a, b)
    fits = back.size is not None and head.size is not None and back.size.within(head.size + size)
    return (
        back.theta.within(head.theta + theta)
        and back.alpha.within(head.alpha + alpha)
        and (fits or head.size is None)
        and replace(back, theta=NOTHING, alpha=NOTHING, size=None)
        == replace(head, theta=NOTHING, alpha=NOTHING, size=None)
    )


def _replaced(value: Abstract, index: Atom, turns: Magnitude) -> Abstract:
    if not isinstance(value, RoundedValue):
        return value
    size = None if value.size is None else value.size.replaced(index, turns)
    return replace(
        value, theta=value.theta.replaced(index, turns), alpha=value.alpha.replaced(index, turns), size=size
    )

"""Loops with symbolic trip counts: a claim about the head of the loop, and its base, step and exit shown.

The claim (`check.certificate`) is the state at the head of every round, as a function of the loop's counter. Shown are

    guards   the alternatives of each slot cover every execution at the head
    base     with the counter's first value, the claim follows from the state before the loop
    order    accesses that nothing has ordered are among those claimed, before the loop and after each iteration
    step     the body, walked from the claim, leaves the claim for the next value of the counter
    names    a slot that stands for itself (`carried_terms`) is what its name says, at first and after each iteration
    exit     the state after the loop is what its last iteration leaves, or, if it does not run, what was there before

The body is walked once, with rules listening: what they hear holds for every iteration, if the claim does. If anything
above is not shown, `ClaimFails` is raised, and nothing that was heard counts. A loop without a claim is walked from a
state of which nothing is known.

A claim may say less than is true: a record that is lost claims nothing; a record without a term claims no value; a
number may be claimed at any coordinates, since it belongs to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from argus.check.domain.access_order import AccessOrder, after_loop
from argus.check.domain.record_numbers import distinct, distinct_rows
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import MAX_CASES, Case, Tags, alike, bare, merge, translate, uniform, unwieldy
from argus.check.invariant.carried_terms import (
    after_iteration,
    closed_maxima,
    name_holds,
    named,
    names,
    never_low,
    only_term,
)
from argus.check.invariant.loop_shape import LoopShape, loop_shape
from argus.check.terms.atoms import UNKNOWN, Atom, Carried
from argus.check.terms.elementwise_terms import not_minus_infinity
from argus.ir import ops
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk

ORDER = -1
"""In place of a slot: what is claimed of accesses that are not ordered."""
State = list[Tags]
"""Tags of the carried values, then of LDS."""
NO_CLAIM = "nothing is claimed about what the loop over {} carries"


class ClaimFails(Exception):
    """What is claimed about a loop is not shown: `part` of the argument, for these slots."""

    def __init__(self, op: ops.For, part: str, slots: Iterable[int]) -> None:
        self.op = op
        self.part = part
        self.slots = tuple(slots)
        super().__init__(f"the {part} of the claim about the loop over {op.var.name} is not shown")


def walk_loop(walk: KernelWalk, op: ops.For) -> None:
    """Transfer of a whole loop, by the claim that the certificate makes about it."""
    lo, hi = walk.here(op.lo), walk.here(op.hi)
    start: State = [*(walk.values[v] for v in op.inits), walk.memory.tags]
    check_bounds(walk, op, lo, hi)
    if walk.prover.possible((*walk.facts, lo.lt(hi))) is False:
        walk.ledger.unreachable(op.body, f"here {lo.lt(hi)} is impossible")
        skip(walk, op, start)
        return
    claim = walk.replay.claim(walk.path(op))
    shape = loop_shape(op, lo, hi, 1 if claim is None else claim.period)
    walk.first[op.id] = shape.first
    before = walk.order.before_loop(op)
    if claim is None:
        order = before.without(None, NO_CLAIM.format(op.var.name))
        nothing = walk.tables.lost(NO_CLAIM.format(op.var.name), op.id)
        head = [uniform(t.shape, nothing, walk.tables.width) for t in start]
    else:
        head = walk.replay.head(claim, [t.shape for t in start])
        order = walk.replay.order(claim, before, walk)
        walk.never |= {(op.id, n) for n in claim.never}
        walk.settled |= {(op.id, n) for n in claim.settled}
    _require(op, "guards", uncovered(walk, shape, head))
    _require(op, "names", misnamed(walk, shape, head))
    _require(op, "base", base_fails(walk, shape, start, head))
    _require(op, "order before the loop", [] if order.includes(before) else [ORDER])
    arms = [len(arm) for arm in walk.arms]
    ends = walk_round(walk, shape, head, order)
    again = walk.order.at_next_head(shape)
    _require(op, "order after an iteration", [] if order.includes(again) else [ORDER])
    _require(op, "step", step_fails(walk, shape, head, ends[-1][0]))
    _require(op, "claims", claims_fail(walk, shape, start, head, ends[-1][0]))
    leave(walk, shape, start, head, [state for state, _ in ends])
    leave_order(walk, shape, before, [end for _, end in ends], arms)


def _require(op: ops.For, part: str, wrong: list[int]) -> None:
    if wrong:
        raise ClaimFails(op, part, wrong)


def check_bounds(walk: KernelWalk, op: ops.For, lo: Expr, hi: Expr) -> None:
    """Expressions were simplified with the variable's declared bounds, so the loop must stay within them."""
    var = op.var
    if any(v.name in ("lane", "wave") for v in lo.free() | hi.free()):
        walk.problems.append((op, f"the range of {var.name} must be the same for all threads"))
    limits = [E.TRUE if var.lo is None else lo.ge(var.lo), E.TRUE if var.hi is None else hi.le(var.hi + 1)]
    for limit in limits:
        if walk.prover.holds(walk.facts, limit) is not True:
            walk.problems.append((op, f"{var.name} may leave its stated bounds {var.lo}..{var.hi}"))


def skip(walk: KernelWalk, op: ops.For, start: State) -> None:
    """The loop does not run."""
    walk.values.update(zip(op.outs, start[:-1], strict=True))
    walk.order = replace(walk.order, pending=walk.order.pending.carried(op.inits, op.outs))


def walk_round(walk: KernelWalk, shape: LoopShape, head: State, order: AccessOrder) -> list[tuple[State, AccessOrder]]:
    """Execute the iterations of one round from `head`; the state after each of them."""
    facts, loops, rename = walk.facts, walk.loops, dict(walk.rename)
    walk.memory.tags, walk.order = head[-1], order
    carried = head[:-1]
    ends: list[tuple[State, AccessOrder]] = []
    for r in range(shape.period):
        walk.facts = (*walk.facts, *(f for f in shape.facts(r) if f not in walk.facts))
        walk.loops = (*loops, (shape.op.var, shape.value(r)))
        if shape.period > 1:
            walk.rename = {**rename, shape.op.var: shape.value(r)}
        walk.values.update(zip(shape.op.args, (walk.prune(t) for t in carried), strict=True))
        walk.memory.tags = walk.prune(walk.memory.tags)
        walk.body(shape.op)
        carried = walk.yielded(shape.op, carried)
        ends.append(([*carried, walk.memory.tags], walk.order))
        if r + 1 < shape.period:
            walk.order = replace(walk.order, pending=walk.order.pending.carried(shape.op.yields, shape.op.args))
    walk.facts, walk.loops, walk.rename = facts, loops, rename
    return ends


# -- guards and names --------------------------------------------------------------------------------------------------


def uncovered(walk: KernelWalk, shape: LoopShape, head: State) -> list[int]:
    """Slots of which some execution at the head has no alternative."""
    facts = (*walk.facts, *shape.facts(0))
    wrong = []
    for n, tags in enumerate(head):
        guards = [case.guard for case in tags.cases]
        if E.TRUE not in guards and walk.prover.holds(facts, E.lor(*guards)) is not True:
            wrong.append(n)
    return wrong


def misnamed(walk: KernelWalk, shape: LoopShape, head: State) -> list[int]:
    """Slots that use a name of this loop that its slot does not have. Names of other loops are noted: those loops have
    to show them (`KernelWalk.finish`)."""
    here, around = names(walk.tables, shape, head), tuple(value for _, value in walk.loops)
    wrong = []
    for n, tags in enumerate(head):
        for atom in _atoms(walk.tables, tags):
            if not isinstance(atom, Carried):
                continue
            if atom.loop != shape.op.id:
                walk.names_used.add((atom.loop, atom.slot, atom.axes, atom.kind))
            elif (
                atom.slot not in here
                or replace(atom, counter=shape.counter) != here[atom.slot]
                or atom.around != around
            ):
                wrong.append(n)
    return sorted(set(wrong))


def _atoms(tables: Tables, tags: Tags) -> set[Atom]:
    terms = {tables[n].term for case in tags.cases for n in distinct(case.record)}
    return {atom for term in terms for atom in tables.terms.inside(term)}


# -- base and step -----------------------------------------------------------------------------------------------------


def base_fails(
    walk: KernelWalk, shape: LoopShape, start: State, head: State, slots: Iterable[int] | None = None, runs: bool = True
) -> list[int]:
    """Slots whose claim, at the counter's first value, does not follow from the state before the loop; without `runs`,
    there may be no first iteration."""
    facts = (*walk.facts, *(f.subst(shape.start) for f in shape.facts(0) if runs))
    tables, meaning, wrong = walk.tables, dict[Atom, int](), set[int]()
    for n, name in names(tables, shape, head).items():
        if name_holds(tables, name, start[n], at_first=True):
            meaning[replace(name, counter=shape.first)] = only_term(tables, start[n])
        else:
            wrong.add(n)
    for n in range(len(head)) if slots is None else slots:
        target = translate(head[n], tables, shape.start).each(lambda c: named(tables, c, meaning))
        if not all(_follows(walk, facts, x, y) for x in target.cases for y in start[n].cases):
            wrong.add(n)
    return sorted(wrong)


def step_fails(
    walk: KernelWalk, shape: LoopShape, head: State, out: State, slots: Iterable[int] | None = None, last: bool = False
) -> list[int]:
    """Slots whose state after an iteration is not the claim for the next one; with `last`, there may be no next one."""
    again = () if last else tuple(f.subst(shape.next) for f in shape.facts(0))
    facts = (*walk.facts, *shape.facts(0), *(shape.facts(shape.period - 1)), *again)
    tables, meaning = walk.tables, dict[Atom, int]()
    wrong = []
    for n, name in names(tables, shape, head).items():
        if name_holds(tables, name, out[n], at_first=False):
            meaning[replace(name, counter=shape.counter + shape.stride)] = only_term(tables, out[n])
    for n in range(len(head)) if slots is None else slots:
        target = translate(head[n], tables, shape.next).each(lambda c: named(tables, c, meaning))
        made = [after_iteration(tables, shape, y) for y in out[n].cases]
        if not all(_follows(walk, facts, x, y) for x in target.cases for y in made):
            wrong.append(n)
    return wrong


def _follows(walk: KernelWalk, facts: tuple[Expr, ...], claimed: Case, made: Case) -> bool:
    """Where both alternatives hold, what was made is what is claimed."""
    if accepts(walk.tables, claimed, made):
        return True
    return walk.prover.possible((*facts, E.land(claimed.guard, made.guard))) is False


def accepts(tables: Tables, claimed: Case, made: Case) -> bool:
    """Element by element, what is claimed says nothing but what is true of what was made."""
    same_places = alike(claimed.offset, made.offset)
    if same_places and alike(claimed.record, made.record):
        return True
    vague = tables.terms_of(claimed.record) == UNKNOWN
    if same_places and np.array_equal(claimed.record, np.where(vague, bare(tables, made).record, made.record)):
        return True
    there = (claimed.offset == made.offset).all(axis=-1).reshape(-1)
    pairs = np.stack([claimed.record.reshape(-1), made.record.reshape(-1), there.astype(np.int32)], axis=-1)
    return all(_allowed(tables[int(x)], tables[int(y)], bool(s)) for x, y, s in distinct_rows(pairs)[0])


def _allowed(claimed: Record, made: Record, same_places: bool) -> bool:
    if claimed.kind == "lost":
        return True
    if same_places and claimed == (replace(made, term=UNKNOWN) if claimed.term == UNKNOWN else made):
        return True
    if claimed.kind != "value" or claimed.part != (0, 1) or claimed.expr is not None:
        return False
    if made.kind not in ("zero", "plain") or made.part != (0, 1) or made.label:
        return False
    return claimed.term in (UNKNOWN, made.term)


def claims_fail(walk: KernelWalk, shape: LoopShape, start: State, head: State, out: State) -> list[int]:
    """Slots whose name, or a claim that they are not -inf, is not shown."""
    tables, terms, op = walk.tables, walk.tables.terms, shape.op.id
    here, wrong = names(tables, shape, head), set[int]()
    for n, name in here.items():
        if not name_holds(tables, name, out[n], at_first=False):
            wrong.add(n)
        walk.names_shown.add((op, n, name.axes, name.kind))
    for n in (n for loop, n in walk.never if loop == op):
        ends = [] if n not in here else [only_term(tables, state[n]) for state in (start, out)]
        if not ends or not all(never_low(terms, term, frozenset(walk.never)) for term in ends):
            wrong.add(n)
    for n in (n for loop, n in walk.settled if loop == op):
        if n not in here or not _settles(walk, shape, out[n]):
            wrong.add(n)
    return sorted(wrong)


def _settles(walk: KernelWalk, shape: LoopShape, left: Tags) -> bool:
    """What an iteration leaves is not -inf, if what arrived was not or this is the first iteration."""
    facts = walk.facts
    walk.facts = (*facts, *shape.facts(0), *shape.facts(shape.period - 1))
    try:
        for case in left.cases:
            for number in distinct(case.record):
                atom = walk.tables.terms.as_atom(walk.tables[number].term)
                if atom is None or not not_minus_infinity(walk.tables.terms, atom, walk.standing(case, number)):
                    return False
        return True
    finally:
        walk.facts = facts


# -- exit --------------------------------------------------------------------------------------------------------------


def leave(walk: KernelWalk, shape: LoopShape, start: State, head: State, ends: list[State]) -> None:
    """State after the loop: untouched if it did not run, else what its last iteration left. Where both are said by the
    form it has at the head of every iteration, it is that at the head of the one that is not done any more."""
    trips = shape.trips
    options: list[tuple[Expr, State]] = []
    closed = closed_maxima(walk.tables, shape, start, head, ends[-1])
    if walk.prover.possible((*walk.facts, trips.eq(0))) is not False:
        options.append((trips.eq(0), start))
    for r in range(shape.period):
        guard = E.land(trips.gt(0), (trips % shape.period).eq((r + 1) % shape.period))
        if walk.prover.possible((*walk.facts, guard)) is False:
            continue
        last = shape.lo + (trips - 1) * shape.op.step if shape.period == 1 else (trips - 1) // shape.period
        made = [t.each(lambda c: after_iteration(walk.tables, shape, named(walk.tables, c, closed))) for t in ends[r]]
        options.append((guard, [translate(t, walk.tables, {shape.counter: last}) for t in made]))
    final: State = []
    for n in range(len(start)):
        cases = [c.under(guard) for guard, state in options for c in state[n].cases]
        final.append(walk.prune(_alternatives(walk, shape, cases)))
    plain = shape.period == 1 and not any(_stands_for_itself(walk, tags) for tags in head)
    several = [n for n, t in enumerate(final) if plain and len(t.cases) > 1 and _has_one_form(walk, head[n])]
    if several:
        differ = {*base_fails(walk, shape, start, head, several, runs=False)}
        differ |= {*step_fails(walk, shape, head, ends[-1], several, last=True)}
        for n in several:
            if n not in differ:
                final[n] = translate(head[n], walk.tables, {shape.counter: shape.lo + trips * shape.op.step})
    walk.values.update(zip(shape.op.outs, final[:-1], strict=True))
    walk.memory.tags = final[-1]


def leave_order(
    walk: KernelWalk, shape: LoopShape, before: AccessOrder, ends: list[AccessOrder], arms: list[int]
) -> None:
    """What is not ordered after the loop: what was before, if it may not run, and what an iteration left. Its variable
    is then some value that it had; so it is for accesses noted in the arms of branches around (from `arms` on)."""
    op = shape.op
    walk.loops_left += 1
    number = walk.loops_left
    left = [
        replace(end.with_live(after_loop(x, shape, number) for x in end.live.values()), pending=end.pending)
        for end in (replace(end, pending=end.pending.carried(op.yields, op.outs)) for end in ends)
    ]
    if walk.prover.possible((*walk.facts, shape.trips.eq(0))) is not False:
        left.append(replace(before, pending=before.pending.carried(op.inits, op.outs)))
    walk.order = reduce(AccessOrder.join, left)
    for arm, start in zip(walk.arms, arms, strict=True):
        arm[start:] = [after_loop(x, shape, number) for x in arm[start:]]


def _alternatives(walk: KernelWalk, shape: LoopShape, cases: list[Case]) -> Tags:
    """The cases as one value, equal ones merged; nothing is known where there are too many."""
    if len(cases) > MAX_CASES or any(unwieldy(c.guard) for c in cases):
        why = "too many alternatives after a loop"
        return uniform(cases[0].record.shape, walk.tables.lost(why, shape.op.id), walk.tables.width)
    return merge(Tags(tuple(cases)))


def _has_one_form(walk: KernelWalk, claimed: Tags) -> bool:
    """What the slot holds is said by one expression for all iterations, the first included."""
    if len(claimed.cases) != 1 or claimed.cases[0].guard is not E.TRUE:
        return False
    return all(walk.tables[number].kind in ("element", "value") for number in distinct(claimed.cases[0].record))


def _stands_for_itself(walk: KernelWalk, claimed: Tags) -> bool:
    """Something in the slot is known by its name only: a running maximum, or what is relative to it."""
    return any(isinstance(atom, Carried) for atom in _atoms(walk.tables, claimed))

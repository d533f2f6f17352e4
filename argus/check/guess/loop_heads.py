"""Candidates for the state at the head of a loop, from what one iteration does to it.

`out` are the tags after one iteration that started from *incoming* marks. A slot (a carried value, or LDS) is

    left alone          its initial tags hold always
    written             {first: initial; later: what the iteration before wrote}, with the counter one step back
    moved               a mark of another slot: followed further back, iteration by iteration
    accumulated         products on top of its own mark: the initial sum plus that of all iterations so far

Nothing here has to be right: `invariant.induction` proves or rejects the candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from argus.check.domain.record_numbers import distinct, distinct_rows
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import MAX_CASES, Case, Tags, bare, each_record, merge, translate, uniform, unwieldy
from argus.check.guess.growth import Growth, accumulated_term, free_choice, gathered, growth, slots_in
from argus.check.guess.marks import mark
from argus.check.invariant.loop_shape import LoopShape
from argus.check.terms.atoms import UNKNOWN
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk

MAX_DEPTH = 6

State = list[Tags]
"""Tags of the carried values, then of LDS."""


def first_candidate(
    flow: KernelWalk, shape: LoopShape, start: State, out: State, slots: Iterable[int]
) -> dict[int, Tags]:
    grown = growth(flow.tables, shape, start, out, tuple(value for _, value in flow.loops))
    return {n: _slot_candidate(flow, grown, start, out, n) for n in slots}


def _inside(flow: KernelWalk, shape: LoopShape) -> tuple[Expr, ...]:
    return (*flow.facts, *shape.facts(0))


def _is_first(shape: LoopShape) -> Expr:
    return shape.counter.eq(shape.first)


def _is_later(shape: LoopShape) -> Expr:
    return shape.counter.gt(shape.first)


def _slot_candidate(flow: KernelWalk, grown: Growth, start: State, out: State, n: int) -> Tags:
    shape = grown.shape
    if distinct(out[n].cases[0].record) == [mark(flow.tables, n)] and _identity(flow, out[n], n).all():
        return start[n]
    first = [c.under(_is_first(shape)) for c in start[n].cases]
    later = _earlier(flow, shape, start, out, out[n], n, _is_later(shape), shape.previous, 0)
    both = _accumulated(flow, grown, start[n], out[n], n, [*first, *later])
    return tidy(flow, shape, both[: len(first)], both[len(first) :])


def _identity(flow: KernelWalk, tags: Tags, n: int) -> np.ndarray:
    """Positions that an iteration leaves alone on every path."""
    same = np.ones(tags.shape, dtype=bool)
    position = np.arange(int(np.prod(tags.shape))).reshape(tags.shape)
    for case in tags.cases:
        same &= (case.record == mark(flow.tables, n)) & (case.offset[..., 0] == position)
    return same


def _earlier(
    flow: KernelWalk,
    shape: LoopShape,
    start: State,
    out: State,
    tags: Tags,
    n: int,
    guard: Expr,
    back: dict[Expr, Expr | int],
    depth: int,
) -> list[Case]:
    """`tags` as written by the iteration that `back` leads to; incoming marks are followed further back."""
    result: list[Case] = []
    inside = _inside(flow, shape)
    for case in translate(tags, flow.tables, back).cases:
        condition = E.land(guard, case.guard)
        if flow.prover.possible((*inside, condition)) is False:
            continue
        marks = [m for m in distinct(case.record) if flow.tables[m].kind == "incoming"]
        if not marks:
            result.append(Case(condition, case.record, case.offset, case.site))
        elif depth >= MAX_DEPTH or len(result) > MAX_CASES:
            result.append(_without_marks(flow, case, condition, marks))
        else:
            result += _followed(flow, shape, start, out, case, condition, marks, back, depth)
    return result


def _without_marks(flow: KernelWalk, case: Case, condition: Expr, marks: list[int]) -> Case:
    lost = flow.tables.lost("it depends on a value carried through more iterations than are followed", -1)
    record = np.where(np.isin(case.record, marks), lost, case.record).astype(np.int32)
    return Case(condition, record, case.offset, case.site)


def _followed(
    flow: KernelWalk,
    shape: LoopShape,
    start: State,
    out: State,
    case: Case,
    condition: Expr,
    marks: list[int],
    back: dict[Expr, Expr | int],
    depth: int,
) -> list[Case]:
    """Replace incoming marks of a case by the state at the head of the iteration it came from."""
    counter = E.as_expr(back[shape.counter])
    fixed = _fill(flow, case, marks, _singles(start), only=lambda n: _identity(flow, out[n], n))
    if not any(flow.tables[m].kind == "incoming" for m in distinct(fixed.record)):
        return [Case(condition, fixed.record, fixed.offset, fixed.site)]
    result: list[Case] = []
    at_first = E.land(condition, counter.eq(shape.first))
    if flow.prover.possible((*_inside(flow, shape), at_first)) is not False:
        filled = _fill(flow, fixed, marks, _singles(start))
        left = [m for m in marks if (filled.record == m).any()]
        result.append(_without_marks(flow, filled, at_first, left))
    at_later = E.land(condition, counter.gt(shape.first))
    if flow.prover.possible((*_inside(flow, shape), at_later)) is not False:
        if any(len(t.cases) > 1 for t in (*start, *out)):
            result.append(_without_marks(flow, fixed, at_later, marks))
        else:
            filled = _fill(flow, fixed, marks, _singles(out), back)
            further: dict[Expr, Expr | int] = {shape.counter: counter - shape.stride}
            step = Tags((Case(E.TRUE, filled.record, filled.offset, filled.site),))
            result += _resolve_rest(flow, shape, start, out, step, at_later, further, depth + 1)
    return result


def _resolve_rest(
    flow: KernelWalk,
    shape: LoopShape,
    start: State,
    out: State,
    tags: Tags,
    guard: Expr,
    back: dict[Expr, Expr | int],
    depth: int,
) -> list[Case]:
    case = tags.cases[0]
    marks = [m for m in distinct(case.record) if flow.tables[m].kind == "incoming"]
    if not marks:
        return [Case(guard, case.record, case.offset, case.site)]
    if depth >= MAX_DEPTH:
        return [_without_marks(flow, case, guard, marks)]
    return _followed(flow, shape, start, out, case, guard, marks, back, depth)


def _singles(state: State) -> dict[int, Case]:
    """Slots with one alternative."""
    return {n: t.cases[0] for n, t in enumerate(state) if len(t.cases) == 1}


def _fill(
    flow: KernelWalk,
    case: Case,
    marks: list[int],
    sources: dict[int, Case],
    back: dict[Expr, Expr | int] | None = None,
    only: Callable[[int], np.ndarray] | None = None,
) -> Case:
    """Incoming marks replaced by the tags at the positions they name, where the slot is in `sources`; with `only`,
    where the position is one that no iteration changes."""
    record, offset, site = case.record.copy(), case.offset.copy(), case.site.copy()
    for number in marks:
        slot = int(flow.tables[number].label)
        here = case.record == number
        if slot not in sources or not here.any():
            continue
        source = sources[slot]
        if back is not None:
            source = translate(Tags((source,)), flow.tables, back).cases[0]
        position = case.offset[..., 0][here]
        if only is not None:
            steady = only(slot).reshape(-1)[position]
            here[here] = steady
            position = position[steady]
        record[here] = source.record.reshape(-1)[position]
        offset[here] = source.offset.reshape(-1, flow.tables.width)[position]
        site[here] = source.site.reshape(-1)[position]
    return Case(case.guard, record, offset, site)


def _accumulated(flow: KernelWalk, grown: Growth, start: Tags, out: Tags, n: int, cases: list[Case]) -> list[Case]:
    """What grows on top of what arrived becomes what all iterations so far have made of it."""
    if len(out.cases) != 1 or len(start.cases) != 1:
        return [_without_marks_inside(flow, c) for c in cases]
    made = out.cases[0]
    initial = start.cases[0]
    grows = np.zeros(made.record.shape, dtype=bool)
    record, offset = made.record.copy(), made.offset
    for number in distinct(made.record):
        one = flow.tables[number]
        if one.kind != "value" or n not in _rooted(flow, one):
            continue
        for here, grown_one, axis in _walked(flow, grown, n, one, made.record == number, made):
            for below in distinct(initial.record[here]):
                total = _total(flow.tables, grown, n, flow.tables[below], grown_one)
                if total is not None:
                    chosen = here & (initial.record == below)
                    record[chosen] = flow.tables.intern(total)
                    if axis is not None:
                        offset = offset.copy() if offset is made.offset else offset
                        offset[chosen, axis] = 0
                    grows |= chosen
    if not grows.any():
        return [_without_marks_inside(flow, c) for c in cases]

    everywhere = bool(grows.all())

    def patch(case: Case) -> Case:
        if everywhere:
            return _without_marks_inside(flow, Case(case.guard, record, offset, case.site))
        new = np.where(grows, record, case.record).astype(np.int32)
        there = np.where(grows[..., None], offset, case.offset).astype(np.int32)
        return _without_marks_inside(flow, Case(case.guard, new, there, case.site))

    return [patch(c) for c in cases]


def _walked(
    flow: KernelWalk, grown: Growth, n: int, one: Record, here: np.ndarray, made: Case
) -> list[tuple[np.ndarray, Record, int | None]]:
    """The elements with this record; those that move along an axis from iteration to iteration by their offset."""
    tables = flow.tables
    counter = grown.shape.counter
    moving = [a for a, rest in enumerate(one.rests) if rest >= 0 and counter in tables.rests[rest].free()]
    if len(moving) != 1:
        return [(here, one, None)]
    axis = moving[0]
    found: list[tuple[np.ndarray, Record, int | None]] = []
    for value in np.unique(made.offset[..., axis][here]):
        gathering = gathered(tables, n, one, axis, int(value))
        if gathering is None:
            return [(here, one, None)]
        found.append((here & (made.offset[..., axis] == value), gathering, axis))
    return found


def _rooted(flow: KernelWalk, one: Record) -> set[int]:
    """Slots that what arrived in is still part of."""
    return slots_in(flow.tables.terms, one.term)


def _total(tables: Tables, grown: Growth, n: int, below: Record, one: Record) -> Record | None:
    shape = grown.shape
    if any(rest >= 0 and shape.counter in tables.rests[rest].free() for rest in one.rests):
        return None
    term = accumulated_term(tables, grown, n, one, below)
    fits = below.kind in ("zero", "plain") or (below.kind == "value" and below.rests == one.rests)
    return replace(one, term=term) if fits and term != UNKNOWN else None


def _without_marks_inside(flow: KernelWalk, case: Case) -> Case:
    """Terms that still stand on what arrived are not known."""

    def change(one: Record) -> Record:
        return replace(one, term=UNKNOWN) if one.kind != "incoming" and slots_in(flow.tables.terms, one.term) else one

    return each_record(flow.tables, case, change)


def tidy(flow: KernelWalk, shape: LoopShape, first: list[Case], later: list[Case]) -> Tags:
    """The alternatives with equal ones merged. Where the first iteration's tag is the later ones' at that iteration,
    element by element, it is written in their form, so that the two can be merged."""
    if len(first) + len(later) > MAX_CASES or any(unwieldy(c.guard) for c in (*first, *later)):
        why = "too many alternatives at the head of a loop"
        return uniform((first + later)[0].record.shape, flow.tables.lost(why, shape.op.id), flow.tables.width)
    if all(case.same_tags(other) for case in first for other in later):
        return merge(Tags((*first, *later)))
    start: dict[Expr, Expr | int] = {shape.counter: shape.first}
    later = [_vague(flow, shape, first, other) for other in later]
    adapted = []
    for case in first:
        for other in later:
            there = translate(Tags((other,)), flow.tables, start).cases[0]
            vague = flow.tables.terms_of(there.record) == UNKNOWN
            same = there.record == np.where(vague, bare(flow.tables, case).record, case.record)
            same &= (there.offset == case.offset).all(axis=-1)
            same |= _belongs_anywhere(flow, case, other)
            record = np.where(same, other.record, case.record).astype(np.int32)
            offset = np.where(same[..., None], other.offset, case.offset).astype(np.int32)
            case = Case(case.guard, record, offset, case.site)
        adapted.append(case)
    return merge(Tags((*adapted, *later)))


def _belongs_anywhere(flow: KernelWalk, case: Case, other: Case) -> np.ndarray:
    """A constant belongs to whatever coordinates a later value of its slot has."""
    constants = [n for n in distinct(case.record) if flow.tables[n].kind in ("plain", "zero")]
    numbers = distinct(other.record)
    general = [n for n in numbers if flow.tables[n].kind == "value"]
    return np.isin(case.record, constants) & np.isin(other.record, general)


def _vague(flow: KernelWalk, shape: LoopShape, first: list[Case], later: Case) -> Case:
    """Where the slot starts with something else than the later term gives, the term is forgotten."""
    record = later.record
    start: dict[Expr, Expr | int] = {shape.counter: shape.first}
    there = translate(Tags((later,)), flow.tables, start).cases[0]
    for case in first:
        alike = bare(flow.tables, there).record == bare(flow.tables, case).record
        alike &= (there.offset == case.offset).all(axis=-1)
        alike &= (there.record != case.record) & (later.record != case.record)
        record = np.where(alike, bare(flow.tables, later).record, record).astype(np.int32)
        anywhere = _belongs_anywhere(flow, case, later)
        if not anywhere.any():
            continue
        pairs = np.stack([case.record[anywhere], later.record[anywhere]], axis=-1)
        for x, y in distinct_rows(pairs)[0]:
            if not free_choice(flow.tables, shape, flow.tables[int(y)], flow.tables[int(x)]):
                empty = flow.tables.intern(replace(flow.tables[int(y)], term=UNKNOWN))
                record = np.where(anywhere & (later.record == y), empty, record).astype(np.int32)
    return Case(later.guard, record, later.offset, later.site)


def next_candidate(
    flow: KernelWalk, shape: LoopShape, start: State, out: State, slots: Iterable[int]
) -> dict[int, Tags]:
    result: dict[int, Tags] = {}
    inside = _inside(flow, shape)
    for n in slots:
        before, after = start[n], out[n]
        first = [c.under(_is_first(shape)) for c in before.cases]
        later = []
        for case in translate(after, flow.tables, shape.previous).cases:
            condition = E.land(_is_later(shape), case.guard)
            if flow.prover.possible((*inside, condition)) is not False:
                later.append(Case(condition, case.record, case.offset, case.site))
        result[n] = tidy(flow, shape, first, later)
    return result

"""Work that a branch does only where it makes a difference.

    if BC * (j + 2) > clear:  s = where(s.Sk <= last, s, -inf)

A wave whose rows all see these keys skips the mask. Where the condition is false the mask holds for every element the
wave has, so the value after the branch is the masked one on both ways. So is a product whose factor is one wherever it
is left out (`_by_one`). `same_where_skipped` shows that: the two sides
have the same coordinates, and the one that did the work becomes the other when masks that hold wherever the branch was
skipped are dropped. The number of the wave stays a variable where coordinates move evenly from wave to wave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from argus.check.domain.record_numbers import distinct, distinct_rows
from argus.check.domain.records import ABSENT, REDUCED, Tables
from argus.check.domain.tags import Case, Tags, each_record
from argus.check.terms.atoms import ONE, UNKNOWN, ZERO, Apply, Atom, Reduce, Where, own
from argus.check.transfer.memory_accesses import own_conditions
from argus.ir.kernel import LANE, wave_variable
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk


def same_where_skipped(flow: KernelWalk, done: Tags, skipped: Tags, condition: Expr) -> Tags | None:
    """What is left by both ways, if skipping makes no difference; None when that is not known."""
    if len(done.cases) != len(skipped.cases):
        return None
    condition = _with_data(flow, condition)
    if condition.free() & flow.threads.symbols.keys():
        return _by_one(flow, done, skipped, condition)
    if LANE in condition.free():
        return None
    for x, y in zip(done.cases, skipped.cases, strict=True):
        if x.guard is not y.guard or not _alike(flow, x, y) or not _equal(flow, x, y, E.lnot(condition)):
            return None
    return done


def _with_data(flow: KernelWalk, condition: Expr) -> Expr:
    """The condition with symbols that stand for one number in all threads replaced by it."""
    shared = {}
    for symbol in condition.free() & flow.threads.symbols.keys():
        held = flow.threads.symbols[symbol]
        if all(e is held.flat[0] for e in held.flat):
            shared[symbol] = held.flat[0]
    return condition.subst(shared) if shared else condition


def _by_one(flow: KernelWalk, done: Tags, skipped: Tags, condition: Expr) -> Tags | None:
    """`if where(keep != 1, 1, 0) == 1: o = o * keep`: the factor is one where it is left out."""
    symbol = next(iter(condition.free()))
    symbol_data = flow.symbol_data.get(symbol)
    if condition.free() != {symbol} or symbol_data is None:
        return None
    if condition.subst({symbol: 0}) is not E.FALSE or condition.subst({symbol: 1}) is not E.TRUE:
        return None
    for x, y in zip(done.cases, skipped.cases, strict=True):
        cases = [case for case in symbol_data.cases if len(symbol_data.cases) == 1 or case.guard is x.guard]
        numbers = distinct(cases[0].record) if cases else []
        factor = _other_than_one(flow, numbers[0]) if len(numbers) == 1 else None
        if factor is None or x.guard is not y.guard:
            return None
        if not _scaled(flow, x, y, factor) or not _same_row(flow, x, cases[0], factor):
            return None
    return done


def _other_than_one(flow: KernelWalk, number: int) -> int | None:
    """k, of data that is 1 where k is not one, else 0."""
    terms, term = flow.tables.terms, flow.tables[number].term
    if term == ZERO:
        return ONE
    chosen = terms.as_atom(term)
    if not (isinstance(chosen, Apply) and chosen.fn == "select" and chosen.args[1:] == (ONE, ZERO)):
        return None
    test = terms.as_atom(chosen.args[0])
    return test.args[0] if isinstance(test, Apply) and test.fn == "ne" and test.args[1] == ONE else None


def _scaled(flow: KernelWalk, x: Case, y: Case, factor: int) -> bool:
    """Every element of x is that of y times the factor."""
    tables = flow.tables
    pairs, _, _ = distinct_rows(np.stack([x.record.reshape(-1), y.record.reshape(-1)], axis=-1))
    for a, b in pairs:
        if a == b == Tables.ZERO:
            continue
        one, other = tables[int(a)], tables[int(b)]
        known = UNKNOWN not in (one.term, other.term)
        if not known or one.term != tables.terms.multiply(other.term, factor) or one.kind != "value":
            return False
        pairs_of_rests = zip(one.rests, other.rests, strict=True)
        if other.kind != "incoming" and not all(r == s or (r, s) == (REDUCED, ABSENT) for r, s in pairs_of_rests):
            return False
    position = np.arange(y.record.size).reshape(y.record.shape)
    arrived = np.isin(y.record, [n for n in distinct(y.record) if tables[n].kind == "incoming"])
    in_place = (y.offset[..., 0] == position) | ~arrived
    return bool(in_place.all() and ((x.offset == y.offset).all(axis=-1) | arrived).all())


def _same_row(flow: KernelWalk, x: Case, symbol_data: Case, factor: int) -> bool:
    """In every thread the factor belongs to the elements' own coordinates."""
    axes = sorted(flow.tables.terms.axes(factor))
    zero = x.record == Tables.ZERO
    mine, its = flow.tables.rests_of(x.record)[..., axes], flow.tables.rests_of(symbol_data.record)[..., :1, axes]
    same = (mine == its) & (mine >= 0) & (x.offset[..., axes] == symbol_data.offset[..., :1, axes])
    return bool((same.all(axis=-1) | zero).all())


def without_difference(flow: KernelWalk, x: Case, y: Case, condition: Expr | None) -> Case | None:
    """The coordinates, where both sides agree on them. What they are worth is one or the other by the condition of the
    branch, where that is one on these coordinates, else forgotten where it differs."""
    chosen = None if condition is None else _chosen(flow, x, y, condition)
    if chosen is not None or not _alike(flow, x, y):
        return chosen
    differ = x.record != y.record
    vague = each_record(flow.tables, x, lambda r: replace(r, term=UNKNOWN))
    return Case(x.guard, np.where(differ, vague.record, x.record).astype(np.int32), x.offset, x.site)


def _chosen(flow: KernelWalk, x: Case, y: Case, condition: Expr) -> Case | None:
    """One or the other, by a condition on the coordinates that both have."""
    numbers = distinct(x.record), distinct(y.record)
    if not len(numbers[0]) == len(numbers[1]) == 1 or not np.array_equal(x.offset, y.offset):
        return None
    sides = flow.tables[numbers[0][0]], flow.tables[numbers[1][0]]
    plain = all(r.kind in ("element", "value") and r.part == (0, 1) and r.expr is None for r in sides)
    held = own_conditions(flow, condition, x) if plain and sides[0].rests == sides[1].rests else None
    if held is None:
        return None
    term = flow.tables.terms.where(held, sides[0].term, sides[1].term)
    either = replace(sides[0], kind="value", label="", term=term)
    return each_record(flow.tables, x, lambda _: replace(either, statistics=sides[0].statistics | sides[1].statistics))


def _alike(flow: KernelWalk, x: Case, y: Case) -> bool:
    if not np.array_equal(x.offset, y.offset):
        return False
    pairs, _, _ = distinct_rows(np.stack([x.record.reshape(-1), y.record.reshape(-1)], axis=-1))
    for a, b in pairs:
        one, other = flow.tables[int(a)], flow.tables[int(b)]
        if a != b and (one.kind != "value" or other.kind != "value" or one.rests != other.rests):
            return False
    return True


def _equal(flow: KernelWalk, x: Case, y: Case, skipped: Expr) -> bool:
    terms = flow.tables.terms
    for number in distinct(x.record):
        here = x.record == number
        others = {flow.tables[n].term for n in distinct(y.record[here])}
        mine = flow.tables[number].term
        if others == {mine}:
            continue
        if UNKNOWN in (mine, *others) or len(others) != 1:
            return False
        facts = (*flow.facts, x.guard, skipped, *_ranges(flow, x, number, here))
        if terms.rewritten(mine, _dropping(flow, facts), {}) != others.pop():
            return False
    return True


def _dropping(flow: KernelWalk, facts: tuple[Expr, ...]) -> Callable[[Atom], int | None]:
    """Masks that hold are dropped. Inside a reduction its own coordinate is any, whatever the element's own is."""
    terms = flow.tables.terms

    def dropped(atom: Atom) -> int | None:
        if isinstance(atom, Where) and flow.prover.holds(facts, atom.condition) is True:
            return terms.rewritten(atom.yes, dropped, {})
        if isinstance(atom, Reduce):
            outside = tuple(fact for fact in facts if own(atom.axis) not in fact.free())
            if len(outside) < len(facts):
                body = terms.rewritten(atom.body, _dropping(flow, outside), {})
                return terms.reduce(atom.op, atom.axis, body, atom.footprint, atom.domain)
        return None

    return dropped


def _ranges(flow: KernelWalk, case: Case, number: int, here: np.ndarray) -> list[Expr]:
    """Where the elements with this record stand, as the wave's own range where it moves evenly with the wave."""
    wave = wave_variable(len(here))
    waves = [w for w in range(len(here)) if here[w].any()]
    facts: list[Expr] = []
    for axis, rest in enumerate(flow.tables[number].rests):
        if rest < 0:
            continue
        start = flow.tables.rests[rest]
        ends = np.array([[f(case.offset[w][..., axis][here[w]]) for f in (np.min, np.max)] for w in waves])
        step = int(ends[1][0] - ends[0][0]) if len(waves) > 1 else 0
        even = waves == list(range(len(here))) and (ends == ends[0] + step * np.arange(len(waves))[:, None]).all()
        if even:
            low, high = start + int(ends[0][0]) + step * wave, start + int(ends[0][1]) + step * wave
        else:
            low, high = start + int(ends[:, 0].min()), start + int(ends[:, 1].max())
        facts += [own(axis).ge(low), own(axis).le(high)]
    return facts

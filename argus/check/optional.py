"""Work that a branch does only where it makes a difference.

    if BC * (j + 2) > clear:  s = where(s.Sk <= last, s, -inf)

A wave whose rows all see these keys skips the mask. Where the condition is false the mask holds for every element the
wave has, so the value after the branch is the masked one on both ways. `same_where_skipped` shows that: the two sides
have the same coordinates, and the one that did the work becomes the other when masks that hold wherever the branch was
skipped are dropped. The number of the wave stays a variable where coordinates move evenly from wave to wave.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from argus.check.carried import each_record
from argus.check.relabel import distinct
from argus.check.tags import Case, Tags
from argus.check.terms import UNKNOWN, Atom, Where, own
from argus.ir.kernel import LANE, wave_variable
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.flow import Flow


def same_where_skipped(flow: Flow, done: Tags, skipped: Tags, condition: Expr) -> Tags | None:
    """What is left by both ways, if skipping makes no difference; None when that is not known."""
    if condition.free() & {LANE, *flow.threads.symbols} or len(done.cases) != len(skipped.cases):
        return None
    for x, y in zip(done.cases, skipped.cases, strict=True):
        if x.guard is not y.guard or not _alike(flow, x, y) or not _equal(flow, x, y, E.lnot(condition)):
            return None
    return done


def without_difference(flow: Flow, x: Case, y: Case) -> Case | None:
    """The coordinates, where both sides agree on them; what they are worth is forgotten where it differs."""
    if not _alike(flow, x, y):
        return None
    differ = x.record != y.record
    vague = each_record(flow.tables, x, lambda r: replace(r, term=UNKNOWN, sums=None))
    return Case(x.guard, np.where(differ, vague.record, x.record).astype(np.int32), x.offset, x.site)


def _alike(flow: Flow, x: Case, y: Case) -> bool:
    if not np.array_equal(x.offset, y.offset):
        return False
    pairs = np.unique(np.stack([x.record.reshape(-1), y.record.reshape(-1)], axis=-1), axis=0)
    for a, b in pairs:
        one, other = flow.tables[int(a)], flow.tables[int(b)]
        if a != b and (one.kind != "value" or other.kind != "value" or one.rests != other.rests):
            return False
    return True


def _equal(flow: Flow, x: Case, y: Case, skipped: Expr) -> bool:
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

        def dropped(atom: Atom, facts: tuple[Expr, ...] = facts) -> int | None:
            if isinstance(atom, Where) and flow.prover.holds(facts, atom.condition) is True:
                return terms.rewritten(atom.yes, dropped, {})
            return None

        if terms.rewritten(mine, dropped, {}) != others.pop():
            return False
    return True


def _ranges(flow: Flow, case: Case, number: int, here: np.ndarray) -> list[Expr]:
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

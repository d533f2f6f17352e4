"""Tags of whole values: guarded alternatives, each an array of record numbers and offsets.

    Tags = [(guard, record[...], offset[..., axis], site[...]), ...]

For a register value the arrays have the shape (wave, lane, element); for LDS one entry per granule. Guards are boolean
expressions over sizes, blocks and loop variables; on every execution exactly one of them holds. `site` packs who put
the element into LDS (op * 2**16 + thread), for reports; -1 where nobody did.

Most values have one alternative with the guard TRUE. `if kt + 1 < n: r = load(kt + 1)` makes two, and the path
condition at the next use usually removes one again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct, filled, is_filled, relabelled
from argus.check.domain.records import Record, Tables
from argus.check.terms.atoms import UNKNOWN
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_CASES = 8
MAX_GUARD = 40
"""Parts of a guard beyond which alternatives are given up: they are no longer telling cases apart but histories."""
SITE_SHIFT = 16

Records = NDArray[np.int32]
Offsets = NDArray[np.int32]
Sites = NDArray[np.int64]


def alike(x: NDArray[np.int32], y: NDArray[np.int32]) -> bool:
    """Equal arrays; often they are the same object."""
    return x is y or np.array_equal(x, y)


@dataclass(slots=True, eq=False)
class Case:
    """One alternative: under `guard`, element i has tag (record[i], offset[i])."""

    guard: Expr
    record: Records
    offset: Offsets
    site: Sites
    content: object = field(default=None, repr=False)
    """What `matrix_product` found out about it as an operand."""
    picks: dict[tuple[int, ...], Case] | None = field(default=None, repr=False)
    """Registers taken out of it so far."""

    def columns(self, which: tuple[int, ...]) -> Case:
        """These registers of a value, made once."""
        if self.picks is None:
            self.picks = {}
        if which not in self.picks:
            index = list(which)
            record = self.record[:, :, index]
            if is_filled(self.record):
                record = filled(record.shape, int(self.record.flat[0]))
            self.picks[which] = Case(self.guard, record, self.offset[:, :, index], self.site[:, :, index])
        return self.picks[which]

    def under(self, guard: Expr) -> Case:
        return Case(both(self.guard, guard), self.record, self.offset, self.site)

    def same_tags(self, other: Case) -> bool:
        return alike(self.record, other.record) and alike(self.offset, other.offset)


@dataclass(slots=True, eq=False)
class Tags:
    """Alternatives whose guards are exclusive and together cover every execution that gets here."""

    cases: tuple[Case, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cases[0].record.shape

    def each(self, change: Callable[[Case], Case]) -> Tags:
        return Tags(tuple(change(c) for c in self.cases))

    def gather(self, index: tuple[NDArray[np.int64] | slice, ...]) -> Tags:
        return self.each(lambda c: Case(c.guard, c.record[index], c.offset[index], c.site[index]))


def uniform(shape: tuple[int, ...], record: int, width: int) -> Tags:
    """Every element has the same record and no offset."""
    return Tags(
        (
            Case(
                E.TRUE,
                np.full(shape, record, dtype=np.int32),
                np.zeros((*shape, width), dtype=np.int32),
                np.full(shape, -1, dtype=np.int64),
            ),
        )
    )


def translate(tags: Tags, tables: Tables, mapping: Mapping[Expr, Expr | int]) -> Tags:
    """The tags with variables replaced everywhere: in guards, coordinates and sums."""

    def change(case: Case) -> Case:
        replaced = {n: tables.substituted(n, mapping) for n in distinct(case.record)}
        record = relabelled(case.record, {n: number for n, (number, _) in replaced.items()})
        offset = case.offset
        if any(any(shift) for _, shift in replaced.values()):
            shifts = np.zeros((max(replaced) + 1, tables.width), dtype=np.int32)
            for n, (_, shift) in replaced.items():
                shifts[n] = shift
            offset = offset + shifts[case.record]
        return Case(case.guard.subst(mapping), record, offset, case.site)

    return tags.each(change)


def each_record(tables: Tables, case: Case, change: Callable[[Record], Record]) -> Case:
    """The case with every record changed."""
    changed = relabelled(case.record, {n: tables.intern(change(tables[n])) for n in distinct(case.record)})
    return case if changed is case.record else Case(case.guard, changed, case.offset, case.site)


def bare(tables: Tables, case: Case) -> Case:
    """The same tags without their terms."""
    return each_record(tables, case, lambda r: r if r.term == UNKNOWN else replace(r, term=UNKNOWN))


def product(
    operands: Sequence[Tags], combine: Callable[[tuple[Case, ...]], Case], feasible: Callable[[Expr], bool]
) -> Tags | None:
    """`combine` on every combination of alternatives that can happen together; None when there are too many."""
    if all(len(tags.cases) == 1 and tags.cases[0].guard is E.TRUE for tags in operands):
        only = combine(tuple(tags.cases[0] for tags in operands))
        return Tags((only if only.guard is E.TRUE else Case(E.TRUE, only.record, only.offset, only.site),))
    chosen: list[tuple[Expr, tuple[Case, ...]]] = [(E.TRUE, ())]
    for tags in operands:
        several = len(tags.cases) > 1
        extended = []
        for guard, cases in chosen:
            for case in tags.cases:
                together = both(guard, case.guard)
                if not several or feasible(together):
                    extended.append((together, (*cases, case)))
        chosen = extended
        if len(chosen) > MAX_CASES or any(unwieldy(guard) for guard, _ in chosen):
            return None
    results = []
    for guard, cases in chosen:
        case = combine(cases)
        results.append(Case(guard, case.record, case.offset, case.site))
    return merge(Tags(tuple(results))) if results else None


@lru_cache(maxsize=4096)
def both(x: Expr, y: Expr) -> Expr:
    """Both guards hold; the same few meet again and again."""
    return E.land(x, y)


@lru_cache(maxsize=4096)
def _either(x: Expr, y: Expr) -> Expr:
    return E.lor(x, y)


@lru_cache(maxsize=4096)
def unwieldy(guard: Expr) -> bool:
    """The guard has more than MAX_GUARD parts, counted as written out."""
    return _parts(guard) > MAX_GUARD


def _parts(e: Expr) -> int:
    return 1 + sum(_parts(arg) for arg in e.args) if e.op in ("land", "lor", "not") else 1


def merge(tags: Tags) -> Tags:
    """Alternatives with equal tags become one."""
    kept: list[Case] = []
    for case in tags.cases:
        for n, other in enumerate(kept):
            if case.same_tags(other):
                kept[n] = Case(_either(other.guard, case.guard), other.record, other.offset, other.site)
                break
        else:
            kept.append(case)
    if len(kept) == 1:
        kept[0] = Case(E.TRUE, kept[0].record, kept[0].offset, kept[0].site)
    return Tags(tuple(kept))

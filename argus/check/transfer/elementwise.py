"""Tag transfer of elementwise functions.

An elementwise result belongs to every coordinate its operands agree on, or that only one of them has:

    s [Sq, Sk]  -  top [Sq]      ->  [Sq, Sk]        the statistic of a row applied to the row
    a [m=3]     +  b [m=4]       ->  m is a conflict  (kept as such: a later use of m is reported, not guessed)

Sums, maxima and minima of different coordinates are *reductions*: the result is a statistic over that axis, which may
be applied to elements of it again. Which elements went into it is part of its term. On axes the specification ties to
the output's indices nothing may be reduced: there it is a conflict. Zero and plain operands have no coordinates. What
elements are worth is computed alongside (`elementwise_terms`, `terms`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from argus.check.domain.record_numbers import distinct, distinct_rows, relabelled
from argus.check.domain.records import ABSENT, CONFLICT, REDUCED, Record, Tables
from argus.check.domain.reduction_footprint import one
from argus.check.domain.tags import Case
from argus.check.terms.atoms import UNKNOWN, ZERO
from argus.check.terms.comparisons import COMPARED
from argus.check.terms.elementwise_terms import (
    Standing,
    binary_term,
    reduction_of,
    unary_term,
)
from argus.check.transfer import computed_places, masks
from argus.check.transfer.shifted_places import brought
from argus.ir.maps import MAPS
from argus.layout import expr as E

_KEEPS_ZERO = frozenset(row.name for row in MAPS.values() if row.keeps_zero)
_REDUCTIONS = frozenset(row.name for row in MAPS.values() if row.reduces)
PIECE = "it was computed from a piece of an element"


def unary(fn: str, case: Case, tables: Tables, standing: Callable[[Case, int], Standing]) -> Case:
    """One operand: coordinates stay; zero stays zero where the function maps zero to zero."""
    changed = {n: tables.intern(_unary_record(fn, n, case, tables, standing)) for n in distinct(case.record)}
    return Case(case.guard, relabelled(case.record, changed), case.offset, case.site)


def _unary_record(
    fn: str, number: int, case: Case, tables: Tables, standing: Callable[[Case, int], Standing]
) -> Record:
    record = tables[number]
    if record.kind in ("lost", "unwritten"):
        return record
    if record.kind == "incoming":
        return record
    if record.part != (0, 1):
        return Record("lost", rests=tables.nowhere, why=PIECE)
    if record.label == "condition" and fn == "not" and record.expr is not None:
        return replace(record, expr=E.lnot(record.expr))
    term = unary_term(tables.terms, fn, record.term, lambda: standing(case, number))
    if record.kind == "zero":
        return record if fn in _KEEPS_ZERO else Record("plain", rests=tables.nowhere, term=term)
    if record.kind == "plain":
        return Record("plain", rests=tables.nowhere, term=term)
    return replace(record, kind="value", label="", term=term)


def several(fn: str, cases: tuple[Case, ...], tables: Tables) -> Case:
    """Two or three operands of equal shape."""
    if fn == "fma":
        return _pair("add", _pair("mul", cases[0], cases[1], tables), cases[2], tables, fused=True)
    if fn == "select":
        return masks.select(cases[0], cases[1:], _pair(fn, cases[1], cases[2], tables), tables)
    if fn in COMPARED or fn in ("and", "or"):
        found = masks.condition(fn, cases, tables)
        if found is not None:
            return found
    return _pair(fn, cases[0], cases[1], tables)


def _pair(fn: str, x: Case, y: Case, tables: Tables, fused: bool = False) -> Case:
    shape = x.record.shape
    rx = tables.rests_of(x.record)
    if tables.hints.shifted:
        y = brought(tables, y, rx, x.offset)
    ry = tables.rests_of(y.record)
    rests = _combined(fn, rx, ry, (rx == ry) & (x.offset == y.offset), tables)
    offset = np.where(rests < 0, 0, np.where(rests == rx, x.offset, y.offset)).astype(np.int32)
    columns = [x.record[..., None], y.record[..., None], rests]
    bound: list[int] = []
    if reduced_axes(fn, tables):
        footprint = (rests == REDUCED) & ((rx >= 0) | (ry >= 0))
        bound = [a for a in range(tables.width) if footprint[..., a].any()]
        for side in (x, y):
            columns += [np.where(footprint[..., a], side.offset[..., a], 0)[..., None] for a in bound]
    key = np.concatenate(columns, axis=-1)
    key = key.reshape(-1, key.shape[-1])
    if bool((key == key[0]).all()):
        found, inverse = key[:1], np.zeros(len(key), dtype=np.int64)
    else:
        found, _, inverse = distinct_rows(key)
    made = []
    first = 2 + tables.width
    second = first + len(bound)
    for n, k in enumerate(found.tolist()):  # numbers of Python: there are as many rows as lanes
        sides = tables[k[0]], tables[k[1]]
        after = tuple(k[2:first])
        where = k[first:second], k[second:]
        term = _term(fn, sides, after, bound, where, tables)
        if bound and fn == "add" and not _grows(sides, term, tables, fused):
            after = _side_by_side(sides, after, bound)
            term = _term(fn, sides, after, bound, where, tables)
            here = (inverse == n).reshape(shape)
            kept = np.where((rx == after) & here[..., None], x.offset, y.offset)
            offset = np.where(here[..., None], np.where(np.less(after, 0), 0, kept), offset).astype(np.int32)
        made.append(tables.intern(_joined(fn, *sides, after, term, tables)))
    record = np.array(made, dtype=np.int32)[inverse.reshape(-1)].reshape(shape)
    return Case(x.guard, record, offset, np.full(shape, -1, dtype=np.int64))


def _grows(sides: tuple[Record, Record], term: int, tables: Tables, fused: bool) -> bool:
    """The sum of elements at different coordinates is one reduction. Where that is not known: a plain sum is taken for
    one, the sum of a fused multiply-add for a statistic applied to an element."""
    if UNKNOWN in (term, sides[0].term, sides[1].term):
        return not fused
    return len(tables.terms[term]) < sum(len(tables.terms[side.term]) for side in sides)


def _side_by_side(sides: tuple[Record, Record], after: tuple[int, ...], bound: list[int]) -> tuple[int, ...]:
    """Rests of a sum of different things: a statistic is applied to the element; two elements, each at its coordinate,
    belong to neither."""
    result = list(after)
    for axis in bound:
        rests = [side.rests[axis] for side in sides]
        if min(rests) == REDUCED and max(rests) >= 0:
            result[axis] = max(rests)
    return tuple(result)


def _term(
    fn: str,
    sides: tuple[Record, Record],
    after: tuple[int, ...],
    bound: list[int],
    where: tuple[list[int], list[int]],
    tables: Tables,
) -> int:
    """What the result is worth: coordinates that are reduced over become part of the operands' terms."""
    if CONFLICT in after:
        return UNKNOWN
    terms = []
    for record, offsets in zip(sides, where, strict=True):
        term = record.term
        for axis, offset in zip(bound, offsets, strict=True):
            if record.rests[axis] >= 0 and after[axis] == REDUCED:
                items = one(tables.rests[record.rests[axis]], offset)
                term = computed_places.reduced(tables, reduction_of(fn), axis, term, items)
        terms.append(term)
    return binary_term(tables.terms, fn, terms[0], terms[1])


def reduced_axes(fn: str, tables: Tables) -> list[int]:
    """Axes whose coordinates the function may put together. A product does so only where the specification multiplies
    along an axis: anywhere else a product of different coordinates is a mistake in pairing."""
    if fn == "mul":
        return sorted(tables.hints.products - tables.tied)
    return [a for a in range(tables.width) if a not in tables.tied] if fn in _REDUCTIONS else []


def _combined(fn: str, rx: np.ndarray, ry: np.ndarray, agree: np.ndarray, tables: Tables) -> np.ndarray:
    """Rests of the result: kept where one side has none or both agree; otherwise a reduction or a conflict."""
    mixed = np.full(rx.shape, CONFLICT, dtype=np.int32)
    mixed[..., reduced_axes(fn, tables)] = REDUCED
    with_statistic = np.where(rx == REDUCED, ry, rx)  # a statistic of a row applied to its elements
    result = np.where((rx >= 0) & (ry >= 0), np.where(agree, rx, mixed), mixed)
    one_reduced = ((rx == REDUCED) & (ry >= 0)) | ((ry == REDUCED) & (rx >= 0))
    if fn in _REDUCTIONS:
        joined = mixed
    else:
        joined = np.where(mixed == REDUCED, mixed, with_statistic)
    result = np.where(one_reduced, joined, result)
    result = np.where((rx == REDUCED) & (ry == REDUCED), REDUCED, result)
    result = np.where((rx == CONFLICT) | (ry == CONFLICT), CONFLICT, result)
    result = np.where(rx == ABSENT, ry, np.where(ry == ABSENT, rx, result))
    return result.astype(np.int32)


def _joined(fn: str, x: Record, y: Record, numbers: tuple[int, ...], term: int, tables: Tables) -> Record:
    for side in (x, y):
        if side.kind == "lost":
            return side
        if side.kind == "unwritten":
            return Record("lost", rests=tables.nowhere, why="it was computed from LDS that was never written")
        if side.part != (0, 1):
            return Record("lost", rests=tables.nowhere, why=PIECE)
    if fn == "mul" and "zero" in (x.kind, y.kind) and term == ZERO:
        return tables[Tables.ZERO]
    reduced = frozenset(a for a, n in enumerate(numbers) if n == REDUCED)
    statistics = x.statistics | y.statistics | reduced
    if all(n == ABSENT for n in numbers) and not statistics:
        return Record("plain", rests=tables.nowhere, term=term)
    return Record("value", "", numbers, statistics=statistics, term=term)

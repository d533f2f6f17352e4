"""Masks: comparisons of index expressions, and selection by them.

An index expression as data is `expr` plus a finite part per thread, kept in the first column of the offsets. Comparing
it with a number gives a condition of the same form; `select` turns the condition into one on the own coordinates of
what is selected (`worth.at_own_coordinates`). Where that fails the selected value is UNKNOWN, not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from argus.check.domain.record_numbers import distinct, distinct_rows
from argus.check.domain.records import CONFLICT, Record, Tables
from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread
from argus.check.terms.atoms import UNKNOWN, Number
from argus.check.terms.comparisons import COMPARED
from argus.check.terms.elementwise_terms import at_own_coordinates, comparison
from argus.check.terms.vanishing_sums import masked_late
from argus.check.transfer.shifted_places import brought
from argus.layout import expr as E
from argus.layout.expr import Expr


def index(spread: Spread, count: int, tables: Tables) -> Tags:
    """An index expression as data, `count` times."""
    shape = (*spread.offsets.shape, count)
    offset = np.zeros((*shape, tables.width), dtype=np.int32)
    offset[..., 0] = spread.offsets[..., None]
    same = bool((spread.offsets == spread.offsets.flat[0]).all())
    record = np.empty(shape, dtype=np.int32)
    if spread.rest is not None:
        whole = spread.rest + int(spread.offsets.flat[0])
        constant = whole.value if whole.op == "const" else None
        term = UNKNOWN
        if same:
            term = tables.terms.atom(Number(whole)) if constant is None else tables.terms.constant(constant)
        record[...] = tables.intern(Record("plain", "index", tables.nowhere, term=term, expr=spread.rest))
    else:
        for w in range(shape[0]):
            for lane in range(shape[1]):
                one = Record("plain", "index", tables.nowhere, expr=spread.at(w, lane))
                record[w, lane] = tables.intern(one)
    return Tags((Case(E.TRUE, record, offset, np.full(shape, -1, dtype=np.int64)),))


def condition(fn: str, cases: tuple[Case, ...], tables: Tables) -> Case | None:
    """A comparison of an index with a number, or two conditions with the same finite part combined; else None."""
    x, y = cases
    swapped = fn in COMPARED and any(tables[int(n)].label == "index" for n in distinct(y.record))
    if swapped:
        x, y = y, x
    if fn not in COMPARED and not np.array_equal(x.offset[..., 0], y.offset[..., 0]):
        return None
    pairs, _, inverse = distinct_rows(np.stack([x.record, y.record], axis=-1).reshape(-1, 2))
    made = []
    for a, b in pairs:
        found = _condition(fn, tables[int(a)], tables[int(b)], swapped, tables)
        if found is None:
            return None
        made.append(tables.intern(Record("plain", "condition", tables.nowhere, expr=found)))
    record = np.array(made, dtype=np.int32)[inverse].reshape(x.record.shape)
    return Case(x.guard, record, x.offset, x.site)


def _condition(fn: str, a: Record, b: Record, swapped: bool, tables: Tables) -> Expr | None:
    if a.expr is None or a.part != (0, 1) or b.part != (0, 1):
        return None
    if fn in COMPARED:
        number = tables.terms.value(b.term)
        return None if number is None or a.label != "index" else comparison(fn, a.expr, number, swapped)
    if b.expr is None or a.label != "condition" or b.label != "condition":
        return None
    return E.land(a.expr, b.expr) if fn == "and" else E.lor(a.expr, b.expr)


def _elsewhere(mask: Case, result: Case, tables: Tables) -> np.ndarray:
    """Where a test of values stands at other coordinates than what it selects."""
    tested, selected = tables.rests_of(mask.record), tables.rests_of(result.record)
    differ = (tested != selected) | (mask.offset != result.offset)
    return np.asarray(((tested >= 0) & differ).any(axis=-1), dtype=np.int32)


def select(mask: Case, sides: Sequence[Case], result: Case, tables: Tables) -> Case:
    """`result` has the coordinates of what is selected from, or of the mask where these are numbers; its terms become
    those of the selection, if the mask speaks of the same elements."""
    if tables.hints.shifted:
        there = tables.rests_of(result.record)
        mask, *sides = (brought(tables, case, there, result.offset) for case in (mask, *sides))
    columns = [*(c.record.reshape(-1) for c in (mask, *sides, result)), _elsewhere(mask, result, tables).reshape(-1)]
    keys, _, inverse = distinct_rows(np.stack(columns, axis=-1))
    index, offset = mask.offset[..., 0].reshape(-1), result.offset.reshape(-1, tables.width).copy()
    made = []
    for n, (m, yes, no, r, elsewhere) in enumerate(keys):
        chosen, record = tables[int(m)], tables[int(r)]
        if record.kind not in ("value", "plain", "zero"):
            made.append(int(r))
            continue
        values = tables[int(yes)].term, tables[int(no)].term
        if CONFLICT in record.rests:  # the sides stand at different coordinates
            values = UNKNOWN, UNKNOWN
        if chosen.label == "condition" and chosen.expr is not None:
            here = inverse == n
            rests = {a: tables.rests[rest] for a, rest in enumerate(record.rests) if rest >= 0}
            held = at_own_coordinates(chosen.expr, index[here], offset[here], rests)
            late = held is not None and any(masked_late(tables.terms, held, value) for value in values)
            term = UNKNOWN if held is None or late else tables.terms.where(held, *values)
        else:
            term = tables.terms.apply("select", (chosen.term, *values))
            if chosen.kind == "value" and record.kind in ("plain", "zero"):
                record = chosen
                offset[inverse == n] = mask.offset.reshape(-1, tables.width)[inverse == n]
            elif elsewhere:  # the test is one of other elements than those selected
                term = UNKNOWN
        made.append(tables.intern(replace(record, kind="plain" if record.kind == "zero" else record.kind, term=term)))
    record_of = np.array(made, dtype=np.int32)[inverse].reshape(result.record.shape)
    return Case(result.guard, record_of, offset.reshape(result.offset.shape), result.site)

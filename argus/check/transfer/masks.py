"""Masks: comparisons of index expressions, and selection by them.

An index expression as data is `expr` plus a finite part per thread, kept in the first column of the offsets. Comparing
it with a number gives a condition of the same form. Comparisons that are joined have several finite parts, a column
each; what they say is a *truth*, 1 or 0, until it is compared with a number:

    (16*b + v.q < W) & (4*c + v.p < H)       16*b + part_0 < W and 4*c + part_1 < H,    lane 37: part_0 = 5, part_1 = 2

`select` turns the condition into one on the own coordinates of what is selected (`at_own_coordinates`). Where that
fails each thread has a condition of its own; where these are too many the selected value is UNKNOWN, not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct, distinct_rows
from argus.check.domain.records import ABSENT, CONFLICT, Record, Tables, without_constant
from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread, Threads
from argus.check.terms.atoms import UNKNOWN, ZERO, Coordinate, Number
from argus.check.terms.comparisons import COMPARED
from argus.check.terms.conditions import one_way
from argus.check.terms.elementwise_terms import COMPARE, PARTS, at_own_coordinates, compares, comparison
from argus.check.terms.vanishing_sums import masked_late
from argus.check.transfer.shifted_places import brought
from argus.layout import expr as E
from argus.layout.expr import Expr

MOST_CONDITIONS = 64
"""Conditions of a mask that is not one on own coordinates."""


def index(threads: Threads, e: Expr, count: int, tables: Tables) -> Tags:
    """An index expression as data, `count` times."""
    spread = threads.spread(e)
    if spread.rest is None and e.op == "select" and e.args[1:] == (E.const(1), E.const(0)):
        found = _truth(threads, e.args[0], count, tables)
        if found is not None:
            return found
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


def _truth(threads: Threads, condition: Expr, count: int, tables: Tables) -> Tags | None:
    """1 where the condition holds, else 0; None if threads and sizes do not separate in one of its comparisons."""
    columns: list[NDArray[np.int64]] = []
    made = _separated(threads, condition, columns, min(tables.width, len(PARTS)))
    if made is None:
        return None
    shape = (*threads.shape, count)
    offset = np.zeros((*shape, tables.width), dtype=np.int32)
    for n, column in enumerate(columns):
        offset[..., n] = column[..., None]
    number = tables.intern(Record("plain", "truth", tables.nowhere, expr=made))
    record = np.full(shape, number, dtype=np.int32)
    return Tags((Case(E.TRUE, record, offset, np.full(shape, -1, dtype=np.int64)),))


def _separated(threads: Threads, condition: Expr, columns: list[NDArray[np.int64]], most: int) -> Expr | None:
    """The condition with finite parts in place of threads; those that are new are added as columns, up to `most`."""
    match condition.op:
        case "land" | "lor":
            parts = [_separated(threads, part, columns, most) for part in condition.args]
            known = [part for part in parts if part is not None]
            join = E.land if condition.op == "land" else E.lor
            return join(*known) if len(known) == len(parts) else None
        case "not":
            inner = _separated(threads, condition.args[0], columns, most)
            return None if inner is None else E.lnot(inner)
        case "lt" | "le" | "eq" | "ne":
            apart = _by_parts(threads.spread(condition.args[0] - condition.args[1]), columns, most)
            return None if apart is None else COMPARE[condition.op](apart, 0)
        case _:
            return None


def _by_parts(spread: Spread, columns: list[NDArray[np.int64]], most: int) -> Expr | None:
    """An index expression with a finite part, or with a column that differs from it by a number or in sign."""
    finite = spread.offsets
    if spread.rest is None:
        return None
    if bool((finite == finite.flat[0]).all()):
        return spread.rest + int(finite.flat[0])
    for part, column in zip(PARTS, columns, strict=False):
        for sign in (1, -1):
            left = finite - sign * column
            if bool((left == left.flat[0]).all()):
                return spread.rest + sign * part + int(left.flat[0])
    if len(columns) == most:
        return None
    columns.append(finite)
    return spread.rest + PARTS[len(columns) - 1]


def by_element(case: Case, tables: Tables) -> Case:
    """The case with an index of its own for each element, where it holds truths."""
    truths = [n for n in distinct(case.record) if tables[n].label == "truth"]
    if not truths:
        return case
    record, offset = case.record.copy(), case.offset.copy()
    for number in truths:
        expr = tables[number].expr
        assert expr is not None
        for where in zip(*np.nonzero(case.record == number), strict=True):
            constant, rest = without_constant(E.select(_at(expr, case.offset[where]), 1, 0))
            record[where] = tables.intern(Record("plain", "index", tables.nowhere, expr=rest))
            offset[where] = 0
            offset[where][0] = constant
    return Case(case.guard, record, offset, case.site)


def _at(condition: Expr, row: NDArray[np.int32]) -> Expr:
    """The condition with these numbers for its finite parts."""
    return condition.subst({part: int(n) for part, n in zip(PARTS, row, strict=False)})


def condition(fn: str, cases: tuple[Case, ...], tables: Tables) -> Case | None:
    """A comparison of an index or a truth with a number, or two conditions combined; else None."""
    x, y = cases
    swapped = fn in COMPARED and any(tables[int(n)].label in ("index", "truth") for n in distinct(y.record))
    if swapped:
        x, y = y, x
    pairs, _, inverse = distinct_rows(np.stack([x.record, y.record], axis=-1).reshape(-1, 2))
    rows, others = (case.offset.reshape(-1, tables.width) for case in (x, y))
    made, offset = [], rows.copy()
    for n, (a, b) in enumerate(pairs):
        if fn in COMPARED:
            found = _compared(fn, tables[int(a)], tables[int(b)], swapped, tables)
        else:
            here = inverse.reshape(-1) == n
            both = _joined(fn, tables[int(a)], tables[int(b)], rows[here], others[here])
            found, offset[here] = both if both is not None else (None, rows[here])
        if found is None:
            return None
        made.append(tables.intern(Record("plain", "condition", tables.nowhere, expr=found)))
    record = np.array(made, dtype=np.int32)[inverse.reshape(-1)].reshape(x.record.shape)
    return Case(x.guard, record, offset.reshape(x.offset.shape), x.site)


def _compared(fn: str, a: Record, b: Record, swapped: bool, tables: Tables) -> Expr | None:
    number = tables.terms.value(b.term)
    if a.expr is None or a.part != (0, 1) or b.part != (0, 1) or number is None:
        return None
    if a.label == "truth":
        return E.select(a.expr, *(E.as_expr(compares(fn, truth, number, swapped)) for truth in (1, 0)))
    return comparison(fn, a.expr, number, swapped) if a.label == "index" else None


def _joined(
    fn: str, a: Record, b: Record, rows: NDArray[np.int32], others: NDArray[np.int32]
) -> tuple[Expr, NDArray[np.int32]] | None:
    """Two conditions as one, and its finite parts: those of the second take the place of equal ones or of free ones."""
    if a.expr is None or b.expr is None or (a.label, b.label) != ("condition", "condition"):
        return None
    if a.part != (0, 1) or b.part != (0, 1):
        return None
    columns, moved, free = rows.copy(), dict[Expr, Expr | int](), a.expr.free()
    used = {n for n, part in enumerate(PARTS) if part in free}
    for n, part in enumerate(PARTS[: rows.shape[1]]):
        if part not in b.expr.free():
            continue
        equal = [m for m in sorted(used) if np.array_equal(columns[:, m], others[:, n])]
        spare = [m for m in range(min(len(PARTS), rows.shape[1])) if m not in used]
        if not equal and not spare:
            return None
        place = (equal or spare)[0]
        columns[:, place] = others[:, n]
        used.add(place)
        moved[part] = PARTS[place]
    other = b.expr.subst(moved)
    return (E.land if fn == "and" else E.lor)(a.expr, other), columns


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
    parts, offset = mask.offset.reshape(-1, tables.width), result.offset.reshape(-1, tables.width).copy()
    record_of = np.zeros(len(parts), dtype=np.int32)
    for n, (m, yes, no, r, elsewhere) in enumerate(keys):
        chosen, record, here = tables[int(m)], tables[int(r)], inverse.reshape(-1) == n
        if record.kind not in ("value", "plain", "zero"):
            record_of[here] = int(r)
            continue
        values = tables[int(yes)].term, tables[int(no)].term
        if CONFLICT in record.rests:  # the sides stand at different coordinates
            values = UNKNOWN, UNKNOWN
        if chosen.label == "condition" and chosen.expr is not None:
            rests = {a: tables.rests[rest] for a, rest in enumerate(record.rests) if rest >= 0}
            held = at_own_coordinates(chosen.expr, parts[here], offset[here], rests)
            conditions = [held] if held is not None else _each_condition(chosen.expr, parts[here])
            by = {held: _chosen(tables, record, held, values) for held in dict.fromkeys(conditions)}
            record_of[here] = by[conditions[0]] if len(conditions) == 1 else [by[held] for held in conditions]
            offset[here & (tables.rests_of(record_of) == ABSENT).all(axis=-1)] = 0
            continue
        if tables.hints.places:
            there = parts[here]
            values = (
                _place(
                    tables, chosen, there, tables[int(yes)], sides[0].offset.reshape(-1, tables.width)[here], values[0]
                ),
                _place(
                    tables, chosen, there, tables[int(no)], sides[1].offset.reshape(-1, tables.width)[here], values[1]
                ),
            )
        term = tables.terms.apply("select", (chosen.term, *values))
        if chosen.kind == "value" and record.kind in ("plain", "zero"):
            record = chosen
            offset[here] = mask.offset.reshape(-1, tables.width)[here]
        elif elsewhere:  # the test is one of other elements than those selected
            term = UNKNOWN
        record_of[here] = tables.intern(_computed(record, term))
    return Case(result.guard, record_of.reshape(result.record.shape), offset.reshape(result.offset.shape), result.site)


def _place(
    tables: Tables, tested: Record, offsets: NDArray[np.int32], side: Record, columns: NDArray[np.int32], term: int
) -> int:
    """What is selected by a test of values: of an index that is the coordinate of what is tested, that coordinate."""
    if side.label != "index" or side.expr is None or side.part != (0, 1):
        return term
    for axis in sorted(tables.hints.places):
        rest = tested.rests[axis]
        if rest >= 0:
            apart = columns[:, 0].astype(np.int64) - offsets[:, axis]
            if bool((apart == apart[0]).all()) and side.expr + int(apart[0]) is tables.rests[rest]:
                return tables.terms.atom(Coordinate(axis))
    return term


def _chosen(tables: Tables, record: Record, held: Expr | None, values: tuple[int, int]) -> int:
    """What a condition selects. A number that is chosen for certain, as by the lane, belongs to no coordinate."""
    term = _selected(tables, held, values)
    if held in (E.TRUE, E.FALSE) and term != UNKNOWN and tables.terms.value(term) is not None:
        return Tables.ZERO if term == ZERO else tables.plain(term)
    return tables.intern(_computed(record, term))


def _computed(record: Record, term: int) -> Record:
    return replace(record, kind="plain" if record.kind == "zero" else record.kind, term=term)


def _selected(tables: Tables, held: Expr | None, values: tuple[int, int]) -> int:
    if held is None or any(masked_late(tables.terms, held, value) for value in values):
        return UNKNOWN
    return tables.terms.where(held, *values)


def _each_condition(condition: Expr, columns: NDArray[np.int32]) -> list[Expr | None]:
    """The condition of every element by itself; [None] where there are too many."""
    rows, _, inverse = distinct_rows(columns)
    if len(rows) > MOST_CONDITIONS:
        return [None]
    found = [one_way(_at(condition, row)) for row in rows]
    return [found[n] for n in inverse.reshape(-1)]

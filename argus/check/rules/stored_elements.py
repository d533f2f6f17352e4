"""Stored elements with where they are and where they go, for a comparison that is made at the elements themselves.

    y[i] = x[2*i + 1]      lane 5 stores x at 256*b + 11 to y at 128*b + 5

    alike        x at 2*i + 1 to y at i, for every i from 128*b to 128*b + 63       one comparison for all lanes
    each         x at 256*b + 11 to y at 128*b + 5, and so on                       one comparison for each element

`alike` names the coordinate of a store along an axis, and says what is stored by it: coordinates that differ from lane
to lane as a whole multiple of it does. Where they do not, or where what is said in general cannot be shown, elements
are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct_rows
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Case
from argus.check.terms.atoms import UNKNOWN, Atom, Number
from argus.check.terms.normal_form import Terms
from argus.check.terms.placed_terms import at_place
from argus.check.transfer.computed_places import DATA
from argus.layout import expr as E
from argus.layout.expr import Expr

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoredElements:
    """Elements of one record: their coordinates (`index`: the finite part of an index as data), those of the store, and
    what is known of these."""

    number: int
    coordinates: dict[int, Expr]
    index: Expr
    stored: tuple[Expr, ...]
    known: tuple[Expr, ...]

    def term(self, tables: Tables) -> int:
        """What is stored, at its place; UNKNOWN where it has none on an axis that it depends on."""
        record = tables[self.number]
        if record.label == "index" and record.expr is not None:
            whole = _unbounded(record.expr + self.index)
            return tables.terms.constant(whole.value) if whole.op == "const" else tables.terms.atom(Number(whole))
        term = _unbounded_numbers(tables.terms, at_place(tables.terms, record.term, self.coordinates))
        return term if term != UNKNOWN and not tables.terms.axes(term) else UNKNOWN


def alike(
    tables: Tables, case: Case, store: Case, axes: tuple[int, ...], active: NDArray[np.bool_]
) -> list[StoredElements] | None:
    """Elements with the same records together; None where their coordinates do not go with those of the store."""
    made = []
    for number, target, held, stored in by_record(tables, case, store, axes, active):
        one = in_general(tables, number, target, held, stored, axes)
        if one is None:
            return None
        made.append(one)
    return made


def in_general(
    tables: Tables,
    number: int | Callable[[list[Expr]], int],
    target: Record,
    held: Numbers,
    stored: Numbers,
    axes: tuple[int, ...],
) -> StoredElements | None:
    """Elements of a record with held and stored offsets, as one statement about every place from the first to the last;
    None where their coordinates do not go with those of the store. `number` may be a function of these."""
    starts = [tables.rests[target.rests[axis]] for axis in axes]
    low, high = stored.min(axis=0), stored.max(axis=0)
    names = [
        E.var(f"stored_coordinate_{n}", 0) if low[n] < high[n] else start + int(low[n])
        for n, start in enumerate(starts)
    ]
    found = [_multiple(column, stored) for column in held.T]
    if any(one is None for one in found):
        return None
    parts = [_sum_of(one[0], one[1], names, starts) for one in found if one is not None]
    known = [
        fact
        for name, start, first, last in zip(names, starts, low, high, strict=True)
        for fact in (name.ge(start + int(first)), name.le(start + int(last)))
    ]
    record = number if isinstance(number, int) else number(names)
    return _elements(tables, record, parts, tuple(names), tuple(known))


def each(
    tables: Tables, case: Case, store: Case, axes: tuple[int, ...], active: NDArray[np.bool_]
) -> Iterator[StoredElements]:
    for number, target, held, stored in by_record(tables, case, store, axes, active):
        for offsets, places in zip(held, stored, strict=True):
            where = tuple(tables.rests[target.rests[axis]] + int(n) for axis, n in zip(axes, places, strict=True))
            yield _elements(tables, number, [E.const(int(n)) for n in offsets], where, ())


def _elements(
    tables: Tables, number: int, offsets: list[Expr], stored: tuple[Expr, ...], known: tuple[Expr, ...]
) -> StoredElements:
    rests = tables[number].rests
    coordinates = {axis: _unbounded(tables.rests[rest] + offsets[axis]) for axis, rest in enumerate(rests) if rest >= 0}
    return StoredElements(number, coordinates, offsets[0], tuple(map(_unbounded, stored)), known)


def _unbounded(e: Expr) -> Expr:
    """Loaded numbers as the specification writes them: without the bounds that the author states."""
    loaded = {node for node in E.postorder(e) if node.op == "apply" and node.name.startswith(DATA)}
    if not loaded:
        return e
    inner = {node: E.apply(node.name, *(_unbounded(arg) for arg in node.args)) for node in loaded}
    return e.subst(dict(inner))


def _unbounded_numbers(terms: Terms, term: int) -> int:
    """The term with loaded numbers as the specification writes them."""
    if term == UNKNOWN or all(_unbounded(e) is e for e in map(_number, terms.inside(term)) if e is not None):
        return term

    def change(atom: Atom) -> int | None:
        e = _number(atom)
        return None if e is None else terms.atom(Number(_unbounded(e)))

    return terms.rewritten(term, change, {})


def _number(atom: Atom) -> Expr | None:
    return atom.name if isinstance(atom, Number) and isinstance(atom.name, Expr) else None


def _sum_of(constant: int, factors: list[int], names: list[Expr], starts: list[Expr]) -> Expr:
    total: Expr = E.const(constant)
    for k, name, start in zip(factors, names, starts, strict=True):
        total = total + k * (name - start)
    return total


def by_record(
    tables: Tables, case: Case, store: Case, axes: tuple[int, ...], active: NDArray[np.bool_]
) -> Iterator[tuple[int, Record, Numbers, Numbers]]:
    """For each pair of a stored record and one of the store: their distinct offsets."""
    width = tables.width
    rows = np.concatenate(
        [
            case.record[active][:, None],
            store.record[active][:, None],
            case.offset[active],
            store.offset[active][:, list(axes)],
        ],
        axis=1,
    )
    found, _, _ = distinct_rows(rows)
    pairs, _, which = distinct_rows(found[:, :2])
    for n, (number, target) in enumerate(pairs):
        mine = found[which.reshape(-1) == n].astype(np.int64)
        yield int(number), tables[int(target)], mine[:, 2 : 2 + width], mine[:, 2 + width :]


def _multiple(column: Numbers, stored: Numbers) -> tuple[int, list[int]] | None:
    """Numbers (c, k) with column = c + k * stored, with one k that is not zero at most."""
    factors = [0] * stored.shape[1]
    if bool((column == column[0]).all()):
        return int(column[0]), factors
    for axis, places in enumerate(stored.T):
        apart = np.flatnonzero(places != places[0])
        if not len(apart):
            continue
        factor, rest = divmod(int(column[apart[0]] - column[0]), int(places[apart[0]] - places[0]))
        left = column - factor * places
        if not rest and bool((left == left[0]).all()):
            factors[axis] = factor
            return int(left[0]), factors
    return None

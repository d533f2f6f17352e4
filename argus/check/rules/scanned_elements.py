"""Stored elements of a scan, compared together: what each has taken is an interval with one edge at its own index.

    y[n] = x[0] + ... + x[n], tile i of 256, stored at n = 256*i + offset

    offset 0     sum of X over {256*i' + 0..255, i' < i} and {256*i + 0}
    offset 1     sum of X over {256*i' + 0..255, i' < i} and {256*i + 0, 256*i + 1}
    ...                                                                              256 terms
    any          sum of X over {256*i' + 0..255, i' < i} and {v, 256*i <= v < s + 1}         s: where it is stored

The walk follows a scan exactly, so that every element has a term of its own. Comparing them one by one costs a proof
for each; here all elements whose terms differ only in the edge of one interval are one statement about every s. That is
sound without further proof: an element's term *is* the general one at s = its own coordinate, since the part it has
taken, a run of set bits from `low` on, is the interval, read off bit by bit; and the statement is shown for all s from
the first to the last of them. An edge that is not at a fixed distance from the index of the store, or a part with
holes, makes a group of its own.

What it cannot do: parts that begin and end at the element's index (windows of moving ends).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.records import REDUCED, Record, Tables
from argus.check.domain.reduction_footprint import FootprintPart, Over, ReducedFootprint, one, union
from argus.check.domain.tags import Case
from argus.check.rules.stored_elements import Numbers, StoredElements, by_record, in_general
from argus.check.terms.atoms import UNKNOWN, Atom, Reduce
from argus.check.terms.normal_form import Terms
from argus.layout import expr as E
from argus.layout.expr import Expr

EDGE = E.var("edge_of_scan")
"""The edge of an interval, in terms that stand for many."""
TAKEN = E.var("taken_by_scan")
Side = Literal["end", "start"]
SAMPLE = 8
"""Records that show whether a way to join them is any good; fewer are compared by record."""


def alike_scans(
    tables: Tables, case: Case, store: Case, axes: tuple[int, ...], active: NDArray[np.bool_]
) -> list[StoredElements] | None:
    """The elements in groups that are alike but for the edge of what they have taken; None where that joins nothing."""
    found = list(by_record(tables, case, store, axes, active))
    if len(found) < SAMPLE:
        return None
    for axis in axes:
        found = _reduced(tables, found, axis)
    sides: tuple[Side, Side] = ("end", "start")
    places = np.concatenate([stored for _, _, _, stored in found])
    varied = sorted(range(len(axes)), key=lambda n: -len(np.unique(places[:, n])))
    for position in varied:
        for side in sides:
            some = _groups(tables, found[:SAMPLE], position, axes[position], side)
            groups = _groups(tables, found, position, axes[position], side) if 2 * len(some) <= SAMPLE else {}
            if not groups or 2 * len(groups) > len(found):
                continue
            made = [_elements(tables, *key, axes, rows, position) for key, rows in groups.items()]
            known = [group for group in made if group is not None]
            if len(known) == len(made):
                return known
    return None


def _reduced(
    tables: Tables, found: list[tuple[int, Record, Numbers, Numbers]], axis: int
) -> list[tuple[int, Record, Numbers, Numbers]]:
    """The elements; those that are one element of an axis along which others are reduced as reductions of that one
    coordinate, which is the same number: the first of a scan."""
    terms = tables.terms
    ops = {
        atom.op for number, _, _, _ in found for atom in terms.inside(tables[number].term)
        if isinstance(atom, Reduce) and atom.axis == axis and atom.domain is None
    }  # fmt: skip
    if len(ops) != 1:
        return found
    (op,) = ops
    made = []
    for number, target, held, stored in found:
        record = tables[number]
        if record.rests[axis] < 0 or axis not in terms.axes(record.term):
            made.append((number, target, held, stored))
            continue
        rests = tuple(REDUCED if a == axis else rest for a, rest in enumerate(record.rests))
        for where, place in zip(held, stored, strict=True):
            term = terms.reduce(op, axis, record.term, one(tables.rests[record.rests[axis]], int(where[axis])))
            kept = where.copy()
            kept[axis] = 0
            made.append((tables.intern(replace(record, rests=rests, term=term)), target, kept[None], place[None]))
    return made


_Key = tuple[Record, Record, int | None]
"""What is stored, with EDGE in its term, where, and how far the edge is from the index of the store (None: no edge)."""


def _groups(
    tables: Tables, found: list[tuple[int, Record, Numbers, Numbers]], position: int, axis: int, side: Side
) -> dict[_Key, Numbers]:
    """Held and stored offsets, side by side, of all elements with the same general term."""
    groups: dict[_Key, list[Numbers]] = {}
    memo: dict[tuple[int, int], tuple[int, int | None]] = {}
    for number, target, held, stored in found:
        record, rest = tables[number], target.rests[axis]
        if (record.term, rest) not in memo:
            memo[record.term, rest] = general_term(tables.terms, record.term, tables.rests[rest], side)
        term, edge = memo[record.term, rest]
        for row in np.concatenate([held, stored], axis=1):
            off = None if edge is None else edge - int(row[tables.width + position])
            groups.setdefault((replace(record, term=term), target, off), []).append(row)
    return {key: np.array(rows) for key, rows in groups.items()}


def general_term(terms: Terms, term: int, rest: Expr, side: Side) -> tuple[int, int | None]:
    """The term with EDGE for the end (or start) of the intervals beyond `rest` that it has taken, and where that is, as
    an offset from `rest`. The term itself and None, if there is none, or several different ones."""
    edges: set[int] = set()
    memo: dict[int, int] = {}

    def change(atom: Atom) -> int | None:
        if not isinstance(atom, Reduce) or atom.domain is not None:
            return None
        items: ReducedFootprint = ()
        for item in atom.footprint:
            edge = _edge(item, rest, side)
            if edge is not None and isinstance(item, FootprintPart):
                edges.add(edge)
                low, high = rest + item.low, rest + (item.low + item.mask.bit_length())
                bounds = (low, EDGE) if side == "end" else (EDGE, high)
                item = Over(TAKEN, *bounds, 1, (FootprintPart(TAKEN, 0, 1),))
            items = union(items, (item,), twice=True)
        return terms.reduce(atom.op, atom.axis, terms.rewritten(atom.body, change, memo), items)

    if term == UNKNOWN:
        return term, None
    made = terms.rewritten(term, change, memo)
    return (made, edges.pop()) if len(edges) == 1 and made != UNKNOWN else (term, None)


def _edge(item: FootprintPart | Over, rest: Expr, side: Side) -> int | None:
    """The edge of a part without holes that lies beyond `rest`."""
    if not isinstance(item, FootprintPart) or item.rest is not rest or item.mask & (item.mask + 1):
        return None
    return item.low + item.mask.bit_length() if side == "end" else item.low


def _elements(
    tables: Tables, record: Record, target: Record, off: int | None, axes: tuple[int, ...], rows: Numbers, position: int
) -> StoredElements | None:
    """One group as a statement about every place it is stored to; None where its coordinates do not go with these."""
    held, stored = rows[:, : tables.width], rows[:, tables.width :]

    def at(names: list[Expr]) -> int:
        if off is None:
            return tables.intern(record)
        edge = names[position] + off
        return tables.intern(replace(record, term=tables.terms.substituted(record.term, {EDGE: edge})))

    return in_general(tables, at, target, held, stored, axes)

"""Neighbors of an element: values at coordinates a known distance away, brought to one place.

    y[i] = x[i] + x[i + 1]                 the specification's term at i:   X + X(at own + 1)

    x loaded at 256*b + t                  X at own = 256*b + t
    x loaded at 256*b + t + 1              X at own = 256*b + t + 1,  which is X(at own + 1) at own = 256*b + t

A tag says: this element is worth the term, own coordinates standing for where it is. The same element may be said to be
elsewhere, with the term moved back by the distance; both mean the same number. Two operands that meet a distance apart
are brought to the first one's place (`elementwise`), and what is stored to the place it is stored at (`value`). Only
axes are moved at which the specification has such an index (`Hints.shifted`), and only by numbers: what is i + 1 here
and i + K there stays where it is, and the operands have no common place.

Outside of a tensor an element is zero, wherever it is said to be.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.check.domain.record_numbers import distinct_rows
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Case
from argus.check.spec.coordinates import SpecCoordinates
from argus.check.terms.atoms import UNKNOWN, Atom, Leaf, own
from argus.check.transfer.computed_places import leaf, moved


def brought(tables: Tables, case: Case, rests: np.ndarray, offsets: np.ndarray) -> Case:
    """The case with elements brought to these coordinates (one row each) along shifted axes, where they can be."""
    for axis in sorted(tables.hints.shifted):
        case = brought_along(tables, case, axis, rests[..., axis], offsets[..., axis])
    return case


def brought_to_store(tables: Tables, spec: SpecCoordinates, case: Case, store: Case) -> Case:
    """What is stored, brought to where it is stored."""
    if not tables.hints.shifted:
        return case
    rests, offsets = tables.rests_of(store.record).copy(), store.offset.copy()
    for axis, position in spec.placed.items():
        there = spec.axes[position]
        rests[..., axis], offsets[..., axis] = tables.rests_of(store.record)[..., there], store.offset[..., there]
    return brought(tables, case, rests, offsets)


def brought_along(tables: Tables, case: Case, axis: int, rests: np.ndarray, offsets: np.ndarray) -> Case:
    """The case with elements brought to these coordinates on one axis, where they can be."""
    mine = tables.rests_along(case.record, axis)
    distance = case.offset[..., axis] - offsets
    away = (mine >= 0) & (mine == rests) & (distance != 0)
    if not away.any():
        return case
    record, offset = case.record.copy(), case.offset.copy()
    pairs, _, _ = distinct_rows(np.stack([case.record[away], distance[away]], axis=-1))
    for number, steps in pairs:
        key = int(number), axis, int(steps)
        if key not in tables.moved:
            made = _moved(tables, tables[key[0]], axis, key[2])
            tables.moved[key] = None if made is None else tables.intern(made)
        there = tables.moved[key]
        if there is not None:
            here = away & (case.record == number) & (distance == steps)
            record[here] = there
            offset[here, axis] = offsets[here]
    return Case(case.guard, record, offset, case.site)


def _moved(tables: Tables, one: Record, axis: int, steps: int) -> Record | None:
    """The record as seen from `steps` before; None when what it is worth cannot be moved."""
    if one.kind not in ("element", "value") or one.part != (0, 1) or one.expr is not None:
        return None
    term = UNKNOWN if one.term == UNKNOWN else moved(tables.terms, one.term, {own(axis): own(axis) + steps})
    return None if term == UNKNOWN else replace(one, kind="value", label="", term=_plain(tables, term))


def _plain(tables: Tables, term: int) -> int:
    """Leaves that have come back to the coordinates of their tensor, in the form such leaves have."""
    tensors = {tensor.name: tensor for tensor in tables.tensor_axes}

    def change(atom: Atom) -> int | None:
        if isinstance(atom, Leaf) and atom.at:
            return tables.terms.atom(leaf(tables, tensors[atom.tensor], atom.at))
        return None

    return tables.terms.rewritten(term, change, {})

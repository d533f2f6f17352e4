"""Tag transfer of one MFMA: what pairing says about the operands, put onto the accumulator.

A kernel multiplies many tiles that differ only in where they start. What the operands have to do with each other
(`Pairing`) is therefore worked out for offsets counted from one element (the same for both operands, else they could
not be compared), once, and reused:

    A rows 32..63, k 16..23  with  B columns 96..127, k 16..23      like      rows 0..31, k 0..7, columns 0..31

The result's coordinates and the coordinates added to the sum are moved to the place in question, and what came out for
one place and accumulator is kept too: the tiles of one step share it. A pairing that had to ask the prover holds only
where it was asked, and is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct, distinct_rows, filled, is_filled
from argus.check.domain.records import ABSENT, Record, Tables
from argus.check.domain.reduction_footprint import several
from argus.check.domain.tags import Case
from argus.check.terms.atoms import UNKNOWN
from argus.check.transfer.matrix import (
    Equal,
    Ints,
    LaneMaps,
    MatrixOperand,
    Mismatch,
    Product,
    lane_maps,
    obstacles,
    pairs,
)
from argus.check.transfer.shifted_places import brought_along
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class Slots:
    """One matrix instruction's share of a sum: the contracted coordinates `rest + offset`, each once."""

    axis: int
    rest: Expr
    offsets: tuple[int, ...]


Share = tuple[Slots, ...] | None
"""The contracted coordinates one instruction adds; None when they are not known."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """All that two operands say about their product, with offsets counted from their first elements.

    `rests`, `offset`, `known` (1 where there is a coordinate) belong to the result's elements; elements in the same
    group (`group`) have equal rests, share and factors; `first` is one element of each group. `row` are the rests where
    all elements have the same ones; `axes` those on which there are coordinates. What was made from it so far: the
    result's offsets by place, its record by accumulator and place."""

    mismatches: tuple[Mismatch, ...]
    rests: NDArray[np.int32]
    offset: NDArray[np.int32]
    known: NDArray[np.int32]
    first: tuple[int, ...]
    group: Ints
    shares: tuple[Share, ...]
    factors: tuple[tuple[int, int], ...]
    behind: frozenset[int]
    lost: str = ""
    row: tuple[int, ...] | None = None
    axes: tuple[int, ...] = ()
    offsets: dict[tuple[int, ...], NDArray[np.int32]] = field(default_factory=dict)
    records: dict[tuple[object, ...], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Content:
    """An operand apart from where it is: a number for records and offsets counted from its first element, that
    element's coordinates (0 on axes where it has none), and the axes on which some element has a coordinate."""

    number: int
    has: tuple[bool, ...]
    first: tuple[int, ...]
    somewhere: tuple[int, ...]


def multiply(
    inst: str,
    a: Case,
    b: Case,
    c: Case,
    tables: Tables,
    equal: Equal | None,
    contract: frozenset[int],
) -> Product:
    """Tags of one MFMA's result under one alternative of each operand; without `equal` nothing is compared."""
    if tables.hints.shifted:
        a, b = (_beside(x, c, inst, first, tables) for x, first in ((a, True), (b, False)))
    left, right = _content(a, tables), _content(b, tables)
    place = tuple(x if has else y for x, has, y in zip(left.first, left.has, right.first, strict=True))
    pairing = _pairing(inst, (a, b), (left, right), place, tables, equal, contract)
    mismatches = list(pairing.mismatches)
    if pairing.lost:
        number = tables.lost(pairing.lost, -1)
        shape = c.record.shape
        return Product(
            Case(c.guard, np.full(shape, number, np.int32), np.zeros_like(c.offset), nobody(shape)), mismatches
        )
    offset = _offset(pairing, place)
    _check_accumulator(lane_maps(inst), c, pairing, offset, tables, mismatches)
    record = _records(pairing, c, place, tables, not mismatches)
    return Product(Case(c.guard, record, offset, nobody(record.shape)), mismatches)


def _beside(operand: Case, c: Case, inst: str, first: bool, tables: Tables) -> Case:
    """The operand with the elements of each row (column) brought to where the accumulators of that row stand."""
    shifted = sorted(tables.hints.shifted)
    if not any((tables.rests_along(operand.record, axis) >= 0).any() for axis in shifted):
        return operand
    there = [tables.rests_along(c.record, axis) for axis in shifted]
    if not any((rests >= 0).any() for rests in there):
        return operand
    maps = lane_maps(inst)
    lanes, elements = (maps.a_lane, maps.a_element) if first else (maps.b_lane, maps.b_element)
    rows = maps.d_i if first else maps.d_j
    shape = (operand.record.shape[0], *lanes.shape[:2])
    for axis, at in zip(shifted, there, strict=True):
        rests, offsets = np.full(shape, ABSENT, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        rests[:, maps.d_block, rows], offsets[:, maps.d_block, rows] = at, c.offset[..., axis]
        wanted = np.full(operand.record.shape, ABSENT, dtype=np.int32)
        places = np.zeros_like(wanted)
        wanted[:, lanes, elements], places[:, lanes, elements] = rests[:, :, :, None], offsets[:, :, :, None]
        operand = brought_along(tables, operand, axis, wanted, places)
    return operand


def _content(case: Case, tables: Tables) -> Content:
    if isinstance(case.content, Content):
        return case.content
    numbers = distinct(case.record)
    rests = np.array(tables[numbers[0]].rests) if len(numbers) == 1 else tables.rests_of(case.record)
    has = rests >= 0
    own = has.reshape(-1, tables.width)[0]
    first = np.where(own, case.offset[0, 0, 0], 0)
    moved = (case.offset - first * has).astype(np.int32)
    key = (case.record.shape, numbers[0] if len(numbers) == 1 else case.record.tobytes(), moved.tobytes())
    number = tables.contents.setdefault(key, len(tables.contents))
    somewhere = tuple(np.flatnonzero(has.reshape(-1, tables.width).any(axis=0)).tolist())
    case.content = Content(number, tuple(own.tolist()), tuple(first.tolist()), somewhere)
    return case.content


def _offset(pairing: Pairing, place: tuple[int, ...]) -> NDArray[np.int32]:
    key = tuple(place[a] for a in pairing.axes)
    made = pairing.offsets.get(key)
    if made is None:
        made = (pairing.offset + np.array(place, dtype=np.int32) * pairing.known).astype(np.int32)
        made.setflags(write=False)
        pairing.offsets[key] = made
    return made


@lru_cache(maxsize=64)
def nobody(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Sites of a value nobody put into LDS."""
    sites = np.full(shape, -1, dtype=np.int64)
    sites.setflags(write=False)
    return sites


def _pairing(
    inst: str,
    operands: tuple[Case, Case],
    contents: tuple[Content, Content],
    place: tuple[int, ...],
    tables: Tables,
    equal: Equal | None,
    contract: frozenset[int],
) -> Pairing:
    disjoint = tuple(content.first[axis] - place[axis] for content in contents for axis in content.somewhere)
    key = (inst, equal is None, contents[0].number, contents[1].number, disjoint)
    known = tables.pairings.get(key)
    if isinstance(known, Pairing):
        return known
    a, b = (_moved(x, place, tables) for x in operands)
    asked: list[bool] = []

    def ask(x: Expr, y: Expr) -> bool | None:
        assert equal is not None
        asked.append(True)
        return equal(x, y)

    made = _paired(lane_maps(inst), a, b, tables, None if equal is None else ask, contract)
    if not asked:
        tables.pairings[key] = made
    return made


def _moved(case: Case, place: tuple[int, ...], tables: Tables) -> Case:
    has = tables.rests_of(case.record) >= 0
    return Case(case.guard, case.record, case.offset - np.array(place, dtype=np.int32) * has, case.site)


def _paired(
    maps: LaneMaps, a_case: Case, b_case: Case, tables: Tables, equal: Equal | None, contract: frozenset[int]
) -> Pairing:
    a = MatrixOperand(a_case, maps.a_lane, maps.a_element, tables)
    b = MatrixOperand(b_case, maps.b_lane, maps.b_element, tables)
    nothing = np.zeros(0, dtype=np.int32)
    found = obstacles(a, b, tables)
    if found:
        empty = np.zeros(0, dtype=np.int64)
        return Pairing(tuple(found), nothing, nothing, nothing, (), empty, (), (), frozenset(), found[0].why)
    contracted, mismatches = pairs(a, b, tables, equal, contract)
    rests, offset = _coordinates(maps, a, b, contracted, tables)
    shape = rests.shape[:-1]
    shares = _shares(a, b, contracted, tables)
    keys = [rests.astype(np.int64)]
    if len(set(shares.values())) > 1:
        order = {share: n for n, share in enumerate(dict.fromkeys(shares.values()))}
        share_of = np.array([[order[shares[w, x]] for x in range(maps.row.blocks)] for w in range(shape[0])])
        keys.append(share_of[:, maps.d_block][..., None])
    held_term = [_row_terms(side, tables) for side in (a, b)]
    for side_worth, rows in zip(held_term, (maps.d_i, maps.d_j), strict=True):
        if bool((side_worth != side_worth[0, 0, 0]).any()):
            keys.append(side_worth[:, maps.d_block, rows][..., None])
    key = np.concatenate(keys, axis=-1).reshape(-1, sum(k.shape[-1] for k in keys))
    if bool((key == key[0]).all()):
        first, group = np.array([0]), np.zeros(len(key), dtype=np.int64)
    else:
        _, first, group = distinct_rows(key)
    where = [tuple(int(v) for v in np.unravel_index(int(n), shape)) for n in first]
    blocks = [(w, int(maps.d_block[lane, r])) for w, lane, r in where]
    factors = tuple(
        (int(held_term[0][w, block, maps.d_i[lane, r]]), int(held_term[1][w, block, maps.d_j[lane, r]]))
        for (w, lane, r), (_, block) in zip(where, blocks, strict=True)
    )
    behind = frozenset[int]().union(*(tables[n].statistics for side in (a.record, b.record) for n in distinct(side)))
    known = rests >= 0
    alike = bool((rests == rests[0, 0, 0]).all())
    return Pairing(
        tuple(mismatches), rests, offset, known.astype(np.int32), tuple(int(n) for n in first),
        group.reshape(-1), tuple(shares[at] for at in blocks), factors, behind,
        row=tuple(int(n) for n in rests[0, 0, 0]) if alike else None,
        axes=tuple(axis for axis in range(tables.width) if known[..., axis].any()),
    )  # fmt: skip


def _coordinates(
    maps: LaneMaps, a: MatrixOperand, b: MatrixOperand, contracted: list[int], tables: Tables
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    shape = (a.record.shape[0], *maps.d_i.shape)
    rests = np.full((*shape, tables.width), ABSENT, dtype=np.int32)
    offset = np.zeros((*shape, tables.width), dtype=np.int32)
    for axis in range(tables.width):
        if axis in contracted:
            continue
        for side, rows in ((a, maps.d_i), (b, maps.d_j)):
            if side.has(axis):
                r = side.rests[:, maps.d_block, rows, 0, axis]
                known = r != ABSENT
                rests[..., axis] = np.where(known, r, rests[..., axis])
                offset[..., axis] = np.where(known, side.offset[:, maps.d_block, rows, 0, axis], offset[..., axis])
    offset[rests < 0] = 0
    return rests, offset


def _check_accumulator(
    maps: LaneMaps,
    c: Case,
    pairing: Pairing,
    offset: NDArray[np.int32],
    tables: Tables,
    mismatches: list[Mismatch],
) -> None:
    one, rests = int(c.record.flat[0]), pairing.rests
    same = is_filled(c.record)
    if same and tables[one].kind in ("zero", "plain", "incoming"):
        return
    if same and c.offset is offset and tables[one].kind == "value" and tables[one].rests == pairing.row:
        return
    mine = np.array(tables[one].rests, dtype=np.int32) if same else tables.rests_of(c.record)
    wrong = (mine != ABSENT) & ((mine != rests) | (c.offset != offset)) & (rests != ABSENT)
    if wrong.any():
        w, lane, r, axis = (int(v) for v in np.argwhere(wrong)[0])
        where = int(maps.d_block[lane, r]), int(maps.d_i[lane, r]), int(maps.d_j[lane, r])
        mismatches.append(Mismatch("accumulator", axis, w, *where, 0))
        return
    for number in [one] if same else distinct(c.record):
        if tables[number].kind in ("lost", "unwritten"):
            why = tables[number].why or "the accumulator was never written"
            mismatches.append(Mismatch("unknown", -1, 0, 0, 0, 0, 0, why=why))


def _records(pairing: Pairing, c: Case, place: tuple[int, ...], tables: Tables, matching: bool) -> NDArray[np.int32]:
    below = int(c.record.flat[0])
    simple = len(pairing.first) == 1 and tables[below].kind != "incoming" and is_filled(c.record)
    if not simple:
        return _made_records(pairing, c, place, tables, matching)
    key = (below, matching, *(place[s.axis] for s in pairing.shares[0] or ()))
    number = pairing.records.get(key)
    if number is None:
        number = pairing.records[key] = int(_made_records(pairing, c, place, tables, matching).flat[0])
    return filled(c.record.shape, number)


def _made_records(
    pairing: Pairing, c: Case, place: tuple[int, ...], tables: Tables, matching: bool
) -> NDArray[np.int32]:
    flat = c.record.reshape(-1)
    group, first = pairing.group, list(pairing.first)
    of_group = list(range(len(first)))
    if not np.array_equal(flat, flat[first][group]):  # a group's accumulators differ: finer groups
        key, start, group = np.unique(group * len(tables.records) + flat, return_index=True, return_inverse=True)
        first, of_group = [int(n) for n in start], [int(k) // len(tables.records) for k in key]
    behind = pairing.behind.union(*(tables[int(n)].statistics for n in np.unique(flat[first])))
    rests = pairing.rests.reshape(-1, tables.width)
    made = []
    for n, g in zip(first, of_group, strict=True):
        below = tables[int(flat[n])]
        own = below.kind == "incoming" and bool((c.offset[..., 0].reshape(-1) == np.arange(flat.size)).all())
        share = _shifted(pairing.shares[g], place)
        term = _term_numbers(below, share, pairing.factors[g], own, tables) if matching else UNKNOWN
        numbers = tuple(int(v) for v in rests[n])
        made.append(tables.intern(Record("value", "", numbers, statistics=behind, term=term)))
    if len(made) == 1:
        return filled(c.record.shape, made[0])
    return np.array(made, dtype=np.int32)[group].reshape(c.record.shape)


def _shifted(share: Share, place: tuple[int, ...]) -> Share:
    if share is None:
        return None
    return tuple(Slots(s.axis, s.rest, tuple(o + place[s.axis] for o in s.offsets)) for s in share)


def _row_terms(side: MatrixOperand, tables: Tables) -> NDArray[np.int64]:
    """[wave, block, row]: what the elements of a row are worth, where that is one term at all its slots."""
    held_term = tables.terms_of(side.record)
    same = (held_term == held_term[..., :1]).all(axis=-1)
    return np.where(same, held_term[..., 0], UNKNOWN)


def _term_numbers(below: Record, share: Share, factors: tuple[int, int], own_position: bool, tables: Tables) -> int:
    """The accumulator and the sum of the products."""
    terms = tables.terms
    if share is None or (below.kind == "incoming" and not own_position):
        return UNKNOWN
    product = terms.multiply(*factors)
    total = below.term
    for slots in share:
        total = terms.add(total, terms.reduce("sum", slots.axis, product, several(slots.rest, slots.offsets)))
    return total


def _shares(a: MatrixOperand, b: MatrixOperand, contracted: list[int], tables: Tables) -> dict[tuple[int, int], Share]:
    """Per (wave, block): the contracted coordinates this instruction adds; None when they are not known."""
    waves, blocks = a.record.shape[:2]
    result: dict[tuple[int, int], Share] = {}
    for w in range(waves):
        for block in range(blocks):
            if len(contracted) != 1:
                result[w, block] = None
                continue
            axis = contracted[0]
            side = a if a.has(axis) else b
            rest, offset = side.rests[w, block, 0, :, axis], side.offset[w, block, 0, :, axis]
            if (rest < 0).any():
                result[w, block] = None
                continue
            groups: dict[int, list[int]] = {}
            for number, value in zip(rest.tolist(), offset.tolist(), strict=True):
                groups.setdefault(number, []).append(value)
            result[w, block] = tuple(
                Slots(axis, tables.rests[number], tuple(sorted(values))) for number, values in sorted(groups.items())
            )
    return result

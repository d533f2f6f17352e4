"""Tag transfer of a matrix instruction, and what it finds wrong with its operands.

D[i, j] = C[i, j] + sum_k A[i, k] * B[k, j]: slot k of row i of A meets slot k of column j of B. For the tags this means

    an axis both operands carry         must have equal coordinates in every pair (i, j, k)
        and varies over the slots       it is contracted: the result loses it, the sum gains these coordinates
        and does not                    a batch axis: the result keeps it
    an axis only one operand carries    must not vary over the slots of a row, or one element of D mixes rows
    the accumulator C                   must carry the coordinates of D already, or be zero or plain

Comparisons run over all waves, rows, columns and slots at once on numbers (rest, offset); only where the symbolic parts
differ is the prover asked. Zeros pair with anything. The lane maps come from `argus.gfx942.mfma`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from argus.check.tables import ABSENT, Record, Slots, Sum, Tables
from argus.check.tags import Case
from argus.check.taken import several
from argus.check.terms import UNKNOWN
from argus.gfx942.mfma import Mfma
from argus.gfx942.mfma import mfma as mfma_named
from argus.layout.expr import Expr

Ints = NDArray[np.int64]
Equal = Callable[[Expr, Expr], bool | None]


@dataclass(frozen=True, slots=True)
class LaneMaps:
    """Where the matrices live: (lane, element) of A[block, i, k] and B[block, j, k]; (block, i, j) of D[lane, r]."""

    row: Mfma
    a_lane: Ints
    a_element: Ints
    b_lane: Ints
    b_element: Ints
    d_block: Ints
    d_i: Ints
    d_j: Ints


@lru_cache(maxsize=64)
def lane_maps(inst: str) -> LaneMaps:
    row = mfma_named(inst)
    lane, e = np.meshgrid(np.arange(64), np.arange(row.a_elements), indexing="ij")
    where = []
    for index, extent in ((row.a_index, row.m), (row.b_index, row.n)):
        x, k, block = (np.broadcast_to(np.asarray(v), lane.shape) for v in index(lane, e))
        lanes = np.zeros((row.blocks, extent, row.k), dtype=np.int64)
        elements = np.zeros_like(lanes)
        lanes[block, x, k], elements[block, x, k] = lane, e
        where += [lanes, elements]
    lane, r = np.meshgrid(np.arange(64), np.arange(row.d_elements), indexing="ij")
    i, j, block = (np.broadcast_to(np.asarray(v), lane.shape).astype(np.int64) for v in row.d_index(lane, r))
    return LaneMaps(row, where[0], where[1], where[2], where[3], block, i, j)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A pair that does not belong together. `kind`: pair (A and B on `axis`), row (A mixes rows), column (B does),
    accumulator (C has other coordinates than D), or unknown with a reason."""

    kind: str
    axis: int
    wave: int
    block: int
    i: int
    j: int
    k: int
    other_k: int = 0
    why: str = ""


@dataclass(slots=True)
class Product:
    """Result tags and everything found wrong, worst first."""

    case: Case
    mismatches: list[Mismatch] = field(default_factory=list)


class Operand:
    """Tags of A or B arranged as [wave, block, row, slot]."""

    def __init__(self, case: Case, lanes: Ints, elements: Ints, tables: Tables) -> None:
        self.record = case.record[:, lanes, elements]
        self.offset = case.offset[:, lanes, elements]
        self.rests = tables.rests_of(self.record)
        self.zero = self.record == Tables.ZERO
        self.any_zero = bool(self.zero.any())

    def has(self, axis: int) -> bool:
        return bool((self.rests[..., axis] != ABSENT).any())

    def varies(self, axis: int) -> bool:
        """Over the slots of some row."""
        return bool(self._differs(axis).any())

    def _differs(self, axis: int) -> NDArray[np.bool_]:
        rest, offset = self.rests[..., axis], self.offset[..., axis]
        different = (rest != rest[..., :1]) | (offset != offset[..., :1])
        if self.any_zero:
            different &= ~(self.zero | self.zero[..., :1])
        return np.asarray(different)

    def first_change(self, axis: int) -> tuple[int, int, int, int] | None:
        different = self._differs(axis)
        if not different.any():
            return None
        w, block, row, k = (int(v) for v in np.argwhere(different)[0])
        return w, block, row, k


def multiply(
    inst: str,
    a_case: Case,
    b_case: Case,
    c_case: Case,
    tables: Tables,
    equal: Equal | None,
    contract: frozenset[int],
) -> Product:
    """Tags of one MFMA's result under one alternative of each operand; without `equal` nothing is compared."""
    maps = lane_maps(inst)
    a = Operand(a_case, maps.a_lane, maps.a_element, tables)
    b = Operand(b_case, maps.b_lane, maps.b_element, tables)
    found = _obstacles(a, b, tables)
    if found:
        number = tables.lost(found[0].why, -1)
        return Product(_flat(c_case, number, tables), found)
    contracted, mismatches = _pairs(a, b, tables, equal, contract)
    result = _result(maps, a, b, c_case, contracted, tables, mismatches)
    return Product(result, mismatches)


def _flat(like: Case, number: int, tables: Tables) -> Case:
    shape = like.record.shape
    record = np.full(shape, number, dtype=np.int32)
    return Case(like.guard, record, np.zeros((*shape, tables.width), np.int32), np.full(shape, -1, np.int64))


def _obstacles(a: Operand, b: Operand, tables: Tables) -> list[Mismatch]:
    for side in (a, b):
        for number in np.unique(side.record):
            record = tables[int(number)]
            if record.kind in ("lost", "unwritten"):
                w, block, row, k = (int(v) for v in np.argwhere(side.record == number)[0])
                i, j = (row, 0) if side is a else (0, row)
                why = record.why or "it reads LDS that was never written"
                return [Mismatch("unknown", -1, w, block, i, j, k, why=why)]
    return []


def _pairs(
    a: Operand, b: Operand, tables: Tables, equal: Equal | None, contract: frozenset[int]
) -> tuple[list[int], list[Mismatch]]:
    contracted: list[int] = []
    mismatches: list[Mismatch] = []
    common = [axis for axis in range(tables.width) if a.has(axis) and b.has(axis)]
    for axis in range(tables.width):
        in_a, in_b = a.has(axis), b.has(axis)
        if in_a and in_b:
            if equal is not None:
                mismatches += _compare(a, b, axis, tables, equal)
            if axis in contract or (not contract and (a.varies(axis) or b.varies(axis) or common == [axis])):
                contracted.append(axis)
        elif in_a or in_b:
            side, other = (a, b) if in_a else (b, a)
            change = side.first_change(axis)
            if change is None:
                continue
            if bool((other.rests == ABSENT).all()):
                contracted.append(axis)  # the other operand belongs to no coordinate (ones): a plain reduction
                continue
            w, block, row, k = change
            kind, i, j = ("row", row, 0) if in_a else ("column", 0, row)
            mismatches.append(Mismatch(kind, axis, w, block, i, j, k, 0))
    if not contracted and not mismatches and not (a.any_zero or b.any_zero):
        why = "the operands share no axis to contract over"
        mismatches.append(Mismatch("unknown", -1, 0, 0, 0, 0, 0, why=why))
    return contracted, mismatches


def _compare(a: Operand, b: Operand, axis: int, tables: Tables, equal: Equal) -> list[Mismatch]:
    """Coordinates on one axis for every (row, column, slot)."""
    ra, oa = a.rests[..., axis], a.offset[..., axis]
    rb, ob = b.rests[..., axis], b.offset[..., axis]
    if not (a.any_zero or b.any_zero) and _same_rows(ra, oa) and _same_rows(rb, ob):
        ra, oa, rb, ob = ra[:, :, :1], oa[:, :, :1], rb[:, :, :1], ob[:, :, :1]
        if np.array_equal(ra, rb) and np.array_equal(oa, ob) and not (ra < 0).any():
            return []
    left = (ra[:, :, :, None], oa[:, :, :, None])
    right = (rb[:, :, None], ob[:, :, None])
    wrong = (left[0] != right[0]) | (left[1] != right[1]) | (left[0] < 0) | (right[0] < 0)
    if a.any_zero or b.any_zero:
        wrong &= ~(a.zero[:, :, : ra.shape[2], None] | b.zero[:, :, None, : rb.shape[2]])
    if not wrong.any():
        return []
    shape = wrong.shape
    definite = wrong & (left[0] == right[0])
    if definite.any():
        return [_first_wrong(definite, left[0], right[0], axis, tables)]
    x, y = np.broadcast_to(left[0], shape)[wrong], np.broadcast_to(right[0], shape)[wrong]
    difference = (np.broadcast_to(left[1], shape) - np.broadcast_to(right[1], shape))[wrong]
    keys = np.stack([x, y, difference], axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    bad = np.array([_judge(key, tables, equal) is not True for key in distinct])
    if not bad.any():
        return []
    refuted = np.zeros(shape, dtype=np.bool_)
    refuted[wrong] = bad[inverse.reshape(-1)]
    return [_first_wrong(refuted, left[0], right[0], axis, tables)]


def _first_wrong(
    wrong: NDArray[np.bool_], left: NDArray[np.int32], right: NDArray[np.int32], axis: int, tables: Tables
) -> Mismatch:
    at = tuple(int(v) for v in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    rests = int(np.broadcast_to(left, wrong.shape)[at]), int(np.broadcast_to(right, wrong.shape)[at])
    w, block, i, j, k = at
    if min(rests) < 0:
        why = f"axis {tables.axis_names[axis]} of an operand was combined from different coordinates"
        return Mismatch("unknown", axis, w, block, i, j, k, why=why)
    return Mismatch("pair", axis, w, block, i, j, k)


def _same_rows(rest: NDArray[np.int32], offset: NDArray[np.int32]) -> bool:
    return bool((rest == rest[:, :, :1]).all() and (offset == offset[:, :, :1]).all())


def _judge(key: NDArray[np.int64], tables: Tables, equal: Equal) -> bool | None:
    left, right, difference = (int(v) for v in key)
    if left < 0 or right < 0 or left == right:
        return False
    return equal(tables.rests[left] + difference, tables.rests[right])


def _result(
    maps: LaneMaps,
    a: Operand,
    b: Operand,
    c: Case,
    contracted: list[int],
    tables: Tables,
    mismatches: list[Mismatch],
) -> Case:
    shape = c.record.shape
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
    _check_accumulator(maps, c, rests, offset, tables, mismatches)
    record = _records(maps, a, b, c, contracted, rests, tables)
    return Case(c.guard, record, offset, np.full(shape, -1, dtype=np.int64))


def _check_accumulator(
    maps: LaneMaps,
    c: Case,
    rests: NDArray[np.int32],
    offset: NDArray[np.int32],
    tables: Tables,
    mismatches: list[Mismatch],
) -> None:
    mine = tables.rests_of(c.record)
    wrong = (mine != ABSENT) & ((mine != rests) | (c.offset != offset)) & (rests != ABSENT)
    if wrong.any():
        w, lane, r, axis = (int(v) for v in np.argwhere(wrong)[0])
        where = int(maps.d_block[lane, r]), int(maps.d_i[lane, r]), int(maps.d_j[lane, r])
        mismatches.append(Mismatch("accumulator", axis, w, *where, 0))
        return
    for number in np.unique(c.record):
        if tables[int(number)].kind in ("lost", "unwritten"):
            why = tables[int(number)].why or "the accumulator was never written"
            mismatches.append(Mismatch("unknown", -1, 0, 0, 0, 0, 0, why=why))


def _records(
    maps: LaneMaps,
    a: Operand,
    b: Operand,
    c: Case,
    contracted: list[int],
    rests: NDArray[np.int32],
    tables: Tables,
) -> NDArray[np.int32]:
    shape = c.record.shape
    shares = _shares(a, b, contracted, tables)
    keys = [c.record.astype(np.int64)[..., None], rests.astype(np.int64)]
    if len(set(shares.values())) > 1:
        order = {share: n for n, share in enumerate(dict.fromkeys(shares.values()))}
        share_of = np.array([[order[shares[w, x]] for x in range(maps.row.blocks)] for w in range(shape[0])])
        keys.append(share_of[:, maps.d_block][..., None])
    worth = [_row_terms(side, tables) for side in (a, b)]
    for side_worth, rows in zip(worth, (maps.d_i, maps.d_j), strict=True):
        if bool((side_worth != side_worth[0, 0, 0]).any()):
            keys.append(side_worth[:, maps.d_block, rows][..., None])
    key = np.concatenate(keys, axis=-1).reshape(-1, sum(k.shape[-1] for k in keys))
    if bool((key == key[0]).all()):
        first, inverse = np.array([0]), np.zeros(len(key), dtype=np.int64)
    else:
        _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    made = []
    behind = frozenset[int]().union(
        *(tables[int(n)].statistics for side in (a.record, b.record, c.record) for n in np.unique(side))
    )
    flat_rests = rests.reshape(-1, tables.width)
    position = np.arange(int(np.prod(shape)), dtype=np.int64)
    own = bool((c.offset[..., 0].reshape(-1) == position).all())
    for n in first:
        wave, lane, r = (int(v) for v in np.unravel_index(int(n), shape))
        below = tables[int(c.record[wave, lane, r])]
        share = shares[wave, int(maps.d_block[lane, r])]
        numbers = tuple(int(v) for v in flat_rests[n])
        block = int(maps.d_block[lane, r])
        factors = int(worth[0][wave, block, maps.d_i[lane, r]]), int(worth[1][wave, block, maps.d_j[lane, r]])
        term = _worth(below, share, factors, own, tables)
        made.append(tables.intern(Record("value", "", numbers, _sum(below, share, own), statistics=behind, term=term)))
    return np.array(made, dtype=np.int32)[inverse.reshape(-1)].reshape(shape)


def _row_terms(side: Operand, tables: Tables) -> NDArray[np.int64]:
    """[wave, block, row]: what the elements of a row are worth, where that is one term at all its slots."""
    worth = tables.terms_of(side.record)
    same = (worth == worth[..., :1]).all(axis=-1)
    return np.where(same, worth[..., 0], UNKNOWN)


def _worth(
    below: Record, share: tuple[Slots, ...] | None, factors: tuple[int, int], own_position: bool, tables: Tables
) -> int:
    """The accumulator and the sum of the products."""
    terms = tables.terms
    if share is None or (below.kind == "incoming" and not own_position):
        return UNKNOWN
    product = terms.multiply(*factors)
    total = below.term
    for slots in share:
        total = terms.add(total, terms.reduce("sum", slots.axis, product, several(slots.rest, slots.offsets)))
    return total


def _shares(
    a: Operand, b: Operand, contracted: list[int], tables: Tables
) -> dict[tuple[int, int], tuple[Slots, ...] | None]:
    """Per (wave, block): the contracted coordinates this instruction adds; None when they are not known."""
    waves, blocks = a.record.shape[:2]
    result: dict[tuple[int, int], tuple[Slots, ...] | None] = {}
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


def _sum(below: Record, share: tuple[Slots, ...] | None, own_position: bool) -> Sum | None:
    if share is None:
        return None
    if below.kind == "zero":
        return Sum("zero", share)
    if below.kind == "incoming":
        return Sum(f"slot:{below.label}", share) if own_position else None
    if below.kind == "value" and below.sums is not None:
        return Sum(below.sums.root, (*below.sums.items, *share))
    return Sum("start", share)

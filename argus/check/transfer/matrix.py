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

from argus.check.domain.record_numbers import distinct
from argus.check.domain.records import ABSENT, Tables
from argus.check.domain.tags import Case
from argus.gfx942.mfma import MfmaShape
from argus.gfx942.mfma import mfma as mfma_named
from argus.layout.expr import Expr

Ints = NDArray[np.int64]
Equal = Callable[[Expr, Expr], bool | None]


@dataclass(frozen=True, slots=True)
class LaneMaps:
    """Where the matrices live: (lane, element) of A[block, i, k] and B[block, j, k]; (block, i, j) of D[lane, r]."""

    row: MfmaShape
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


class MatrixOperand:
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


def obstacles(a: MatrixOperand, b: MatrixOperand, tables: Tables) -> list[Mismatch]:
    for side in (a, b):
        for number in distinct(side.record):
            record = tables[number]
            if record.kind in ("lost", "unwritten"):
                w, block, row, k = (int(v) for v in np.argwhere(side.record == number)[0])
                i, j = (row, 0) if side is a else (0, row)
                why = record.why or "it reads LDS that was never written"
                return [Mismatch("unknown", -1, w, block, i, j, k, why=why)]
    return []


def pairs(
    a: MatrixOperand, b: MatrixOperand, tables: Tables, equal: Equal | None, contract: frozenset[int]
) -> tuple[list[int], list[Mismatch]]:
    contracted: list[int] = []
    mismatches: list[Mismatch] = []
    common = [axis for axis in range(tables.width) if a.has(axis) and b.has(axis)]
    over = [axis for axis in common if a.varies(axis) or b.varies(axis) or common == [axis]]
    over = over or [axis for axis in common if axis in contract]  # one slot of an axis: the author says which
    for axis in range(tables.width):
        in_a, in_b = a.has(axis), b.has(axis)
        if in_a and in_b:
            if equal is not None:
                mismatches += _compare(a, b, axis, tables, equal)
            if axis in over:
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


def _compare(a: MatrixOperand, b: MatrixOperand, axis: int, tables: Tables, equal: Equal) -> list[Mismatch]:
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

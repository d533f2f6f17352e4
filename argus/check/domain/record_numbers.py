"""Record numbers of whole arrays: which occur, and each replaced by another.

    distinct([7, 7, 9, 7])                      [7, 9]
    relabelled([7, 7, 9, 7], {7: 12, 9: 13})    [12, 12, 13, 12]
    distinct_rows([[7, 1], [7, 1], [2, 9]])     [[2, 9], [7, 1]], first at 2 and 0; the rows are number 1, 1, 0

Record numbers are small and most arrays hold a single one, so counting (no sorting) and a table (no search) do; both
are linear, where `np.unique` sorts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.int32]
Ints = NDArray[np.int64]
COUNTED = 1 << 16
"""Codes of rows are counted up to here; beyond, they are sorted."""


def distinct(record: Records) -> list[int]:
    """The numbers that occur, ascending."""
    if record.size == 0:
        return []
    if is_filled(record):
        return [int(record.flat[0])]
    return [int(n) for n in np.flatnonzero(np.bincount(record.reshape(-1)))]


def relabelled(record: Records, change: Mapping[int, int]) -> Records:
    """Every number that occurs replaced by what `change` says."""
    if all(old == new for old, new in change.items()):
        return record
    if len(change) == 1:
        return filled(record.shape, next(iter(change.values())))
    table = np.zeros(max(change) + 1, dtype=np.int32)
    table[list(change)] = list(change.values())
    return table[record]


def is_filled(record: Records) -> bool:
    """All numbers are the same."""
    first = int(record.flat[0])
    return record is filled(record.shape, first) or bool((record == first).all())


@lru_cache(maxsize=1024)
def filled(shape: tuple[int, ...], number: int) -> Records:
    """An array of one number, shared by all who ask for it, so that equal ones are usually the same object."""
    made = np.full(shape, number, dtype=np.int32)
    made.setflags(write=False)
    return made


def distinct_rows(table: NDArray[Any]) -> tuple[NDArray[Any], Ints, Ints]:
    """The distinct rows of integers in lexicographic order, where each stands first, and the number of every row."""
    if len(table) == 0:
        return table, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    code, size = np.zeros(len(table), dtype=np.int64), 1
    for column in table.T:
        low = int(column.min())
        span = int(column.max()) - low + 1
        if span > 1:
            code, size = code * span + (column - low), size * span
        if size > COUNTED:
            numbers, code = np.unique(code, return_inverse=True)
            size = len(numbers)
    first = np.full(size, -1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)  # the last assignment to a place stands
    present = np.flatnonzero(first >= 0)
    number = np.zeros(size, dtype=np.int64)
    number[present] = np.arange(len(present))
    return table[first[present]], first[present], number[code]

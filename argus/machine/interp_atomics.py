"""Applying a read-modify-write to memory words: all lanes at once when their addresses differ, else one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.machine.semantics.atomics import ATOMICS, TWO_OPERANDS
from argus.machine.semantics.mem import MemoryOp
from argus.machine.semantics.numpy_backend import NumpyBuilder

Rows = NDArray[np.uint32]
U32, U64 = np.uint32, np.uint64


def _join(rows: Any, dwords: int) -> Any:
    return rows[0] if dwords == 1 else rows[0].astype(U64) | rows[1].astype(U64) << U64(32)


def _split(values: Any, dwords: int) -> Rows:
    if dwords == 1:
        return np.asarray(values, U32)[None, :]
    return np.stack([values.astype(U32), (values >> U64(32)).astype(U32)])


def apply_atomic(op: MemoryOp, builder: NumpyBuilder, words: Rows, offsets: Any, data: Rows) -> Rows:
    """Update the words at byte `offsets` (n,) with `data` (rows, n); returns the old values (dwords, n)."""
    first = offsets >> 2
    if len(np.unique(first)) == len(first):
        return _update(op, builder, words, first, data)
    old = [_update(op, builder, words, first[k : k + 1], data[:, k : k + 1]) for k in range(len(first))]
    return np.concatenate(old, axis=1)


def _update(op: MemoryOp, builder: NumpyBuilder, words: Rows, first: Any, data: Rows) -> Rows:
    n = op.dwords
    old = np.stack([words[first + d] for d in range(n)])
    value = _join(old, n)
    operands = [_join(data[:n], n)]
    if op.atomic in TWO_OPERANDS:
        operands.append(_join(data[n : 2 * n], n))
    new = _split(ATOMICS[op.atomic](builder, value, *operands), n)
    for d in range(n):
        words[first + d] = new[d]
    return old

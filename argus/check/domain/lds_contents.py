"""What LDS holds, granule by granule, and who wrote it.

LDS is at most 64 KiB, and inside one workgroup addresses are finite, so the state is an array: granule -> tag. A
granule is the largest unit all accesses are multiples of (two bytes for bf16). Stores scatter into it, loads gather
from it, exactly, whatever the swizzle. Addresses that keep a symbolic part (a ring whose slot is not resolved) make
the whole buffer unknown, and the report says which access did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct, relabelled
from argus.check.domain.records import Tables
from argus.check.domain.tags import MAX_CASES, SITE_SHIFT, Case, Tags, merge, product, uniform
from argus.check.domain.threads import Threads
from argus.check.transfer.conversions import assemble
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Shared
from argus.layout import expr as E
from argus.layout.expr import Expr

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def granule_of(kernel: Kernel) -> int:
    """The largest unit, in bytes, that every LDS access and address is a multiple of."""
    unit = 0
    for op in ops.walk(kernel.body):
        if isinstance(op, ops.Load | ops.Store | ops.Atomic) and isinstance(op.access.memory, Shared):
            unit = gcd(unit, op.access.memory.dtype.bytes, op.access.memory.base, _common_factor(op.access.address))
        elif isinstance(op, ops.CopyToLds):
            unit = gcd(unit, op.access.memory.dtype.bytes, op.into.base, _common_factor(op.lds_base), 4)
    return max(unit, 1)


def _common_factor(e: Expr) -> int:
    parts, constant = E.linear(e)
    return gcd(constant, *parts.values())


class SharedMemory:
    """The state of LDS along one path of the program."""

    def __init__(self, kernel: Kernel, tables: Tables) -> None:
        self.tables = tables
        self.unit = granule_of(kernel)
        self.size = max(1, -(-kernel.lds_bytes // self.unit))
        self.tags: Tags = uniform((self.size,), Tables.UNWRITTEN, tables.width)

    def granules(self, start: Ints, count: int, bytes_each: int) -> Ints:
        """[wave, lane, element, piece] for byte addresses start[wave, lane]."""
        pieces = bytes_each // self.unit
        steps = np.arange(count * pieces, dtype=np.int64).reshape(count, pieces)
        return start[..., None, None] // self.unit + steps

    def store(
        self,
        op: int,
        where: Ints,
        active: Mask,
        value: Tags,
        threads: Threads,
        feasible: Callable[[Expr], bool],
    ) -> bool:
        """Scatter the value; False when there are too many alternatives, after which LDS is lost."""
        inside = np.flatnonzero(active[..., None, None] & (where >= 0) & (where < self.size))
        each = where.size // (64 * threads.waves)
        site = (op << SITE_SHIFT) + inside // each
        target = where.reshape(-1)[inside]
        pieces = where.shape[-1]

        def combine(cases: tuple[Case, ...]) -> Case:
            old, new = cases
            record, offset, sites = old.record.copy(), old.offset.copy(), old.site.copy()
            values = np.stack([self._piece(new.record, p, pieces) for p in range(pieces)], axis=-1)
            record[target] = np.broadcast_to(values, where.shape).reshape(-1)[inside]
            spread = np.broadcast_to(new.offset, (*where.shape[:-1], self.tables.width))
            offset[target] = spread.reshape(-1, self.tables.width)[inside // pieces]
            sites[target] = site
            return Case(old.guard, record, offset, sites)

        result = product((self.tags, value), combine, feasible)
        if result is None:
            self.lose(f"more than {MAX_CASES} alternatives of LDS contents", op)
            return False
        self.tags = result
        return True

    def _piece(self, record: NDArray[np.int32], piece: int, pieces: int) -> NDArray[np.int32]:
        if pieces == 1:
            return record
        changed = {}
        for n in distinct(record):
            one = self.tables[n]
            if one.kind in ("element", "value", "plain"):
                one = replace(one, part=(one.part[0] * pieces + piece, one.part[1] * pieces))
            changed[n] = self.tables.intern(one)
        return relabelled(record, changed)

    def load(self, op: int, where: Ints, active: Mask) -> Tags:
        """Gather; threads that do not take part read zero."""
        done = active[..., None, None] & (where >= 0) & (where < self.size)
        index = np.where(done, where, 0)
        everyone = bool(done.all())

        def read(case: Case) -> Case:
            pieces = [case.record[index[..., p]] for p in range(where.shape[-1])]
            offsets = [case.offset[index[..., p]] for p in range(where.shape[-1])]
            record = assemble(pieces, offsets, self.tables, op)
            offset, site = offsets[0], case.site[index[..., 0]]
            if not everyone:
                record = np.where(done[..., 0], record, Tables.ZERO).astype(np.int32)
                offset = np.where(done[..., 0, None], offset, 0).astype(np.int32)
            return Case(case.guard, record, offset, site)

        return merge(self.tags.each(read))

    def lose(self, why: str, op: int) -> None:
        self.tags = uniform((self.size,), self.tables.lost(why, op), self.tables.width)

    def lose_range(self, buffer: Shared, why: str, op: int) -> None:
        first, last = buffer.base // self.unit, -(-(buffer.base + buffer.bytes) // self.unit)
        number = self.tables.lost(why, op)

        def forget(case: Case) -> Case:
            record, offset, site = case.record.copy(), case.offset.copy(), case.site.copy()
            record[first:last], offset[first:last], site[first:last] = number, 0, -1
            return Case(case.guard, record, offset, site)

        self.tags = merge(self.tags.each(forget))

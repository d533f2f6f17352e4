"""Loads, stores and atomics in exact algebra: ids move with the bytes.

The interpreter shows every access to its observers when it is issued. The instruction is executed on the real wave,
its accesses are collected, and ids follow: an instruction that is cut into pieces at the end of a buffer shows each
lane's pieces in the order of its bytes, the two elements of a `ds_read2` one after the other; bytes that no piece
covers are literal zeros. Atomics update ids before memory changes, one lane after another where lanes meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argus.gfx942.inst import Inst
from argus.machine import record
from argus.machine.algebra.carried import bits_of, ids_of
from argus.machine.algebra.carrying_wave import CarryingWave
from argus.machine.algebra.planes import MemoryPlanes
from argus.machine.algebra.value_table import LITERAL, Ids
from argus.machine.interp_operands import register
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.memory import gather
from argus.machine.semantics.atomics import ATOMICS, TWO_OPERANDS
from argus.machine.semantics.mem import MEMORY
from argus.machine.state import LANES

Execute = Callable[[Any], Any]


class MemoryMove:
    """One vector or LDS memory instruction."""

    def __init__(self, inst: Inst, services: Services, planes: MemoryPlanes) -> None:
        self.inst, self.op, self._services, self._planes = inst, MEMORY[inst.op], services, planes
        self._accesses: list[MemoryAccess] = []
        self._old: Ids | None = None
        self._wave: CarryingWave | None = None
        op, accum = self.op, services.accum_offset
        self.to_lds = op.to_lds or bool(inst.mods.get("lds"))
        self.returns = op.returns or (op.kind == "atomic" and op.space != "lds" and bool(inst.mods.get("sc0")))
        operands = list(inst.operands)
        self.target = -1
        if (op.kind == "load" and not self.to_lds) or self.returns:
            self.target = register(operands[0], accum)
        self.sources: list[int] = []
        if op.kind != "load":
            if op.space == "buffer":
                self.sources = [register(operands[0], accum)]
            else:
                operands = operands[1:] if self.returns else operands
                data = operands[1:] if op.space == "lds" else operands[1:2]
                self.sources = [register(o, accum) for o in data]

    def access(self, access: MemoryAccess) -> None:
        """An access of the instruction has been issued."""
        if self.op.kind == "atomic" and self._wave is not None:
            self._update(access, self._wave)
        else:
            self._accesses.append(access)

    def run(self, w: CarryingWave, execute: Execute) -> Any:
        """Execute the instruction on the real wave, then move the ids."""
        self._accesses, self._old, self._wave = [], None, w
        lanes = np.flatnonzero(w.wave.lanes)
        stored = self._stored(w) if self.op.kind == "store" else None
        result = execute(w.wave)
        self._wave = None
        if self.op.kind == "atomic":
            if self.returns:
                self._put(w, lanes, self._old)
        elif self.op.kind == "store":
            self._store(w, stored)
        elif self.to_lds:
            self._copy(w)
        else:
            self._put(w, lanes, self._loaded(w))
        return result

    def _loaded(self, w: CarryingWave) -> Ids | None:
        """(64, bytes) ids of all pieces; None if all are literals."""
        found = [(access, self._planes.load(access, w)) for access in self._accesses]
        if all(ids is None for _, ids in found):
            return None
        made = np.zeros((LANES, max(4, 4 * self.op.dwords * self.op.elements)), np.uint32)
        filled = np.zeros(LANES, np.int64)
        for access, ids in found:
            at = filled[access.lanes][:, None] + np.arange(access.size)
            if ids is not None:
                made[access.lanes[:, None], at] = ids
            filled[access.lanes] += access.size
        return made

    def _put(self, w: CarryingWave, lanes: Any, ids: Ids | None) -> None:
        """To the target registers; d16 forms keep the other half."""
        if self.op.half >= 0:
            before = w.v[self.target].ids
            if before is None and ids is None:
                return
            whole = np.zeros((LANES, 4), np.uint32) if before is None else before.copy()
            half = slice(2 * self.op.half, 2 * self.op.half + 2)
            whole[:, half] = LITERAL if ids is None else ids[:, :2]
            w.write(self.target, whole[lanes], lanes)
            return
        for k in range(self.op.dwords * self.op.elements):
            part = None if ids is None else ids[lanes, 4 * k : 4 * k + 4]
            w.write(self.target + k, part, lanes)

    def _stored(self, w: CarryingWave) -> Ids | None:
        """(64, bytes) ids of what a store takes from registers."""
        rows = [w.v[source + d] for source in self.sources for d in range(self.op.dwords)]
        if all(row.ids is None for row in rows):
            return None
        none = np.zeros((LANES, 4), np.uint32)
        made = np.concatenate([none if row.ids is None else row.ids for row in rows], axis=1)
        return made[:, 2:] if self.op.half == 1 else made

    def _store(self, w: CarryingWave, ids: Ids | None) -> None:
        filled = np.zeros(LANES, np.int64)
        for access in self._accesses:
            at = filled[access.lanes][:, None] + np.arange(access.size)
            part = None if ids is None else ids[access.lanes[:, None], at]
            self._planes.store(access, w, part)
            filled[access.lanes] += access.size

    def _copy(self, w: CarryingWave) -> None:
        """From device memory to LDS."""
        ids = self._loaded(w) if self._take(record.GLOBAL) else None
        for access in self._lds_part:
            self._planes.store(access, w, None if ids is None else ids[access.lanes, : access.size])

    def _take(self, space: int) -> bool:
        self._lds_part = [a for a in self._accesses if a.space == record.LDS]
        self._accesses = [a for a in self._accesses if a.space == space]
        return bool(self._accesses)

    def _update(self, access: MemoryAccess, w: CarryingWave) -> None:
        """The values of an atomic, lanes of one address in their order."""
        op, size = self.op, self.op.size
        lds = access.space == record.LDS
        arena, group = self._services.arena, w.wave.group
        words, buffer = (group.lds_words, group.lds) if lds else (arena.words, arena.buffer)
        base = 0 if lds else arena.base
        offsets = (access.addresses.astype(np.uint64) - np.uint64(base)).view(np.int64)
        inside = offsets + size <= len(buffer)
        known = self._planes.load(access, w)
        data = [w.v[source + d] for source in self.sources for d in range(op.dwords)]
        if known is None and all(row.ids is None for row in data):
            self._planes.store(access, w, None)
            return
        held = np.zeros((len(offsets), size), np.uint32) if known is None else known.copy()
        place, first = np.unique(offsets, return_inverse=True)
        bits = gather(words, buffer, np.where(inside, offsets, 0), size).copy()
        order = _occurrences(first)
        old = held.copy()
        for turn in range(int(order.max()) + 1 if len(order) else 0):
            now = np.flatnonzero(order == turn)
            if turn:
                before = np.array([_last(first, order, turn - 1, int(first[k])) for k in now])
                bits[:, now], held[now] = bits[:, before], held[before]
            old[now] = held[now]
            made = self._applied(w, bits[:, now], held[now], access.lanes[now])
            bits[:, now], held[now] = made
        last = np.array([np.flatnonzero(first == k)[-1] for k in range(len(place))], np.int64)
        self._planes.store(access, w, held[last[first]])
        whole = np.zeros((LANES, max(4, size)), np.uint32)
        whole[access.lanes, :size] = old
        self._old = whole

    def _applied(self, w: CarryingWave, bits: Any, ids: Ids, lanes: Any) -> tuple[Any, Ids]:
        """New bits (dwords, n) and ids (n, bytes) of memory cells."""
        op, home = self.op, w.home
        if op.atomic in TWO_OPERANDS:
            return bits, np.full_like(ids, home.lost())
        memory = home.row(_joined(bits), ids)
        rows = [w.v[self.sources[0] + d] for d in range(op.dwords)]
        none = np.zeros((len(lanes), 4), np.uint32)
        own = np.concatenate([none if row.ids is None else row.ids[lanes] for row in rows], axis=1)
        data = home.row(_joined(np.stack([row.bits[lanes] for row in rows])), own)
        made = ATOMICS[op.atomic](w.builder, memory, data)
        value, known = bits_of(made), ids_of(made)
        split = np.ascontiguousarray(value).view(np.uint32).reshape(len(lanes), op.dwords).T
        return split, np.zeros_like(ids) if known is None else known


def _joined(rows: Any) -> Any:
    if len(rows) == 1:
        return rows[0].copy()
    return rows[0].astype(np.uint64) | rows[1].astype(np.uint64) << np.uint64(32)


def _occurrences(which: Any) -> Any:
    """Of each element how many equal ones come before it."""
    seen: dict[int, int] = {}
    order = []
    for value in which.tolist():
        order.append(seen.get(value, 0))
        seen[value] = order[-1] + 1
    return np.array(order, np.int64)


def _last(which: Any, order: Any, turn: int, value: int) -> int:
    return int(np.flatnonzero((which == value) & (order == turn))[0])

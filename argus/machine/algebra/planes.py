"""Ids of memory, one per byte: device memory, LDS of a workgroup, scratch of a wave; and who stored each byte last.

planes.load(access)          (lanes, bytes) ids at the places of an access, None if all are literals
planes.store(access, ids)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.machine import record
from argus.machine.algebra.carrying_wave import CarryingWave
from argus.machine.algebra.value_table import LITERAL, Ids
from argus.machine.interp_services import MemoryAccess
from argus.machine.memory import Arena
from argus.machine.state import Workgroup


@dataclass(frozen=True, slots=True)
class LastWriter:
    """The store that wrote an element last."""

    workgroup: int
    wave: int
    lane: int
    pc: int

    def __str__(self) -> str:
        return f"workgroup {self.workgroup}, wave {self.wave}, lane {self.lane}, stored at {self.pc:#x}"


class MemoryPlanes:
    """See the module."""

    def __init__(self, arena: Arena) -> None:
        self._base = arena.base
        self.device = np.zeros(len(arena.buffer), np.uint32)
        self._writers = np.zeros(len(arena.buffer), np.uint64)
        self._lds: dict[int, Ids] = {}

    def _of_group(self, group: Workgroup) -> Ids:
        if group.number not in self._lds:
            self._lds[group.number] = np.zeros(len(group.lds), np.uint32)
        return self._lds[group.number]

    def forget(self, group: Workgroup) -> None:
        """The workgroup has ended."""
        self._lds.pop(group.number, None)

    def _place(self, access: MemoryAccess, w: CarryingWave) -> tuple[Ids, NDArray[np.int64]]:
        """(ids of the memory, offset of each lane's first byte in them)."""
        if access.space == record.LDS:
            return self._of_group(access.wave.group), access.addresses.astype(np.int64)
        if access.space == record.SCRATCH:
            size = access.wave.scratch.shape[1]
            if w.scratch_ids is None:
                w.scratch_ids = np.zeros(access.wave.scratch.size, np.uint32)
            return w.scratch_ids, access.lanes * size + access.addresses.astype(np.int64)
        return self.device, (access.addresses.astype(np.uint64) - np.uint64(self._base)).view(np.int64)

    def load(self, access: MemoryAccess, w: CarryingWave) -> Ids | None:
        plane, first = self._place(access, w)
        where = first[:, None] + np.arange(access.size)
        inside = (where >= 0) & (where < len(plane))
        found = np.where(inside, plane[np.where(inside, where, 0)], np.uint32(LITERAL))
        return found if found.any() else None

    def store(self, access: MemoryAccess, w: CarryingWave, ids: Ids | None) -> None:
        plane, first = self._place(access, w)
        where = first[:, None] + np.arange(access.size)
        inside = ((where >= 0) & (where < len(plane))).all(axis=1)
        if not inside.all():
            where, ids = where[inside], None if ids is None else ids[inside]
        plane[where] = LITERAL if ids is None else ids
        if access.space == record.GLOBAL:
            self._writers[where] = _signature(access)[inside][:, None]

    def stored(self, first: int, end: int, size: int) -> NDArray[np.bool_]:
        """Of each element of `size` bytes between two places of device memory whether anything was stored there."""
        return np.asarray((self._writers[first:end].reshape(-1, size) > 0).any(axis=1))

    def writer(self, offset: int) -> LastWriter | None:
        """Who stored a byte of device memory last."""
        code = int(self._writers[offset])
        if not code:
            return None
        return LastWriter(code >> 40, code >> 32 & 0xFF, code >> 24 & 0xFF, (code & 0xFFFFFF) - 1)


def _signature(access: MemoryAccess) -> Any:
    w = access.wave
    base = w.group.number << 40 | w.index << 32 | (access.inst.pc + 1 & 0xFFFFFF)
    return np.uint64(base) | access.lanes.astype(np.uint64) << np.uint64(24)

"""Races in global memory: two waves touch the same bytes, one writes, and nothing orders them.

Ordered are: accesses of one wave; accesses of one workgroup with a barrier between (and the earlier one completed
before it, as in `lds_races`); accesses of different workgroups if the first released and the second acquired through
memory. Releases and acquires are atomics, and stores and loads with a coherence bit (sc0, sc1, glc) of an address
used that way; they do not race with each other, and carry vector clocks, so "workgroup 3 has seen all that workgroup
0 did before its release" is exact.

Shadow words are as small as the smallest store of the kernel. Of the readers of a word the last two waves are
remembered; a race with an earlier reader can be missed. Storing the value that is there already is no race.
Workgroups that are not run (sampling) cannot race.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine import record
from argus.machine.errors import LaunchPoint
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.memory import gather
from argus.machine.semantics.mem import MEMORY
from argus.machine.state import Wave, Workgroup

NOBODY = -1
Index = NDArray[np.int64]


@dataclass(slots=True)
class _GlobalFlight:
    number: int
    inst: Inst
    index: Index
    kind: str


class _Marks:
    """Who touched each word last: wave, barrier interval, workgroup clock, instruction."""

    def __init__(self, words: int) -> None:
        self.wave = np.full(words, NOBODY, np.int32)
        self.interval = np.zeros(words, np.int32)
        self.clock = np.zeros(words, np.int32)
        self.pc = np.zeros(words, np.int32)

    def set(self, index: Index, wave: int, interval: int, clock: int, pc: int) -> None:
        self.wave[index] = wave
        self.interval[index] = interval
        self.clock[index] = clock
        self.pc[index] = pc

    def move(self, index: Index, other: _Marks) -> None:
        for name in ("wave", "interval", "clock", "pc"):
            getattr(self, name)[index] = getattr(other, name)[index]


def _coherent(inst: Inst) -> bool:
    return bool(inst.mods.get("sc0") or inst.mods.get("sc1") or inst.mods.get("glc"))


class GlobalRaceCheck:
    """Observes global and scalar accesses, barriers, and synchronisation through memory."""

    def __init__(self, services: Services, waves: int) -> None:
        self._services = services
        self._waves = waves
        self._granule = 4
        self._insts: dict[int, Inst] = {}
        self._flights: dict[int, list[_GlobalFlight]] = {}
        self._seen: dict[int, dict[int, int]] = {}
        self._clock: dict[int, int] = {}
        self._released: dict[int, dict[int, int]] = {}
        self._writes: _Marks | None = None
        self._reads: _Marks | None = None
        self._older_reads: _Marks | None = None
        self._atomic: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def bind(self, insts: list[Inst]) -> None:
        sizes = [
            MEMORY[i.op].size
            for i in insts
            if i.op in MEMORY and MEMORY[i.op].space != "lds" and MEMORY[i.op].kind != "load"
        ]
        self._granule = min([4, *sizes])

    def workgroup_started(self, group: Workgroup) -> None:
        self._clock[group.number] = 1
        self._seen[group.number] = {}

    def _marks(self) -> tuple[_Marks, _Marks, _Marks]:
        if self._writes is None or self._reads is None or self._older_reads is None:
            words = len(self._services.arena.buffer) // self._granule
            self._writes, self._reads, self._older_reads = _Marks(words), _Marks(words), _Marks(words)
            self._atomic = np.zeros(words, np.bool_)
        return self._writes, self._reads, self._older_reads

    def access(self, access: MemoryAccess) -> None:
        if access.space not in (record.GLOBAL, record.SCALAR):
            return
        w, inst = access.wave, access.inst
        self._insts[inst.pc] = inst
        offsets = (access.addresses - np.uint64(self._services.arena.base)).astype(np.int64)
        first = offsets // self._granule
        index = (first[:, None] + np.arange(-(-access.size // self._granule))).reshape(-1)
        self._synchronise(access, offsets)
        kind: str = access.kind
        if _coherent(inst):
            kind = "coherent load" if kind == "load" else "atomic"
        self._touch(w, inst, index, kind, access, self._changes(access, offsets, len(index)))
        if w.queues is not None:
            self._flights.setdefault(self._uid(w), []).append(_GlobalFlight(w.queues.issued, inst, index, kind))

    def _uid(self, w: Wave) -> int:
        return w.group.number * self._waves + w.index

    def _synchronise(self, access: MemoryAccess, offsets: Any) -> None:
        if access.kind != "atomic" and not _coherent(access.inst):
            return
        group = access.wave.group.number
        seen = self._seen[group]
        for address in set(offsets.tolist()):
            if access.kind == "load" and address not in self._released:
                continue
            known = self._released.setdefault(address, {})
            if access.kind != "store":
                for other, clock in known.items():
                    seen[other] = max(seen.get(other, 0), clock)
            if access.kind != "load":
                for other, clock in seen.items():
                    known[other] = max(known.get(other, 0), clock)
                known[group] = self._clock[group]
        if access.kind != "load":
            self._clock[group] += 1

    def barrier_released(self, group: Workgroup) -> None:
        for w in group.waves:
            flights = self._flights.get(self._uid(w), [])
            alive = w.queues.in_flight() if w.queues is not None else frozenset()
            kept = [f for f in flights if f.number in alive]
            self._flights[self._uid(w)] = kept
            for f in kept:
                self._touch(w, f.inst, f.index, f.kind, None, None)

    def _unordered(self, w: Wave, marks: _Marks, index: Index) -> Any:
        """Which words carry a mark of an access that is not ordered before this one."""
        who = marks.wave[index]
        other = (who != NOBODY) & (who != self._uid(w))
        if not other.any():
            return other
        groups = who // self._waves
        same = groups == w.group.number
        bad = other & same & (marks.interval[index] >= w.barriers)
        foreign = other & ~same
        if foreign.any():
            seen = self._seen[w.group.number]
            known = np.array([seen.get(g, 0) for g in groups[foreign].tolist()])
            bad[foreign] = marks.clock[index[foreign]] > known
        return bad

    def _changes(self, access: MemoryAccess, offsets: Any, words: int) -> Any:
        """Which words a store changes; None if all may."""
        if access.data is None:
            return None
        arena = self._services.arena
        field = np.uint32(0xFFFFFFFF >> max(0, 32 - 8 * access.size))
        same = gather(arena.words, arena.buffer, offsets, access.size) == (access.data & field)
        return np.repeat(~same.T, words // same.size, axis=1).reshape(-1)

    def _touch(self, w: Wave, inst: Inst, index: Index, kind: str, access: MemoryAccess | None, changes: Any) -> None:
        writes, reads, older = self._marks()
        after_write = self._unordered(w, writes, index)
        if kind in ("atomic", "coherent load"):
            after_write &= ~self._atomic[index]
        elif changes is not None:
            after_write &= changes | self._atomic[index]
        if after_write.any():
            verb = "writes" if kind in ("store", "atomic") else "reads"
            self._report(w, inst, index, after_write, writes, f"{verb} what", "writes", access)
        if kind == "coherent load":
            return
        stamp = (self._uid(w), w.barriers, self._clock[w.group.number], inst.pc)
        if kind == "load":
            changed = index[reads.wave[index] != stamp[0]]
            older.move(changed, reads)
            reads.set(index, *stamp)
            return
        for marks in (reads, older):
            after_read = self._unordered(w, marks, index)
            if after_read.any():
                self._report(w, inst, index, after_read, marks, "writes what", "reads", access)
                break
        writes.set(index, *stamp)
        self._atomic[index] = kind == "atomic"

    def _report(
        self,
        w: Wave,
        inst: Inst,
        index: Index,
        which: Any,
        marks: _Marks,
        what: str,
        verb: str,
        access: MemoryAccess | None,
    ) -> None:
        position = int(np.flatnonzero(which)[0])
        word = int(index[position])
        group, wave = divmod(int(marks.wave[word]), self._waves)
        pc = int(marks.pc[word])
        address = self._services.arena.base + word * self._granule
        allocation = self._services.arena.find(address, 1)
        where = f"byte {address - allocation.start} of {allocation.name}" if allocation else f"{address:#x}"
        lane = int(access.lanes[position * len(access.lanes) // len(index)]) if access is not None else None
        message = f"{what} wave {wave} of workgroup number {group} {verb} ({where}); nothing orders the two"
        place = LaunchPoint(None, wave, None, pc, text(self._insts[pc]))
        self._services.finding("ARG-M101", message, w, inst, lane, other=place, address=address, space="global")

"""Races in LDS: two waves touch the same bytes, one writes, and no barrier lies between.

Every LDS word remembers its last writer and the waves that read it, with the barrier interval (the number of barriers
the wave has passed) in which they did. A barrier orders accesses only if they have completed: an access that is still
in flight when its wave meets the barrier counts in the next interval, too. That is how a missing `s_waitcnt
lgkmcnt(0)` before a barrier, or a direct-to-LDS load nobody waited for, is found.

A direct copy to LDS and an ordinary access go by different ways and counters, so nothing orders them within a wave
either: the second of two that touch common bytes while the first is in flight is reported as a missing wait (ARG-M102).

    buffer_load_dword v1, s[4:7], 0 offen lds
    ds_read_b32 v2, v0                              -> ARG-M102: wait vmcnt(0) first

    wave 0: ds_write_b32 v0, v1        interval 3
    wave 1: ds_read_b32 v2, v0         interval 3       -> ARG-M101 race, both instructions named

Words are 4 bytes, or single bytes in kernels with byte or short LDS accesses. Atomics do not race with atomics, and
waves that store the same value (compilers let several waves write replicated data) do not race with each other.
Lanes of one store that write different values to one address are reported as conflicting (ARG-M112).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import writes_lds
from argus.machine import record
from argus.machine.errors import LaunchPoint
from argus.machine.interp_services import MemoryAccess, Services
from argus.machine.semantics.mem import MEMORY
from argus.machine.state import Wave, Workgroup

Index = NDArray[np.int64]


@dataclass(slots=True)
class _Flight:
    """An access that may not have completed."""

    number: int
    inst: Inst
    index: Index
    kind: str
    values: Any


class LdsShadow:
    """What a workgroup's LDS remembers about its accesses."""

    def __init__(self, words: int, waves: int) -> None:
        self.write_interval = np.full(words, -1, np.int32)
        self.write_wave = np.zeros(words, np.int16)
        self.write_pc = np.zeros(words, np.int32)
        self.write_atomic = np.zeros(words, np.bool_)
        self.write_value = np.zeros(words, np.uint32)
        self.read_interval = np.full(words, -1, np.int32)
        self.read_waves = np.zeros(words, np.uint32)
        self.read_pc = np.zeros(words, np.int32)
        self.flights: list[list[_Flight]] = [[] for _ in range(waves)]


class LdsRaceCheck:
    """Observes LDS accesses and barriers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._insts: dict[int, Inst] = {}
        self._shadows: dict[int, LdsShadow] = {}
        self._granule = 4
        self._copies = False
        """The kernel has direct copies to LDS."""

    def bind(self, insts: list[Inst]) -> None:
        sizes = [MEMORY[i.op].size for i in insts if i.op in MEMORY and MEMORY[i.op].space == "lds"]
        self._granule = 4 if all(size >= 4 for size in sizes) else 1
        self._copies = any(writes_lds(i) for i in insts)

    def workgroup_started(self, group: Workgroup) -> None:
        self._shadows[group.number] = LdsShadow(len(group.lds) // self._granule, len(group.waves))

    def workgroup_ended(self, group: Workgroup) -> None:
        self._shadows.pop(group.number, None)

    def access(self, access: MemoryAccess) -> None:
        if access.space != record.LDS:
            return
        w, shadow = access.wave, self._shadows[access.wave.group.number]
        self._insts[access.inst.pc] = access.inst
        index, inside = self._words(access, len(shadow.write_wave))
        flat, values = index.reshape(-1), None
        if access.data is not None and index.shape[1] * self._granule == max(access.size, self._granule):
            values = self._values(access.data[:, inside], access.size, index.shape[1])
            self._conflicting_lanes(access, flat, values)
        if self._copies:
            self._unwaited(access, shadow, flat)
        self._touch(w, shadow, access.inst, flat, access.kind, access, values)
        if w.queues is not None:
            shadow.flights[w.index].append(_Flight(w.queues.issued, access.inst, flat, access.kind, values))

    def _unwaited(self, access: MemoryAccess, shadow: LdsShadow, index: Index) -> None:
        """A direct copy and an ordinary access of one wave at common bytes, the earlier one still in flight."""
        w, direct = access.wave, writes_lds(access.inst)
        alive = w.queues.in_flight() if w.queues is not None else frozenset()
        flights = shadow.flights[w.index] = [f for f in shadow.flights[w.index] if f.number in alive]
        for f in flights:
            common = np.isin(index, f.index) if writes_lds(f.inst) != direct else np.zeros(0, np.bool_)
            if common.any():
                position = int(np.flatnonzero(common)[0])
                byte = int(index[position]) * self._granule
                verb = "reads" if access.kind == "load" else "writes"
                first, counter = ("ordinary access", "lgkmcnt") if direct else ("direct copy", "vmcnt")
                message = f"{verb} LDS byte {byte} before s_waitcnt {counter} makes this wave's {first} to it certain"
                lane = int(access.lanes[position * len(access.lanes) // len(index)])
                other = LaunchPoint(w.group.id, w.index, None, f.inst.pc, text(f.inst))
                self._services.finding(
                    "ARG-M102", message, w, access.inst, lane, other=other, address=byte, space="lds"
                )
                return

    def _values(self, data: Any, size: int, words: int) -> Any:
        """The stored data as (lanes * words per lane) values."""
        if self._granule == 4:
            return data.T.reshape(-1)
        return np.ascontiguousarray(data.T).view(np.uint8)[:, :words].reshape(-1).astype(np.uint32)

    def _words(self, access: MemoryAccess, words: int) -> tuple[Any, Any]:
        """((lanes, words per lane) touched, which lanes); lanes outside LDS are left to the bounds check."""
        g = self._granule
        first = access.addresses.astype(np.int64) // g
        span = -(-access.size // g) + (1 if g == 4 and (access.addresses & 3).any() else 0)
        index = first[:, None] + np.arange(span)
        inside = (index < words).all(axis=1)
        return index[inside], inside

    def _conflicting_lanes(self, access: MemoryAccess, index: Index, values: Any) -> None:
        """Lanes of one store that write different values to the same word."""
        order = np.argsort(index, kind="stable")
        sorted_index, sorted_values = index[order], values[order]
        clash = (sorted_index[1:] == sorted_index[:-1]) & (sorted_values[1:] != sorted_values[:-1])
        if not clash.any():
            return
        k = int(np.flatnonzero(clash)[0])
        per_lane = len(index) // len(access.lanes)
        one, two = (int(access.lanes[min(order[k + d] // per_lane, len(access.lanes) - 1)]) for d in range(2))
        byte = int(sorted_index[k]) * self._granule
        message = f"lanes {one} and {two} store different values to LDS byte {byte}"
        self._services.finding("ARG-M112", message, access.wave, access.inst, two, address=byte, space="lds")

    def barrier_released(self, group: Workgroup) -> None:
        """Accesses in flight across the barrier count in the new interval."""
        shadow = self._shadows.get(group.number)
        if shadow is None:
            return
        for w in group.waves:
            alive = w.queues.in_flight() if w.queues is not None else frozenset()
            flights = [f for f in shadow.flights[w.index] if f.number in alive]
            shadow.flights[w.index] = flights
            for f in flights:
                self._touch(w, shadow, f.inst, f.index, f.kind, None, f.values)

    def _touch(
        self,
        w: Wave,
        shadow: LdsShadow,
        inst: Inst,
        index: Index,
        kind: str,
        access: MemoryAccess | None,
        values: Any,
    ) -> None:
        interval, me, bit = w.barriers, w.index, np.uint32(1 << w.index)
        foreign = (shadow.write_interval[index] == interval) & (shadow.write_wave[index] != me)
        if kind == "atomic":
            foreign &= ~shadow.write_atomic[index]
        elif values is not None:
            foreign &= shadow.write_atomic[index] | (shadow.write_value[index] != values)
        if foreign.any():
            verb = "read" if kind == "load" else "written"
            self._report(w, inst, index, foreign, shadow.write_pc, shadow.write_wave, f"{verb}, and written by", access)
        if kind == "load":
            stale = shadow.read_interval[index] != interval
            shadow.read_waves[index[stale]] = 0
            shadow.read_interval[index] = interval
            shadow.read_waves[index] |= bit
            shadow.read_pc[index] = inst.pc
            return
        readers = (shadow.read_interval[index] == interval) & ((shadow.read_waves[index] & ~bit) != 0)
        if readers.any():
            self._report(w, inst, index, readers, shadow.read_pc, shadow.read_waves, "written, and read by", access)
        shadow.write_interval[index] = interval
        shadow.write_wave[index] = me
        shadow.write_pc[index] = inst.pc
        shadow.write_atomic[index] = kind == "atomic"
        shadow.write_value[index] = 0 if values is None else values

    def _report(
        self,
        w: Wave,
        inst: Inst,
        index: Index,
        which: Any,
        pcs: Any,
        waves: Any,
        what: str,
        access: MemoryAccess | None,
    ) -> None:
        position = int(np.flatnonzero(which)[0])
        word = int(index[position])
        pc, who = int(pcs[word]), int(waves[word])
        if waves.dtype == np.uint32:
            others = who & ~(1 << w.index)
            who = (others & -others).bit_length() - 1
        other = self._insts[pc]
        byte = word * self._granule
        late = "" if access is not None else " (still in flight when the barrier was passed)"
        message = f"LDS byte {byte} is {what} wave {who} with no barrier between{late}"
        lane = None
        if access is not None:
            lane = int(access.lanes[position * len(access.lanes) // len(index)])
        place = LaunchPoint(w.group.id, who, None, pc, text(other))
        self._services.finding("ARG-M101", message, w, inst, lane, other=place, address=byte, space="lds")

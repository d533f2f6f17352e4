"""Missing waits: results used before an s_waitcnt made them certain.

Every memory operation of a wave enters a queue when issued and completes (its data becomes visible) only when a wait,
or a full counter, makes that certain. Until then its destination registers hold poison, and reading or overwriting
one is reported:

    global_load_dword v1, v[2:3], off
    v_add_f32 v4, v1, v1              ARG-M102: reads v1, which global_load_dword ... has not delivered; wait vmcnt(0)

Rules (gfx942): vmcnt counts vector memory in order; lgkmcnt counts LDS operations, in order among themselves, and
scalar memory, which returns in any order, so only lgkmcnt(0) makes a scalar load certain, and scalar operations in
flight weaken what a higher count says about LDS. A flat operation counts in both and is certain when both say so. A
counter that is full (63, 15) stalls, which completes the oldest.

LDS operations do not merely deliver late, they *happen* late, in order, so a missing wait before a barrier gives the
wrong data another wave would see on a slow day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argus.gfx942.disasm import text
from argus.gfx942.hazards import registers
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.gfx942.waits import LGKM_MAX, VM_MAX
from argus.machine.checks.names import physical, scalar_name, vector_name
from argus.machine.errors import LaunchPoint
from argus.machine.interp_services import Services
from argus.machine.state import Wave

POISON = np.uint32(0xFFC0_DEAD)


@dataclass(slots=True)
class PendingOperation:
    """An operation in flight. `scalar` operations have scalar destinations and return out of order."""

    number: int
    inst: Inst
    registers: tuple[int, ...]
    complete: Callable[[], None]
    scalar: bool
    counters: int


class WaveQueues:
    """A wave's operations in flight."""

    __slots__ = ("_lgkm", "_vm", "_wave", "issued", "scalars", "vectors")

    def __init__(self, w: Wave) -> None:
        self._wave = w
        self._vm: list[PendingOperation] = []
        self._lgkm: list[PendingOperation] = []
        self.issued = 0
        self.vectors: dict[int, PendingOperation] = {}
        self.scalars: dict[int, PendingOperation] = {}

    def push(
        self,
        inst: Inst,
        counter: str,
        registers: Sequence[int],
        complete: Callable[[], None],
        *,
        scalar: bool,
    ) -> None:
        """An operation was issued."""
        w = self._wave
        pending = PendingOperation(self.issued, inst, tuple(registers), complete, scalar, 2 if counter == "both" else 1)
        self.issued += 1
        table = self.scalars if scalar else self.vectors
        for n in pending.registers:
            table[n] = pending
            if not scalar:
                np.copyto(w.v[n], POISON, where=w.lanes)
        if counter != "lgkm":
            self._vm.append(pending)
            if len(self._vm) > VM_MAX:
                self._certain(self._vm.pop(0))
        if counter != "vm":
            self._lgkm.append(pending)
            if len(self._lgkm) > LGKM_MAX:
                self._pop_lgkm(1)

    def wait(self, vm: int, lgkm: int) -> None:
        """s_waitcnt."""
        while len(self._vm) > vm:
            self._certain(self._vm.pop(0))
        if lgkm == 0:
            while self._lgkm:
                self._certain(self._lgkm.pop(0))
        else:
            ordered = sum(1 for p in self._lgkm if not p.scalar)
            self._pop_lgkm(ordered - lgkm)

    def _pop_lgkm(self, count: int) -> None:
        """Complete the oldest `count` in-order operations of lgkmcnt."""
        while count > 0:
            k = next((k for k, p in enumerate(self._lgkm) if not p.scalar), None)
            if k is None:
                return
            self._certain(self._lgkm.pop(k))
            count -= 1

    def _certain(self, pending: PendingOperation) -> None:
        pending.counters -= 1
        if pending.counters:
            return
        table = self.scalars if pending.scalar else self.vectors
        for n in pending.registers:
            if table.get(n) is pending:
                del table[n]
        pending.complete()

    def drain(self) -> None:
        """The wave ends: everything completes."""
        self.wait(0, 0)

    def in_flight(self) -> frozenset[int]:
        """Numbers of the operations issued and not certain."""
        return frozenset(p.number for p in (*self._lgkm, *self._vm))


class WaitCheck:
    """Reports instructions that touch registers of operations in flight."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def wrap(self, inst: Inst, run: Callable[[Wave], Any]) -> Callable[[Wave], Any]:
        use, accum = registers(inst), self._services.accum_offset
        reads = [physical(k, accum) for k in sorted(use.reads)]
        writes = [physical(k, accum) for k in sorted(use.writes - use.reads)]
        scalar_reads = sorted(use.scalar_reads)
        scalar_writes = sorted(use.scalar_writes - use.scalar_reads)
        counters: set[str] = set(spec(inst.op).counters)
        if not (reads or writes or scalar_reads or scalar_writes):
            return run

        def checked(w: Wave) -> Any:
            queues = w.queues
            if queues is not None:
                if queues.vectors:
                    self._look(w, inst, reads, queues.vectors, "reads", vector_name, frozenset())
                    self._look(w, inst, writes, queues.vectors, "overwrites", vector_name, counters)
                if queues.scalars:
                    self._look(w, inst, scalar_reads, queues.scalars, "reads", scalar_name, frozenset())
                    self._look(w, inst, scalar_writes, queues.scalars, "overwrites", scalar_name, frozenset())
            return run(w)

        return checked

    def _look(
        self,
        w: Wave,
        inst: Inst,
        numbers: list[int],
        table: dict[int, PendingOperation],
        verb: str,
        name: Callable[[int, int], str],
        in_order: frozenset[str] | set[str],
    ) -> None:
        """Report registers in flight; a load may overwrite the target of an earlier one on the same counter."""
        for n in numbers:
            pending = table.get(n)
            if pending is None or (in_order and in_order == set(spec(pending.inst.op).counters)):
                continue
            counter = "lgkmcnt" if "lgkm" in spec(pending.inst.op).counters else "vmcnt"
            message = f"{verb} {name(n, self._services.accum_offset)} before s_waitcnt {counter} makes its load certain"
            other = LaunchPoint(w.group.id, w.index, None, pending.inst.pc, text(pending.inst))
            self._services.finding("ARG-M102", message, w, inst, other=other)
            return

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

import numpy as np

from argus.gfx942.inst import Inst
from argus.gfx942.waits import LGKM_MAX, VM_MAX
from argus.machine.state import Wave

POISON = np.uint32(0xFFC0_DEAD)


@dataclass(slots=True)
class Pending:
    """An operation in flight. `scalar` operations have scalar destinations and return out of order."""

    inst: Inst
    registers: tuple[int, ...]
    complete: Callable[[], None]
    scalar: bool
    counters: int
    lanes: int


class Queues:
    """A wave's operations in flight."""

    __slots__ = ("_lgkm", "_vm", "_wave", "scalars", "vectors")

    def __init__(self, w: Wave) -> None:
        self._wave = w
        self._vm: list[Pending] = []
        self._lgkm: list[Pending] = []
        self.vectors: dict[int, Pending] = {}
        self.scalars: dict[int, Pending] = {}

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
        pending = Pending(inst, tuple(registers), complete, scalar, 2 if counter == "both" else 1, w.exec)
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

    def _certain(self, pending: Pending) -> None:
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

    def in_flight(self) -> list[Pending]:
        """Everything issued and not certain, oldest first."""
        return [*self._lgkm, *self._vm]

    def barrier(self) -> None:
        """A barrier does not wait for anything."""

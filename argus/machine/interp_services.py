"""What compiled instructions need from their surroundings: memory, findings, and the hooks of the checks.

A memory instruction is executed in two steps: at *issue* its addresses and data are fixed, checked, recorded and shown
to the observers; its *completion* moves the data. Without the wait check completion follows at once; with it completion
is queued until an s_waitcnt (or a full counter) makes it certain.

    services.finish(w, inst, "vm", registers=(8, 4), complete=closure)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine import record
from argus.machine.errors import LaunchPoint, MachineError, MachineFindings, MachineReport
from argus.machine.memory import Arena, OutOfBounds
from argus.machine.state import Wave

Counter = Literal["vm", "lgkm", "both"]
AccessKind = Literal["load", "store", "atomic"]
Lanes = NDArray[np.int64]


@dataclass(slots=True)
class MemoryAccess:
    """One access of one instruction: the lanes taking part, their byte addresses (LDS: offsets), and for stores the
    data as (dwords, lanes)."""

    wave: Wave
    inst: Inst
    space: int
    kind: AccessKind
    size: int
    lanes: Lanes
    addresses: NDArray[Any]
    data: NDArray[np.uint32] | None = None


class AccessObserver(Protocol):
    """A check that looks at memory accesses when they are issued."""

    def access(self, access: MemoryAccess) -> None: ...


@dataclass(slots=True)
class Services:
    """Shared by all compiled instructions of a launch."""

    arena: Arena
    accum_offset: int
    code_base: int
    findings: MachineFindings = field(default_factory=MachineFindings)
    observers: list[AccessObserver] = field(default_factory=list)
    deferred: bool = False
    recording: bool = False
    soffset_in_range: bool = True
    partial_in_range: bool = False

    def place(self, w: Wave, inst: Inst, lane: int | None = None) -> LaunchPoint:
        return LaunchPoint(w.group.id, w.index, lane, inst.pc, text(inst) if inst.words else inst.op)

    def fault(self, code: str, message: str, w: Wave, inst: Inst, lane: int | None = None, **more: Any) -> MachineError:
        """A fault that ends the run."""
        return MachineError(MachineReport(code, message, self.place(w, inst, lane), **more))

    def finding(self, code: str, message: str, w: Wave, inst: Inst, lane: int | None = None, **more: Any) -> None:
        """A finding that does not."""
        self.findings.add(MachineReport(code, message, self.place(w, inst, lane), **more))

    def global_offsets(self, w: Wave, inst: Inst, addresses: NDArray[np.uint64], size: int, lanes: Lanes) -> Any:
        """Checked offsets into the arena's buffer for the lanes' device addresses."""
        try:
            return self.arena.offsets(addresses, size, writes="_load_" not in inst.op)
        except OutOfBounds as why:
            verb = "writes" if "store" in inst.op else "accesses"
            raise self.fault(
                "ARG-M105",
                f"{verb} memory outside every allocation: {why}",
                w,
                inst,
                int(lanes[why.lane]),
                address=why.address,
                space="global",
            ) from None

    def observe(self, access: MemoryAccess) -> None:
        """Show an access to the recorder and the checks."""
        w = access.wave
        if w.recorder is not None:
            row = np.full(64, record.NO_ADDRESS)
            row[access.lanes] = access.addresses
            w.recorder.access(row, access.size, access.space)
        for observer in self.observers:
            observer.access(access)

    @property
    def watching(self) -> bool:
        return self.recording or bool(self.observers)

    def finish(
        self,
        w: Wave,
        inst: Inst,
        counter: Counter,
        registers: Sequence[int],
        complete: Callable[[], None],
        *,
        scalar: bool = False,
    ) -> None:
        """Complete now, or queue the completion; `registers` are the destinations that become valid with it."""
        if w.queues is None:
            complete()
        else:
            w.queues.push(inst, counter, registers, complete, scalar=scalar)

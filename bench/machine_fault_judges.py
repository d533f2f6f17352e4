"""Judges of planted faults: which are observable, and which instructions a report may name.

    judge = Judge(subject, instructions)
    judge.verdict(fault, changed)          -> Verdict(observable, named)

They see the text of instructions and the record of one plain run of the unchanged kernel, and share no code with the
checks:

* s_waitcnt: replaying the executed instructions, some wave touches a register of a load, or takes LDS work over a
  barrier behind which another wave touches the same bytes, that only this wait completes before;
* s_barrier: in the recorded LDS addresses two waves meet at the same bytes, one writing, on the two sides of it;
* LDS offset: the result of a plain run, without checks, changes;
* s_nop: every executed one that the compiler put there for more than one wait state.

`named` are the addresses of the instructions a report has to name one of: the changed one, or its direct victims. These
are for a wait the operations in flight and what touches them, for a barrier the accesses that meet, for an LDS offset
the LDS instructions that touch bytes which the instruction touched or touches now. For an s_nop, the report has to name
an instruction before and one behind its place.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine import MachineReport
from argus.machine.record import LDS, NO_ADDRESS, WaveRecord
from bench.machine_fault_cases import Subject

_REGISTER = re.compile(r"\b([vas])(?:(\d+)|\[(\d+):(\d+)\])")
_LGKM = ("ds_", "s_load", "s_buffer_load")
_VM = ("buffer_", "global_", "flat_", "scratch_")


@dataclass(frozen=True)
class Fault:
    """One changed instruction; `shift` are the bytes an LDS offset moves by."""

    kind: str
    pc: int
    patch: bytes
    what: str
    shift: int = 0


@dataclass(frozen=True)
class Verdict:
    observable: bool
    named: frozenset[int] = frozenset()
    around: bool = False

    def accepts(self, pc: int, report: MachineReport) -> bool:
        """Whether the report names what it has to."""
        at, other = report.at.pc, report.other.pc if report.other else None
        if self.around:
            return at is not None and other is not None and min(at, other) < pc <= max(at, other)
        return at in self.named or other in self.named


def named_registers(words: str) -> set[str]:
    found = set()
    for kind, single, first, last in _REGISTER.findall(words):
        numbers = [int(single)] if single else range(int(first), int(last) + 1)
        found |= {f"{kind}{n}" for n in numbers}
    return found


@dataclass
class Shown:
    """An instruction as the judges see it: its text only."""

    op: str
    targets: set[str]
    touched: set[str]
    wait: tuple[int, int] | None


def shown(inst: Inst) -> Shown:
    words = text(inst)
    op, _, rest = words.partition(" ")
    loads = op.startswith(("ds_read", "ds_bpermute", "ds_permute", "ds_swizzle", "s_load", "s_buffer_load")) or (
        op.startswith(_VM) and "_load" in op and " lds" not in words
    )
    targets = named_registers(rest.split(",")[0]) if loads else set()
    wait = None
    if op == "s_waitcnt":
        vm, lgkm = re.search(r"vmcnt\((\d+)\)", words), re.search(r"lgkmcnt\((\d+)\)", words)
        wait = (int(vm[1]) if vm else 63, int(lgkm[1]) if lgkm else 15)
    return Shown(op, targets, named_registers(rest), wait)


@dataclass(frozen=True)
class Touch:
    """An LDS access; the bytes are the bits of a number."""

    position: int
    interval: int
    pc: int
    write: bool
    bytes: int

    def meets(self, other: Touch) -> bool:
        return (self.write or other.write) and bool(self.bytes & other.bytes)


def bit_set(values: Iterable[int]) -> int:
    row = np.zeros(1 << 17, np.bool_)
    row[list(values)] = True
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


def touches(wave: WaveRecord, writes: dict[int, bool]) -> list[Touch]:
    found = []
    for k in np.flatnonzero(wave.space == LDS).tolist():
        at = int(wave.addr_index[k])
        lanes = wave.addr[k][wave.addr[k] != NO_ADDRESS].astype(np.int64)
        touched = bit_set((lanes[:, None] + np.arange(int(wave.bytes[k]))).reshape(-1).tolist())
        pc = int(wave.pc[at])
        found.append(Touch(at, int(np.searchsorted(wave.barriers, at)), pc, writes[pc], touched))
    return found


@dataclass
class InFlight:
    """An operation of the replay, what it touches in LDS, and the waits that would complete it."""

    pc: int
    registers: set[str]
    touch: list[Touch]
    waits: set[int] = field(default_factory=set)


Victims = defaultdict[int, set[int]]
"""pc of a wait or barrier -> pcs of the instructions that suffer without it."""


def needed_waits(
    wave: WaveRecord, table: dict[int, Shown], own: list[Touch], others: list[list[Touch]], victims: Victims
) -> None:
    """Enter the waits without which this wave would touch a register in flight, or leave LDS work in flight over a
    barrier into an interval in which another wave touches the same bytes.

    A full counter (15, 63) completes the oldest operation."""
    vm: list[InFlight] = []
    lgkm: list[InFlight] = []
    interval = 0
    mine = defaultdict(list)
    for touch in own:
        mine[touch.position].append(touch)
    there: defaultdict[int, list[Touch]] = defaultdict(list)
    for touch in (touch for other in others for touch in other):
        there[touch.interval].append(touch)
    for at, pc in enumerate(wave.pc.tolist()):
        inst = table[pc]
        if inst.wait is not None:
            for queue, keep in ((vm, inst.wait[0]), (lgkm, inst.wait[1])):
                for op in queue[: max(0, len(queue) - keep)]:
                    op.waits.add(pc)
            continue
        barrier = inst.op == "s_barrier"
        interval += barrier
        for queue in (vm, lgkm):
            for op in list(queue):
                met = {t.pc for t in there[interval] if any(t.meets(o) for o in op.touch)} if barrier else set()
                if op.registers & inst.touched or met:
                    if len(op.waits) == 1:
                        victims[next(iter(op.waits))] |= {op.pc, pc, *met}
                    queue.remove(op)
        if inst.op.startswith(_LGKM):
            lgkm.append(InFlight(pc, inst.targets, mine[at]))
        elif inst.op.startswith(_VM):
            vm.append(InFlight(pc, inst.targets, mine[at]))
        del lgkm[:-15], vm[:-63]


def needed_barriers(wave: WaveRecord, touched: list[list[Touch]], victims: Victims) -> None:
    """Enter the barriers on whose two sides different waves touch the same LDS bytes, one writing."""
    by_interval = [defaultdict(list) for _ in touched]
    for n, found in enumerate(touched):
        for touch in found:
            by_interval[n][touch.interval].append(touch)
    for k, position in enumerate(wave.barriers.tolist()):
        for a, first in enumerate(by_interval):
            for b, second in enumerate(by_interval):
                if a != b:
                    pairs = ((t, u) for t in first[k] for u in second[k + 1] if t.meets(u))
                    victims[int(wave.pc[position])] |= {pc for t, u in pairs for pc in (t.pc, u.pc)}


class Judge:
    """The verdicts on faults of one subject."""

    def __init__(self, subject: Subject, insts: list[Inst]) -> None:
        record = subject.run(subject.object, record=True).record
        assert record is not None
        table = {inst.pc: shown(inst) for inst in insts}
        writes = {i.pc: i.op.startswith("ds_write") or bool(i.mods.get("lds")) for i in insts}
        self._victims: Victims = defaultdict(set)
        self._touched: defaultdict[int, int] = defaultdict(int)
        for group in sorted({group for group, _ in record.waves}):
            members = [wave for (g, _), wave in sorted(record.waves.items()) if g == group]
            lds = [touches(wave, writes) for wave in members]
            for k, wave in enumerate(members):
                needed_waits(wave, table, lds[k], lds[:k] + lds[k + 1 :], self._victims)
            needed_barriers(members[0], lds, self._victims)
            for touch in (touch for found in lds for touch in found):
                self._touched[touch.pc] |= touch.bytes
        self._executed = {pc for wave in record.waves.values() for pc in wave.pc.tolist()}

    def verdict(self, fault: Fault, changed: bool) -> Verdict:
        if fault.pc not in self._executed:
            return Verdict(False)
        if fault.kind == "lds-offset":
            bytes_ = self._touched[fault.pc]
            both = bytes_ | bytes_ << fault.shift
            return Verdict(changed, frozenset({fault.pc, *(pc for pc, b in self._touched.items() if b & both)}))
        if fault.kind == "s_nop":
            return Verdict(True, around=True)
        victims = self._victims.get(fault.pc, set())
        return Verdict(bool(victims), frozenset({fault.pc, *victims}))

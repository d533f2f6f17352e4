"""Seeded faults in machine code: what the machine's checks catch.

    python bench/machine_faults.py [--kernels softmax,gemm] [--limit N]

Each fault changes one instruction of a Triton kernel: an s_waitcnt or s_barrier becomes s_nop 0, the offset of an LDS
instruction is shifted, or an s_nop is shortened to s_nop 0. A fault is *observable* if a separate, simple judge says
so:

* s_waitcnt: replaying the executed instructions of the unchanged kernel, some wave touches a register of a load, or
  takes LDS work over a barrier behind which another wave touches the same bytes, that only this wait completes before;
* s_barrier: in the recorded LDS addresses two waves meet at the same bytes, one writing, on the two sides of it;
* LDS offset: the result of a plain run, without checks, changes;
* s_nop: every one the compiler put there for more than one wait state.

A fault is *caught* if a check reports something. A changed result alone does not count: it is what makes a shifted LDS
offset observable. The judges share no code with the checks.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "machine"))
import triton_cases

from argus.gfx942.decoder import decode_all
from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine import MachineError, load
from argus.machine.record import LDS, NO_ADDRESS, WaveRecord

NOP = (0xBF800000).to_bytes(4, "little")


@dataclass(frozen=True)
class Fault:
    kind: str
    pc: int
    patch: bytes
    what: str


def instructions(case: triton_cases.Case) -> list[Inst]:
    module = load(case.compiled.hsaco)
    info = module.kernel(case.compiled.name).info
    return decode_all(module.code.text, info.start, info.end)


def faults(insts: list[Inst]) -> Iterator[Fault]:
    for inst in insts:
        shown = text(inst)
        if inst.op == "s_waitcnt":
            yield Fault("s_waitcnt", inst.pc, NOP, shown)
        elif inst.op == "s_barrier":
            yield Fault("s_barrier", inst.pc, NOP, shown)
        elif inst.op == "s_nop" and inst.operands[0].value >= 1:
            yield Fault("s_nop", inst.pc, NOP, shown)
        elif inst.op.startswith(("ds_read", "ds_write")):
            word = inst.words[0]
            shifted = word & ~0xFFFF | (word & 0xFFFF) + (16 if "2" not in inst.op.split("_")[1] else 1) & 0xFFFF
            yield Fault("lds-offset", inst.pc, shifted.to_bytes(4, "little"), shown)


def patched(hsaco: bytes, code: bytes, fault: Fault) -> bytes:
    """The object with one instruction changed; the code section is found by its contents."""
    at = hsaco.index(code) + fault.pc
    return hsaco[:at] + fault.patch + hsaco[at + len(fault.patch) :]


# judges

_REGISTER = re.compile(r"\b([vas])(?:(\d+)|\[(\d+):(\d+)\])")
_LGKM = ("ds_", "s_load", "s_buffer_load")
_VM = ("buffer_", "global_", "flat_", "scratch_")


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


Bytes = dict[int, dict[str, set[int]]]
"""Barrier interval -> LDS bytes read ("r") and written ("w")."""


def lds_bytes(wave: WaveRecord, writes: dict[int, bool]) -> tuple[Bytes, dict[int, tuple[bool, set[int]]]]:
    """(bytes by interval, bytes by position of the instruction) of a wave's LDS accesses."""
    by_interval: Bytes = defaultdict(lambda: {"r": set(), "w": set()})
    by_position: dict[int, tuple[bool, set[int]]] = {}
    for k in np.flatnonzero(wave.space == LDS).tolist():
        at = int(wave.addr_index[k])
        lanes = wave.addr[k][wave.addr[k] != NO_ADDRESS].astype(np.int64)
        touched = set((lanes[:, None] + np.arange(int(wave.bytes[k]))).reshape(-1).tolist())
        write = writes[int(wave.pc[at])]
        by_interval[int(np.searchsorted(wave.barriers, at))]["w" if write else "r"] |= touched
        by_position[at] = (write, touched | by_position.get(at, (write, set()))[1])
    return by_interval, by_position


@dataclass
class InFlight:
    """An operation of the replay, the LDS bytes it touches, and the waits that would complete it."""

    registers: set[str]
    write: bool
    bytes: set[int]
    waits: set[int]


def needed_waits(
    wave: WaveRecord, table: dict[int, Shown], lds: dict[int, tuple[bool, set[int]]], others: list[Bytes]
) -> set[int]:
    """The waits (by pc) without which this wave would touch a register in flight, or leave LDS work in flight over a
    barrier into an interval in which another wave touches the same bytes.

    A full counter (15, 63) completes the oldest operation."""
    needed: set[int] = set()
    vm: list[InFlight] = []
    lgkm: list[InFlight] = []
    interval = 0

    def collides(op: InFlight) -> bool:
        for other in others:
            then = other[interval]
            if op.bytes & then["w"] or (op.write and op.bytes & then["r"]):
                return True
        return False

    for at, pc in enumerate(wave.pc.tolist()):
        inst = table[pc]
        if inst.wait is not None:
            for queue, keep in ((vm, inst.wait[0]), (lgkm, inst.wait[1])):
                for op in queue[: max(0, len(queue) - keep)]:
                    op.waits.add(pc)
            continue
        interval += inst.op == "s_barrier"
        for queue in (vm, lgkm):
            used = [op for op in queue if op.registers & inst.touched or (inst.op == "s_barrier" and collides(op))]
            for op in used:
                if len(op.waits) == 1:
                    needed |= op.waits
                queue.remove(op)
        write, touched = lds.get(at, (False, set()))
        if inst.op.startswith(_LGKM):
            lgkm.append(InFlight(inst.targets, write, touched, set()))
        elif inst.op.startswith(_VM):
            vm.append(InFlight(inst.targets, write, touched, set()))
        del lgkm[:-15], vm[:-63]
    return needed


def needed_barriers(wave: WaveRecord, touched: list[Bytes]) -> set[int]:
    """The barriers (by pc in this wave) on whose two sides different waves touch the same LDS bytes, one writing."""
    needed = set()
    for k, position in enumerate(wave.barriers.tolist()):
        for a, first in enumerate(touched):
            for b, second in enumerate(touched):
                before, after = first[k], second[k + 1]
                if a != b and (before["w"] & (after["r"] | after["w"]) or before["r"] & after["w"]):
                    needed.add(int(wave.pc[position]))
    return needed


def judged(case: triton_cases.Case, insts: list[Inst]) -> Callable[[Fault, bool], bool]:
    """(fault, whether the plain result changed) -> observable."""
    result = case.run(case.compiled.hsaco, record=True)
    table = {inst.pc: shown(inst) for inst in insts}
    writes = {i.pc: i.op.startswith("ds_write") or bool(i.mods.get("lds")) for i in insts}
    waves = result.record.waves
    waits: set[int] = set()
    barriers: set[int] = set()
    for group in sorted({group for group, _ in waves}):
        members = [wave for (g, _), wave in sorted(waves.items()) if g == group]
        lds = [lds_bytes(wave, writes) for wave in members]
        for k, wave in enumerate(members):
            others = [by_interval for n, (by_interval, _) in enumerate(lds) if n != k]
            waits |= needed_waits(wave, table, lds[k][1], others)
        barriers |= needed_barriers(members[0], [by_interval for by_interval, _ in lds])
    executed = {pc for wave in waves.values() for pc in wave.pc.tolist()}

    def observable(fault: Fault, changed: bool) -> bool:
        if fault.pc not in executed:
            return False
        if fault.kind == "s_waitcnt":
            return fault.pc in waits
        if fault.kind == "s_barrier":
            return fault.pc in barriers
        return changed if fault.kind == "lds-offset" else True

    return observable


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default="", help="comma-separated case names; all by default")
    parser.add_argument("--limit", type=int, default=0, help="at most this many faults per kernel and kind")
    parser.add_argument("--missed", action="store_true", help="list observable faults that were not caught")
    options = parser.parse_args()
    wanted = set(options.kernels.split(",")) - {""}
    totals: Counter[tuple[str, str]] = Counter()
    started = time.perf_counter()
    for name, make in triton_cases.CASES.items():
        if wanted and name not in wanted:
            continue
        case = make()
        run_case(name, case, options.limit, options.missed, totals)
    print(f"{'fault':12s} {'seeded':>7s} {'observable':>11s} {'caught':>7s}")
    for kind in ("s_waitcnt", "s_barrier", "lds-offset", "s_nop"):
        row = [totals[kind, column] for column in ("seeded", "observable", "caught")]
        print(f"{kind:12s} {row[0]:7d} {row[1]:11d} {row[2]:7d}")
    seen = sum(v for (_, column), v in totals.items() if column == "observable")
    got = sum(v for (_, column), v in totals.items() if column == "caught")
    seeded = sum(v for (_, column), v in totals.items() if column == "seeded")
    share = 100 * got / max(seen, 1)
    print(f"{seeded} seeded, {seen} observable, {got} caught: {share:.1f} %  ({time.perf_counter() - started:.0f} s)")
    return 0 if share >= 95 else 1


def run_case(name: str, case: triton_cases.Case, limit: int, missed: bool, totals: Counter[tuple[str, str]]) -> None:
    insts = instructions(case)
    code = load(case.compiled.hsaco).code.text
    observable = judged(case, insts)
    clean = case.outputs()
    per_kind: Counter[str] = Counter()
    for fault in faults(insts):
        per_kind[fault.kind] += 1
        if limit and per_kind[fault.kind] > limit:
            continue
        binary = patched(case.compiled.hsaco, code, fault)
        changed = False
        if fault.kind == "lds-offset":
            try:
                case.run(binary)
                changed = not same(case.outputs(), clean)
            except MachineError:
                changed = True
        totals[fault.kind, "seeded"] += 1
        if not observable(fault, changed):
            continue
        totals[fault.kind, "observable"] += 1
        try:
            reports = case.run(binary, checks="all").reports
        except MachineError as error:
            reports = [error.report]
        caught = bool(reports)
        totals[fault.kind, "caught"] += caught
        if missed and not caught:
            print(f"missed: {name} {fault.kind} at {fault.pc:#x}: {fault.what}")


def same(a: list[Any], b: list[Any]) -> bool:
    return all(np.array_equal(x.view(np.uint8), y.view(np.uint8)) for x, y in zip(a, b, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())

"""Seeded faults in machine code: what the machine's checks catch.

    python bench/machine_faults.py [--kernels softmax,gemm] [--limit N]

Each fault changes one instruction of a Triton kernel: an s_waitcnt or s_barrier becomes s_nop 0, the offset of an LDS
instruction is shifted, or an s_nop is shortened to s_nop 0. A fault is *observable* if a separate, simple judge says
so:

* s_waitcnt: replaying the executed instructions of the unchanged kernel, some wave touches a register of a load, or
  passes a barrier with LDS work in flight, that only this wait completes before;
* s_barrier: in the recorded LDS addresses two waves meet at the same bytes, one writing, on the two sides of it;
* LDS offset: the result of a plain run, without checks, changes;
* s_nop: every one the compiler put there for more than one wait state.

A fault is *caught* if a check reports something (for LDS offsets also if the result differs, which any comparison
with a reference shows). The judges share no code with the checks.
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


def needed_waits(wave: WaveRecord, table: dict[int, Shown]) -> set[int]:
    """The waits (by pc) without which this wave would touch something in flight."""
    needed: set[int] = set()
    vm: list[tuple[set[str], bool, set[int]]] = []
    lgkm: list[tuple[set[str], bool, set[int]]] = []

    def settle(queue: list[Any], keep: int, pc: int) -> None:
        for entry in queue[: max(0, len(queue) - keep)]:
            entry[2].add(pc)

    for pc in wave.pc.tolist():
        inst = table[pc]
        if inst.wait is not None:
            settle(vm, inst.wait[0], pc)
            settle(lgkm, inst.wait[1], pc)
            continue
        for queue in (vm, lgkm):
            kept = []
            for registers, is_lds, waits in queue:
                used = bool(registers & inst.touched) or (inst.op == "s_barrier" and is_lds)
                if used and len(waits) == 1:
                    needed |= waits
                if not used:
                    kept.append((registers, is_lds, waits))
            queue[:] = kept
        if inst.op.startswith(_LGKM):
            lgkm.append((inst.targets, inst.op.startswith("ds_"), set()))
        elif inst.op.startswith(_VM):
            vm.append((inst.targets, False, set()))
    return needed


def needed_barriers(waves: list[WaveRecord], writes: dict[int, bool]) -> set[int]:
    """The barriers (by pc of the first wave) across which waves share LDS bytes, one writing."""
    touched: list[dict[int, dict[str, set[int]]]] = []
    for wave in waves:
        per: dict[int, dict[str, set[int]]] = defaultdict(lambda: {"r": set(), "w": set()})
        for k in np.flatnonzero(wave.space == LDS).tolist():
            at = int(wave.addr_index[k])
            interval = int(np.searchsorted(wave.barriers, at))
            lanes = wave.addr[k][wave.addr[k] != NO_ADDRESS].astype(np.int64)
            size = int(wave.bytes[k])
            byte_set = set((lanes[:, None] + np.arange(size)).reshape(-1).tolist())
            per[interval]["w" if writes[int(wave.pc[at])] else "r"] |= byte_set
        touched.append(per)
    needed = set()
    for k, position in enumerate(waves[0].barriers.tolist()):
        for a, first in enumerate(touched):
            for b, second in enumerate(touched):
                if a == b:
                    continue
                before, after = first[k], second[k + 1]
                if before["w"] & (after["r"] | after["w"]) or before["r"] & after["w"]:
                    needed.add(int(waves[0].pc[position]))
    return needed


def judged(case: triton_cases.Case, insts: list[Inst]) -> Callable[[Fault, bool], bool]:
    """(fault, whether the plain result changed) -> observable."""
    result = case.run(case.compiled.hsaco, record=True)
    table = {inst.pc: shown(inst) for inst in insts}
    writes = {i.pc: i.op.startswith("ds_write") or bool(i.mods.get("lds")) for i in insts}
    waves = result.record.waves
    waits: set[int] = set()
    for wave in waves.values():
        waits |= needed_waits(wave, table)
    groups = sorted({group for group, _ in waves})
    barriers: set[int] = set()
    for group in groups:
        barriers |= needed_barriers([wave for (g, _), wave in sorted(waves.items()) if g == group], writes)
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
    print(f"{'fault':12s} {'seeded':>7s} {'observable':>11s} {'caught':>7s} {'named':>6s}")
    for kind in ("s_waitcnt", "s_barrier", "lds-offset", "s_nop"):
        row = [totals[kind, column] for column in ("seeded", "observable", "caught", "named")]
        print(f"{kind:12s} {row[0]:7d} {row[1]:11d} {row[2]:7d} {row[3]:6d}")
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
        named = bool(reports)
        caught = named or (fault.kind == "lds-offset" and changed)
        totals[fault.kind, "named"] += named
        totals[fault.kind, "caught"] += caught
        if missed and not caught:
            print(f"missed: {name} {fault.kind} at {fault.pc:#x}: {fault.what}")


def same(a: list[Any], b: list[Any]) -> bool:
    return all(np.array_equal(x.view(np.uint8), y.view(np.uint8)) for x, y in zip(a, b, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())

"""Seeded faults in machine code: what the machine's checks catch.

    python bench/machine_faults.py [--origin own] [--kernels softmax,gemm] [--limit N] [--missed]

Each fault changes one instruction of a kernel of Triton or of our compiler: an s_waitcnt or s_barrier becomes s_nop 0,
the offset of an LDS instruction is shifted, or an s_nop is taken away (it changes places with the instruction it
protects; where that is a branch or a branch leads there, it becomes s_nop 0). Whether a fault is *observable* is
decided by `bench.machine_fault_judges`, which shares no code with the checks. It is *reported* if a check says what it
does not say of the unchanged kernel, and *caught* if such a report names the changed instruction or a direct victim of
it. A changed result alone counts for nothing: it is what makes a shifted LDS offset observable. Reports count whatever
their level; the last column says how many are caught by notes only.

The unchanged kernels must give no reports; those that do are printed and make the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from argus.gfx942.decoder import decode_all
from argus.gfx942.disasm import text
from argus.gfx942.inst import Inst
from argus.machine import MachineError, MachineReport, load
from bench.machine_fault_cases import Make, Subject, subjects
from bench.machine_fault_judges import Fault, Judge

NOP = (0xBF800000).to_bytes(4, "little")
KINDS = ("s_waitcnt", "s_barrier", "lds-offset", "s_nop")
COLUMNS = ("seeded", "observable", "reported", "caught")
STEPS = 20_000_000

Totals = Counter[tuple[str, str, str]]


def without_nop(nop: Inst, following: Inst | None, targets: set[int]) -> bytes:
    """The bytes that take an s_nop away from before the instruction it protects."""
    if following is None or following.target is not None or following.op == "s_nop" or following.pc in targets:
        return NOP
    words = (*following.words, *nop.words)
    return b"".join(word.to_bytes(4, "little") for word in words)


def faults(insts: list[Inst]) -> Iterator[Fault]:
    targets = {inst.target for inst in insts if inst.target is not None}
    following = {inst.pc + inst.size: inst for inst in insts}
    behind = {before.pc: inst for inst in insts if (before := following.get(inst.pc)) is not None}
    for inst in insts:
        shown = text(inst)
        if inst.op == "s_waitcnt":
            yield Fault("s_waitcnt", inst.pc, NOP, shown)
        elif inst.op == "s_barrier":
            yield Fault("s_barrier", inst.pc, NOP, shown)
        elif inst.op == "s_nop" and inst.operands[0].value >= 1:
            yield Fault("s_nop", inst.pc, without_nop(inst, behind.get(inst.pc), targets), shown)
        elif inst.op.startswith(("ds_read", "ds_write")):
            word, two = inst.words[0], "2" in inst.op.split("_")[1]
            step = 1 if two else 16
            patch = (word & ~0xFFFF | (word & 0xFFFF) + step & 0xFFFF).to_bytes(4, "little")
            unit = (8 if "64" in inst.op.split("_")[2] else 4) * (64 if "st64" in inst.op else 1)
            yield Fault("lds-offset", inst.pc, patch, shown, unit if two else 16)


def patched(code_object: bytes, code: bytes, fault: Fault) -> bytes:
    """The object with one instruction changed; the code section is found by its contents."""
    at = code_object.index(code) + fault.pc
    return code_object[:at] + fault.patch + code_object[at + len(fault.patch) :]


def found(subject: Subject, binary: bytes) -> list[MachineReport]:
    """What the checks report; a fault that ends the run comes after what was found before."""
    try:
        return subject.run(binary, checks="all", max_steps=STEPS).reports
    except MachineError as error:
        return [*error.findings, error.report]


def same(a: list[Any], b: list[Any]) -> bool:
    return all(np.array_equal(x.view(np.uint8), y.view(np.uint8)) for x, y in zip(a, b, strict=True))


def changes(subject: Subject, binary: bytes, clean: list[Any]) -> bool:
    """Whether a plain run gives another result."""
    try:
        subject.run(binary, max_steps=STEPS)
    except MachineError:
        return True
    return not same(subject.outputs(), clean)


def try_faults(make: Make, limit: int, missed: bool, totals: Totals) -> list[MachineReport]:
    """Enter the faults of one kernel into the totals; returns what the unchanged kernel reports."""
    subject = make.build()
    module = load(subject.object)
    info = module.kernel(subject.kernel).info
    insts = decode_all(module.code.text, info.start, info.end)
    judge = Judge(subject, insts)
    clean = subject.outputs()
    false = found(subject, subject.object)
    known = {(r.code, r.at.pc) for r in false}
    per_kind: Counter[str] = Counter()
    for fault in faults(insts):
        per_kind[fault.kind] += 1
        if limit and per_kind[fault.kind] > limit:
            continue
        binary = patched(subject.object, module.code.text, fault)
        verdict = judge.verdict(fault, fault.kind == "lds-offset" and changes(subject, binary, clean))
        totals[make.origin, fault.kind, "seeded"] += 1
        if not verdict.observable:
            continue
        totals[make.origin, fault.kind, "observable"] += 1
        reports = [r for r in found(subject, binary) if (r.code, r.at.pc) not in known]
        caught = [r for r in reports if verdict.accepts(fault.pc, r)]
        totals[make.origin, fault.kind, "reported"] += bool(reports)
        totals[make.origin, fault.kind, "caught"] += bool(caught)
        for code in {r.code for r in caught}:
            totals[make.origin, fault.kind, code] += 1
        totals[make.origin, fault.kind, "note"] += bool(caught) and all(r.level == "note" for r in caught)
        if missed and not caught:
            print(f"missed: {make.origin} {make.name} {fault.kind} at {fault.pc:#x}: {fault.what}", flush=True)
            for report in reports[:1]:
                print(f"  {report}", flush=True)
    return false


def table(totals: Totals) -> float:
    """Print the table; returns the share of the observable faults that is caught."""
    print(f"{'origin':7s} {'fault':11s}" + "".join(f"{c:>11s}" for c in COLUMNS) + "  caught by")
    overall: Counter[str] = Counter()
    for origin in ("triton", "own"):
        for kind in KINDS:
            row = [totals[origin, kind, column] for column in COLUMNS]
            by = {code: n for (o, k, code), n in totals.items() if (o, k) == (origin, kind) and code.startswith("ARG")}
            codes = ", ".join(f"{code[4:]} {n}" for code, n in sorted(by.items()))
            notes = totals[origin, kind, "note"]
            codes += f" ({notes} by notes only)" if notes else ""
            print(f"{origin:7s} {kind:11s}" + "".join(f"{n:11d}" for n in row) + f"  {codes}")
            overall.update(dict(zip(COLUMNS, row, strict=True)))
    share = 100 * overall["caught"] / max(overall["observable"], 1)
    print(f"{'all':19s}" + "".join(f"{overall[c]:11d}" for c in COLUMNS) + f"  {share:.1f} % of the observable caught")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--origin", choices=("triton", "own"), help="only these kernels")
    parser.add_argument("--kernels", default="", help="comma-separated names; all by default")
    parser.add_argument("--limit", type=int, default=0, help="at most this many faults per kernel and kind")
    parser.add_argument("--missed", action="store_true", help="list observable faults that were not caught")
    options = parser.parse_args()
    wanted = set(options.kernels.split(",")) - {""}
    totals: Totals = Counter()
    false = 0
    started = time.perf_counter()
    for make in subjects():
        if (wanted and make.name not in wanted) or (options.origin and make.origin != options.origin):
            continue
        for report in try_faults(make, options.limit, options.missed, totals):
            print(f"false report in {make.origin} {make.name}: {report}", flush=True)
            false += 1
    share = table(totals)
    print(f"{false} reports of unchanged kernels ({time.perf_counter() - started:.0f} s)")
    return 0 if share >= 95 and not false else 1


if __name__ == "__main__":
    raise SystemExit(main())

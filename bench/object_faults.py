"""One changed instruction in the object of a proved kernel: does the compiler's audit or re-check see it?

    python -m bench.object_faults [--kernels vadd,guarded] [--limit N] [--missed]

The truth is the machine: original and changed object run on the checking interpreter with every check, on the same
inputs. A change *alters behavior* if results differ, a check reports something, or the launch fails. Each such change
must be seen: refused by the audit or the re-check (C3xx), or no longer shown equal (an access or a hazard rule is
unknown). Changes that alter nothing on these inputs are only counted; many of them are refused as well.

Changed are instructions on which addresses, conditions, order and waits depend, and these alone;
`bench.object_bit_flips` changes bits everywhere. The kernels are `bench.object_fault_cases`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argus import machine
from argus.compile import Compiled, CompileError, audit, compile_kernel, wait_states
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import EVENTS, attribute, match
from argus.compile.object.agreement import agree
from argus.compile.recheck import recheck
from argus.gfx942.decoder import DecodeError, decode_all
from argus.gfx942.elf import parse_elf
from argus.gfx942.inst import EXEC, Inst
from argus.ir.stages import Scheduled
from bench.object_fault_cases import CASES, FaultCase

S_NOP = 0xBF800000
Words = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Instructions `first` .. `first + count - 1` of the code become `words`, made for `made_by`."""

    what: str
    first: int
    count: int
    words: Words
    made_by: tuple[int, ...]


def _bits(words: Words, word: int, low: int, width: int, value: int) -> Words:
    mask = (1 << width) - 1 << low
    changed = words[word] & ~mask | value << low & mask
    return (*words[:word], changed, *words[word + 1 :])


def _get(words: Words, word: int, low: int, width: int) -> int:
    return words[word] >> low & (1 << width) - 1


def _vop2(inst: Inst) -> bool:
    return len(inst.words) == 1 and inst.enc == "e32" and inst.words[0] >> 31 == 0 and len(inst.operands) == 3


def immediates(inst: Inst) -> Iterator[Words]:
    """Another immediate offset."""
    if inst.op.startswith("buffer_"):
        yield _bits(inst.words, 0, 0, 12, _get(inst.words, 0, 0, 12) ^ 16)
    elif inst.op.startswith("ds_"):
        yield _bits(inst.words, 0, 0, 16, _get(inst.words, 0, 0, 16) ^ 16)
    elif inst.op in ("s_addk_i32", "s_movk_i32"):
        yield _bits(inst.words, 0, 0, 16, _get(inst.words, 0, 0, 16) ^ 32)
    elif inst.op == "s_mov_b32" and len(inst.words) == 2:
        yield (inst.words[0], inst.words[1] ^ 0x1000)


def waits(inst: Inst) -> Iterator[Words]:
    """A wait that waits for nothing, and one for fewer accesses."""
    if inst.op == "s_waitcnt":
        yield (S_NOP,)
        value = inst.words[0] & 0xFFFF
        if value & 15 < 15:
            yield (inst.words[0] & ~0xFFFF | value + 1,)
        if value >> 8 & 15 < 15:
            yield (inst.words[0] & ~0xFFFF | value + 0x100,)


def barriers(inst: Inst) -> Iterator[Words]:
    """No barrier."""
    if inst.op == "s_barrier":
        yield (S_NOP,)


def registers(inst: Inst) -> Iterator[Words]:
    """Another register in an address."""
    if inst.op.startswith("buffer_"):
        yield _bits(inst.words, 1, 0, 8, _get(inst.words, 1, 0, 8) ^ 1)
        yield _bits(inst.words, 1, 16, 5, _get(inst.words, 1, 16, 5) ^ 1)
    elif inst.op.startswith("ds_"):
        yield _bits(inst.words, 1, 0, 8, _get(inst.words, 1, 0, 8) ^ 1)
    elif inst.op.startswith(("v_add_u32", "v_or_b32", "v_sub", "v_mul_lo")) and _vop2(inst):
        yield _bits(inst.words, 0, 9, 8, _get(inst.words, 0, 9, 8) ^ 1)
    elif inst.op.startswith(("s_add_u32", "s_mul_i32", "s_add_i32", "s_sub_i32", "s_max_i32", "s_lshl2_add")):
        yield _bits(inst.words, 0, 0, 8, _get(inst.words, 0, 0, 8) ^ 1)


def swapped(inst: Inst) -> Iterator[Words]:
    """The two operands of an instruction whose order matters, exchanged."""
    if inst.op in ("s_sub_i32", "s_sub_u32", "s_subb_u32", "s_cselect_b32") and len(inst.words) == 1:
        first, second = _get(inst.words, 0, 0, 8), _get(inst.words, 0, 8, 8)
        yield _bits(_bits(inst.words, 0, 0, 8, second), 0, 8, 8, first)


def conditions(inst: Inst) -> Iterator[Words]:
    """Another comparison: with or without equality, or the opposite."""
    if inst.op.startswith("v_cmp_") and inst.op.endswith(("i32", "u32", "i64", "u64")):
        at = (0, 17) if inst.enc == "e32" else (0, 16)
        for flip in (2, 5):
            yield _bits(inst.words, *at, 3, _get(inst.words, *at, 3) ^ flip)
    elif inst.op.startswith("s_cmp_") and "64" not in inst.op:
        yield _bits(inst.words, 0, 16, 1, _get(inst.words, 0, 16, 1) ^ 1)


def masks(inst: Inst) -> Iterator[Words]:
    """exec not changed, or not restored."""
    writes_exec = bool(inst.operands) and inst.operands[0].kind == "s" and inst.operands[0].value == EXEC
    if len(inst.words) == 1 and (writes_exec or "saveexec" in inst.op):
        yield (S_NOP,)
    if inst.op == "s_and_b64" and len(inst.words) == 1:
        yield _bits(inst.words, 0, 23, 7, _get(inst.words, 0, 23, 7) ^ 3)


def shifts(inst: Inst) -> Iterator[Words]:
    """Another shift amount, or another width of a bit field."""
    if inst.op in ("v_lshlrev_b32", "v_lshrrev_b32") and _vop2(inst) and inst.operands[1].kind == "imm":
        yield _bits(inst.words, 0, 0, 9, _get(inst.words, 0, 0, 9) ^ 1)
    elif inst.op in ("s_lshl_b32", "s_ashr_i32", "s_lshr_b32", "s_lshl_b64") and inst.operands[2].kind == "imm":
        yield _bits(inst.words, 0, 8, 8, _get(inst.words, 0, 8, 8) ^ 1)
    elif inst.op in ("v_lshl_add_u32", "v_lshl_or_b32", "v_bfe_u32") and inst.operands[2].kind == "imm":
        yield _bits(inst.words, 1, 9, 9, _get(inst.words, 1, 9, 9) ^ 1)
    elif inst.op == "v_and_b32" and _vop2(inst) and inst.operands[1].kind == "imm":
        yield _bits(inst.words, 0, 0, 9, _get(inst.words, 0, 0, 9) ^ 1)


def branches(inst: Inst) -> Iterator[Words]:
    """The arms of a branch exchanged; a skip that never skips or goes elsewhere."""
    if inst.op.startswith("s_cbranch_"):
        yield _bits(inst.words, 0, 16, 1, _get(inst.words, 0, 16, 1) ^ 1)
        yield (S_NOP,)


CHANGES: dict[str, Callable[[Inst], Iterator[Words]]] = {
    "immediate offset or constant": immediates,
    "wait dropped or lowered": waits,
    "barrier dropped": barriers,
    "register in an address": registers,
    "operands exchanged": swapped,
    "comparison": conditions,
    "exec not set or not restored": masks,
    "shift amount or field": shifts,
    "branch arms": branches,
}
MOVED = "access moved across a barrier"


def faults(code: Decoded, made_by: list[int], concerned: frozenset[int]) -> Iterator[Fault]:
    """Every change of an instruction on which addresses, conditions, order or waits depend."""
    targets = {inst.target for inst in code.insts if inst.target is not None}
    for n in range(code.entry, len(code.insts)):
        inst = code.insts[n]
        control = code.kinds[n] in EVENTS | {"wait", "branch"} - {"mfma", "prio"}
        if n in concerned or control:
            for what, change in CHANGES.items():
                for words in change(inst):
                    if words != inst.words and decodes(words):
                        yield Fault(what, n, 1, words, (made_by[n],))
        if inst.op == "s_barrier":
            yield from _moved(code, made_by, n, targets)


def _moved(code: Decoded, made_by: list[int], n: int, targets: set[int | None]) -> Iterator[Fault]:
    """The accesses before and after a barrier, on its other side."""
    first = next((m for m in range(n - 1, max(code.entry, n - 12), -1) if code.kinds[m] in EVENTS), None)
    after = next((m for m in range(n + 1, min(len(code.insts), n + 12)) if code.kinds[m] in EVENTS), None)
    for a, b, pick in ((first, n, 0), (n, after, -1)):
        if a is None or b is None or any(code.insts[m].pc in targets for m in range(a + 1, b + 1)):
            continue
        if any(code.kinds[m] in ("branch", "end") for m in range(a, b + 1)):
            continue
        order = [*range(a + 1, b + 1), a] if pick == 0 else [b, *range(a, b)]
        words = tuple(w for m in order for w in code.insts[m].words)
        yield Fault(MOVED, a, b - a + 1, words, tuple(made_by[m] for m in order))


def decodes(words: Words) -> bool:
    data = b"".join(w.to_bytes(4, "little") for w in words)
    try:
        return len(decode_all(data)) == 1
    except (DecodeError, IndexError):
        return False


def changed(compiled: Compiled, code: Decoded, fault: Fault) -> Compiled:
    """The object with the fault, and a map that knows where the instructions went."""
    made_by = attribute(code, [(pc, op) for pc, op in compiled.sidecar["pcs"]])
    made_by[fault.first : fault.first + fault.count] = list(fault.made_by)
    source = parse_elf(compiled.object)
    symbol = next(s for s in source.symbols if s.name == compiled.name)
    section = source.sections[symbol.section]
    at = section.offset + symbol.value - section.address + code.insts[fault.first].pc
    data = b"".join(w.to_bytes(4, "little") for w in fault.words)
    made = compiled.object[:at] + data + compiled.object[at + len(data) :]
    again = decode(made, compiled.name)
    pcs = [[inst.pc, op] for inst, op in zip(again.insts, made_by, strict=True)]
    return replace(compiled, object=made, sidecar={**compiled.sidecar, "pcs": pcs})


def seen(program: Scheduled, compiled: Compiled) -> str:
    """How the compiler notices: a code, `unknown`, or nothing."""
    kernel = program.kernel
    pcs = [(pc, op) for pc, op in compiled.sidecar["pcs"]]
    try:
        audit.audit(kernel, compiled.plan, compiled.object, pcs)
        found = recheck(program, compiled)
        if wait_states.wanted(compiled.object, kernel.name, pcs, {}):
            return "C306"
    except CompileError as error:
        return error.code
    return "" if found.proved and not found.agreement.unknown else "unknown"


def behavior(case: FaultCase, compiled: Compiled) -> Any:
    """What the machine says: the results, or how it failed."""
    arrays = case.arguments()
    options = machine.Options(checks="all", max_steps=50_000)
    try:
        kernel = machine.load(compiled.object).kernel(compiled.name)
        result = kernel(case.grid, (case.threads, 1, 1), *arrays, options=options)
    except (machine.MachineError, machine.LaunchError, machine.LoadError) as error:
        return type(error).__name__
    if result.reports:
        return result.reports[0].code
    return tuple(a.tobytes() for a in arrays if isinstance(a, np.ndarray))


@dataclass
class Tally:
    """Of one kind of change: made, altering behavior, seen of these, and missed ones."""

    made: int = 0
    alters: int = 0
    seen: int = 0
    by: Counter[str] | None = None


def run(case: FaultCase, limit: int | None = None, show: Callable[[str], None] | None = None) -> dict[str, Tally]:
    """Inject every fault into one kernel (or every k-th, for a limit)."""
    program = case.program()
    compiled = compile_kernel(program)
    code = decode(compiled.object, compiled.name)
    pcs = [(pc, op) for pc, op in compiled.sidecar["pcs"]]
    matched = match(program.kernel, code, pcs)
    concerned = agree(program.kernel, compiled.object, code, matched).slice_of
    if seen(program, compiled):
        raise AssertionError(f"{case.name}: the object itself is not shown right: {seen(program, compiled)}")
    right = behavior(case, compiled)
    if isinstance(right, str):
        raise AssertionError(f"{case.name}: the object itself fails on the machine: {right}")
    rows: dict[str, Tally] = defaultdict(Tally)
    every = list(faults(code, matched.op_of, concerned))
    step = 1 if limit is None else max(1, -(-len(every) // limit))
    for fault in every[::step]:
        wrong = changed(compiled, code, fault)
        row = rows[fault.what]
        row.by = row.by or Counter()
        row.made += 1
        how = seen(program, wrong)
        if behavior(case, wrong) == right:
            continue
        row.alters += 1
        row.seen += bool(how)
        row.by[how or "missed"] += 1
        if not how and show is not None:
            again = decode(wrong.object, wrong.name)
            show(f"  missed in {case.name}: {fault.what}, {code.insts[fault.first]} -> {again.insts[fault.first]}")
    return dict(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--limit", type=int, default=None, help="faults per kernel")
    args = parser.parse_args()
    names = [name for name in args.kernels.split(",") if name]
    total: dict[str, Tally] = defaultdict(Tally)
    for case in CASES:
        if names and case.name not in names:
            continue
        rows = run(case, args.limit, print)
        for what, row in rows.items():
            into = total[what]
            into.made, into.alters, into.seen = into.made + row.made, into.alters + row.alters, into.seen + row.seen
            into.by = (into.by or Counter()) + (row.by or Counter())
        done = [sum(getattr(row, key) for row in rows.values()) for key in ("made", "alters", "seen")]
        print(f"{case.name}: {done[0]} changes, {done[1]} alter behavior, {done[2]} of these seen", flush=True)
    print("\n| change | made | alter behavior | seen | by |\n|---|---|---|---|---|")
    for what, row in total.items():
        by = ", ".join(f"{name} {count}" for name, count in sorted((row.by or Counter()).items()))
        print(f"| {what} | {row.made} | {row.alters} | {row.seen} | {by} |")
    return 0 if all(row.seen == row.alters for row in total.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Has the data arrived? Every register a load fills is waited for before it is touched, on every path of the object.

LLVM inserts these waits; here they are checked in the finished machine code, so that its placement need not be
trusted. For each register with a load under way the state holds which counters it hangs on (two, where paths meet
that load it from different memories) and how many operations were certainly issued on each since:

    buffer_load_dwordx4 v[0:3], ...      v0..v3: vm, 0 younger
    buffer_load_dwordx4 v[4:7], ...      v0..v3: vm, 1 younger
    s_waitcnt vmcnt(1)                   at most 1 outstanding, so what has 1 younger is here
    v_add_f32 v8, v0, v0                 fine; v4 would not be

Counters retire in order, except scalar loads, for which only lgkmcnt(0) is certain, and which while under way make
other lgkm counts say nothing about LDS. Where paths meet the smaller number counts. A load may overwrite a register
that an older load of the same counter still fills: they arrive in order.

The machine checks the same while it runs; this looks at all paths, executed or not.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.compile.decoded import Decoded
from argus.gfx942.hazards import registers
from argus.gfx942.inst import Inst
from argus.gfx942.instructions import spec
from argus.gfx942.waits import decode as decode_wait

SCALAR = 1 << 16
"""Key of s0; vector registers have the keys of `argus.gfx942.hazards`."""
NEVER = -1
"""Younger operations of a scalar load: no count but zero says that it has arrived."""

State = dict[tuple[int, str], int]
"""(register, counter) -> operations certainly issued on the counter after the load."""


@dataclass(frozen=True, slots=True)
class Early:
    """An instruction that touches a register before the load into it has certainly arrived."""

    inst: Inst
    register: int
    counter: str


def early_uses(code: Decoded) -> list[Early]:
    """Every use that comes too early on some path, in program order."""
    leaders = _leaders(code)
    ends = dict(zip(leaders, [*leaders[1:], len(code.insts)], strict=True))
    before: dict[int, State] = {0: {}, code.entry: {}}
    work = sorted(before)
    while work:
        start = work.pop()
        state = dict(before[start])
        for n in range(start, ends[start]):
            _step(code.insts[n], state)
        for following in _successors(code, ends[start] - 1):
            known = before.get(following)
            merged = dict(state) if known is None else _merge(known, state)
            if merged != known:
                before[following] = merged
                work.append(following)
    found: list[Early] = []
    for start in leaders:
        state = dict(before.get(start, {}))
        for n in range(start, ends[start]):
            found += _touched(code.insts[n], state)
            _step(code.insts[n], state)
    return found


def _leaders(code: Decoded) -> list[int]:
    at = {inst.pc: n for n, inst in enumerate(code.insts)}
    found = {0, code.entry}
    for n, inst in enumerate(code.insts):
        if inst.target is not None and inst.target in at:
            found |= {at[inst.target], n + 1}
        elif inst.op == "s_endpgm":
            found.add(n + 1)
    return sorted(n for n in found if n < len(code.insts))


def _successors(code: Decoded, n: int) -> list[int]:
    inst = code.insts[n]
    at = {i.pc: k for k, i in enumerate(code.insts)}
    result = [at[inst.target]] if inst.target is not None and inst.target in at else []
    if inst.op not in ("s_branch", "s_endpgm") and n + 1 < len(code.insts):
        result.append(n + 1)
    return result


def _merge(a: State, b: State) -> State:
    merged = dict(a)
    for pending, younger in b.items():
        merged[pending] = min(merged.get(pending, younger), younger)
    return merged


def _keys(inst: Inst) -> tuple[frozenset[int], frozenset[int]]:
    """(read, written) registers, scalar ones behind SCALAR."""
    use = registers(inst)
    reads = use.reads | {SCALAR + n for n in use.scalar_reads}
    return frozenset(reads), use.writes | {SCALAR + n for n in use.scalar_writes}


def _touched(inst: Inst, state: State) -> list[Early]:
    if not state:
        return []
    reads, writes = _keys(inst)
    counters = spec(inst.op).counters
    pending = sorted(state)
    found = [Early(inst, key, counter) for key, counter in pending if key in reads]
    for key, counter in pending:
        if key in writes - reads and not (counters == (counter,) and state[key, counter] != NEVER):
            found.append(Early(inst, key, counter))
    return found


def _step(inst: Inst, state: State) -> None:
    """What is under way after the instruction."""
    if inst.op == "s_waitcnt":
        waits = decode_wait(inst.operands[0].value)
        limits = {"vm": waits.vm, "lgkm": waits.lgkm}
        scalars = NEVER in state.values()
        for (key, counter), younger in list(state.items()):
            limit = limits[counter]
            uncertain = counter == "lgkm" and scalars
            if limit == 0 or (younger != NEVER and not uncertain and younger >= limit):
                del state[key, counter]
        return
    found = spec(inst.op)
    if not found.counters:
        return
    for (key, counter), younger in state.items():
        if counter in found.counters and younger != NEVER:
            state[key, counter] = younger + 1
    _, writes = _keys(inst)
    if found.memory.kind in ("load", "atomic") or found.cls == "lds":
        for key in writes:
            state[key, found.counters[0]] = NEVER if found.cls == "smem" else 0

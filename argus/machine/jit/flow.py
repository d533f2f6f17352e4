"""A kernel's control flow: basic blocks, where a wave may resume, and scalar registers known to be constant.

    flow = read_flow(code, entry)
    flow.blocks[pc].insts          a maximal run of instructions entered only at its start
    flow.resume                    block starts at which a wave may have been suspended, in order
    flow.constants[pc]             {register: value} known before the block whatever path led there

A block ends at a branch, a barrier or `s_endpgm`. A wave is suspended only behind a barrier and before the target of a
backward jump; every loop contains one of those, so a time slice always ends.

Known constants are a forward data-flow over scalar registers with intersection at joins. They serve two purposes:
exec known to be all ones (most code of most kernels) selects unmasked code, and selectors of byte permutes fold.
Tracked are moves of constants and copies, `saveexec` and the `s_or_b64 exec, exec, saved` that undoes it; any other
write makes a register unknown. Only instructions reachable from the entry are decoded, so data between functions does
not matter; a jump that leaves the code, or one through a register, is reported by `JitUnsupported`.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.gfx942.decoder import decode
from argus.gfx942.inst import EXEC, Inst, Operand
from argus.machine.jit.effects import HWREG, VSKIP, effects, hardware_operand
from argus.machine.jit.errors import JitUnsupported

Constants = dict[int, int]
"""Registers known at a point: scalar registers by number, hardware registers from HWREG, the skip bit at VSKIP."""
ONES = 0xFFFFFFFF
INDIRECT = frozenset({"s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_rfe_b64", "s_cbranch_i_fork", "s_cbranch_g_fork"})
ENDS = frozenset({"s_endpgm", "s_endpgm_saved"})


@dataclass(slots=True)
class Block:
    """Instructions from `pc` on; `successors` are block starts, fall-through last."""

    pc: int
    insts: list[Inst]
    successors: list[int]


@dataclass(slots=True)
class Flow:
    """The reachable code of one kernel."""

    entry: int
    blocks: dict[int, Block]
    resume: list[int]
    constants: dict[int, Constants]

    @property
    def instructions(self) -> int:
        return sum(len(block.insts) for block in self.blocks.values())


def is_branch(inst: Inst) -> bool:
    return inst.op == "s_branch" or inst.op.startswith("s_cbranch")


def ends_block(inst: Inst) -> bool:
    return is_branch(inst) or inst.op in ENDS or inst.op == "s_barrier"


def read_flow(code: bytes, entry: int, start: Constants) -> Flow:
    """Decode what is reachable from `entry`; `start` is known when a wave starts."""
    insts, leaders = _reach(code, entry)
    blocks: dict[int, Block] = {}
    for first in sorted(leaders):
        run: list[Inst] = []
        pc = first
        while True:
            inst = insts[pc]
            run.append(inst)
            pc += inst.size
            if ends_block(inst) or pc in leaders:
                break
        blocks[first] = Block(first, run, _successors(run[-1]))
    resume = {pc for block in blocks.values() if block.insts[-1].op == "s_barrier" for pc in block.successors}
    resume |= {target for block in blocks.values() for target in block.successors if target <= block.insts[-1].pc}
    named = {HWREG + (operand.value & 63) for inst in insts.values() for operand in hardware_operand(inst)}
    known = dict.fromkeys(named, 0) | {VSKIP: 0} | start
    return Flow(entry, blocks, sorted(resume), _constants(blocks, entry, known))


def _reach(code: bytes, entry: int) -> tuple[dict[int, Inst], set[int]]:
    insts: dict[int, Inst] = {}
    leaders, work = {entry}, [entry]
    while work:
        pc = work.pop()
        while pc not in insts:
            inst = decode(code, pc)
            insts[pc] = inst
            if inst.op in INDIRECT:
                raise JitUnsupported(inst, "jumps through a register")
            if inst.op in ENDS:
                break
            following = pc + inst.size
            if is_branch(inst):
                if inst.target is None:
                    raise JitUnsupported(inst, "has no target")
                leaders.add(inst.target)
                work.append(inst.target)
                if inst.op == "s_branch":
                    break
                leaders.add(following)
            elif inst.op == "s_barrier":
                leaders.add(following)
            pc = following
    return insts, leaders


def _successors(last: Inst) -> list[int]:
    following = last.pc + last.size
    if last.op in ENDS:
        return []
    if last.target is None:
        return [following]
    return [last.target] if last.op == "s_branch" else [last.target, following]


def _constants(blocks: dict[int, Block], entry: int, start: Constants) -> dict[int, Constants]:
    before: dict[int, Constants] = {entry: start}
    work = [entry]
    while work:
        pc = work.pop()
        state = dict(before[pc])
        for inst in blocks[pc].insts:
            step_constants(state, inst)
        for target in blocks[pc].successors:
            known = before.get(target)
            met = state if known is None else {r: v for r, v in known.items() if state.get(r) == v}
            if met != known:
                before[target] = dict(met)
                work.append(target)
    return before


def step_constants(state: Constants, inst: Inst) -> None:
    """Update what is known across one instruction."""
    learned = _learn(state, inst)
    for register in effects(inst, 0).scalar_writes:
        state.pop(register, None)
    state.update(learned)


def _learn(state: Constants, inst: Inst) -> Constants:
    if inst.op in ("s_setreg_b32", "s_setreg_imm32_b32"):
        spec = inst.operands[0].value
        old, value = state.get(HWREG + (spec & 63)), _word(state, inst.operands[1], 0)
        if old is None or value is None:
            return {}
        shift, mask = spec >> 6 & 31, (1 << (spec >> 11 & 31) + 1) - 1
        return {HWREG + (spec & 63): (old & ~(mask << shift) | (value & mask) << shift) & ONES}
    if inst.op == "s_setvskip":
        value, bit = (_word(state, operand, 0) for operand in inst.operands[:2])
        return {} if value is None or bit is None else {VSKIP: value >> (bit & 31) & 1}
    if inst.op in ("s_mov_b32", "s_movk_i32"):
        value = _word(state, inst.operands[1], 0)
        if inst.op == "s_movk_i32" and value is not None:
            value = (value & 0x7FFF) - (value & 0x8000) & ONES
        return {} if value is None else {inst.operands[0].value: value}
    if inst.op == "s_mov_b64":
        return _pair(inst.operands[0].value, _wide(state, inst.operands[1]))
    if inst.op.endswith("_saveexec_b64"):
        saved = _both(state, EXEC)
        return _pair(inst.operands[0].value, saved)
    if inst.op == "s_or_b64" and any(_wide(state, source) == (ONES, ONES) for source in inst.operands[1:]):
        return _pair(inst.operands[0].value, (ONES, ONES))
    return {}


def _pair(register: int, value: tuple[int, int] | None) -> Constants:
    return {} if value is None else {register: value[0], register + 1: value[1]}


def _both(state: Constants, register: int) -> tuple[int, int] | None:
    low, high = state.get(register), state.get(register + 1)
    return None if low is None or high is None else (low, high)


def _word(state: Constants, operand: Operand, part: int) -> int | None:
    if operand.kind == "s":
        return state.get(operand.value + part)
    if operand.kind in ("imm", "lit", "fimm"):
        return operand.value & ONES
    return None


def _wide(state: Constants, operand: Operand) -> tuple[int, int] | None:
    if operand.kind == "s":
        return _both(state, operand.value)
    if operand.kind == "imm":
        return operand.value & ONES, operand.value >> 32 & ONES
    return None

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
write makes a register unknown.

s_setvskip makes the wave skip vector instructions until further notice. Code that may run either way exists twice: the
skipping copy of a block (its start carries SKIPPING) has no vector instructions, and s_setvskip chooses between them.

A jump through a register (`s_setpc_b64`) is followed where its target is a constant of the program, which is found with
the other constants (`program_counters`): read what is reachable, find targets, read on, until nothing is new.

Only instructions reachable from the entry are decoded, so data between functions does not matter; a jump that leaves
the code, or one to an address that only the run knows, is reported by `JitUnsupported`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.gfx942.decoder import decode
from argus.gfx942.inst import EXEC, Inst, InstOperand
from argus.machine.jit.effects import HWREG, SCC, effects, hardware_operand
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.program_counters import Counters, jump_target, step_counters
from argus.machine.semantics.salu import SALU
from argus.machine.semantics.scalar_backend import ScalarBuilder

Jumps = dict[int, int]
"""s_setpc_b64 by program counter -> where it goes."""
Constants = dict[int, int]
"""Registers known at a point: scalar registers by number, hardware registers from HWREG."""
ONES = 0xFFFFFFFF
NOTHING_LEARNED: Constants = {}
JUMP = "s_setpc_b64"
INDIRECT = frozenset({"s_swappc_b64", "s_call_b64", "s_rfe_b64", "s_cbranch_i_fork", "s_cbranch_g_fork"})
ENDS = frozenset({"s_endpgm", "s_endpgm_saved", "s_trap"})
VECTOR_PREFIXES = ("v_", "ds_", "buffer_", "global_", "flat_", "scratch_")
FOLDED = frozenset({"s_add_i32", "s_add_u32", "s_sub_i32", "s_sub_u32", "s_abs_i32"}) | {
    f"s_cmp_{relation}_{kind}" for relation in ("eq", "lg", "gt", "ge", "lt", "le") for kind in ("i32", "u32")
}
"""What makes the distance of a far jump, and decides its direction."""
SKIPPING = 1 << 40
"""Added to the start of a block that runs with s_setvskip on."""


@dataclass(slots=True)
class Block:
    """Instructions from `pc` on (`passed` counts skipped ones too); `successors`: block starts, fall-through last."""

    pc: int
    insts: list[Inst]
    successors: list[int]
    passed: int


@dataclass(slots=True)
class CodeFlow:
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
    return is_branch(inst) or inst.op in ENDS or inst.op in ("s_barrier", "s_setvskip", JUMP)


def real_pc(start: int) -> int:
    """The program counter of a block start."""
    return start & SKIPPING - 1


def read_flow(code: bytes, entry: int, start: Constants) -> CodeFlow:
    """Decode what is reachable from `entry`; `start` is known when a wave starts."""
    jumps: Jumps = {}
    while True:
        insts, leaders = _reach(code, entry, jumps)
        blocks = _blocks(insts, leaders, jumps)
        named = {HWREG + (operand.value & 63) for inst in insts.values() for operand in hardware_operand(inst)}
        known = KnownValues(blocks, entry, dict.fromkeys(named, 0) | start)
        found, unknown = known.jumps(len(code))
        if any(found.get(pc) != target for pc, target in jumps.items()):
            raise JitUnsupported(insts[next(iter(jumps))], "jumps to an address that depends on the way there")
        if found == jumps:
            break
        jumps = found
    if unknown is not None:
        raise JitUnsupported(*unknown)
    blocks = {pc: replace(block, successors=known.ahead[pc]) for pc, block in blocks.items() if pc in known.ahead}
    resume = {pc for block in blocks.values() if _last_op(block) == "s_barrier" for pc in block.successors}
    resume |= {target for block in blocks.values() for target in block.successors if is_backward(block, target)}
    return CodeFlow(entry, blocks, sorted(resume), {pc: known.before[pc] for pc in blocks})


def _blocks(insts: dict[int, Inst], leaders: set[int], jumps: Jumps) -> dict[int, Block]:
    blocks: dict[int, Block] = {}
    for first in sorted(leaders):
        run: list[Inst] = []
        skipping, pc, passed = first & SKIPPING, real_pc(first), 0
        while True:
            inst = insts[pc]
            pc += inst.size
            passed += 1
            if not skipping or not inst.op.startswith(VECTOR_PREFIXES):
                run.append(inst)
            if ends_block(inst):
                blocks[first] = Block(first, run, _successors(inst, skipping, jumps), passed)
                break
            if pc | skipping in leaders:
                blocks[first] = Block(first, run, [pc | skipping], passed)
                break
    return blocks


def _last_op(block: Block) -> str:
    return block.insts[-1].op if block.insts else ""


def is_backward(block: Block, target: int) -> bool:
    """Whether going from the block to `target` may close a loop."""
    last = block.insts[-1].pc if block.insts else real_pc(block.pc)
    return real_pc(target) <= last


def _reach(code: bytes, entry: int, jumps: Jumps) -> tuple[dict[int, Inst], set[int]]:
    """Instructions by pc, and block starts: a pc, with SKIPPING where vector instructions are skipped."""
    insts: dict[int, Inst] = {}
    leaders, work = {entry}, [entry]
    seen: set[int] = set()
    while work:
        place = work.pop()
        while place not in seen:
            seen.add(place)
            pc, skipping = real_pc(place), place & SKIPPING
            inst = insts[pc] = decode(code, pc) if pc not in insts else insts[pc]
            if inst.op in INDIRECT:
                raise JitUnsupported(inst, "calls or jumps through a register")
            if inst.op in ENDS:
                break
            if ends_block(inst):
                if is_branch(inst) and inst.target is None:
                    raise JitUnsupported(inst, "has no target")
                targets = _successors(inst, skipping, jumps)
                leaders.update(targets)
                work.extend(targets)
                break
            place = pc + inst.size | skipping
    return insts, leaders


def _successors(last: Inst, skipping: int, jumps: Jumps) -> list[int]:
    """Block starts behind a block's last instruction; for s_setvskip the skipping one first."""
    following = last.pc + last.size
    if last.op in ENDS:
        return []
    if last.op == JUMP:
        return [jumps[last.pc] | skipping] if last.pc in jumps else []
    if last.op == "s_setvskip":
        value, bit = last.operands[:2]
        if value.kind == "imm" and bit.kind == "imm":
            return [following | (SKIPPING if value.value >> (bit.value & 31) & 1 else 0)]
        return [following | SKIPPING, following]
    if last.target is None:
        return [following | skipping]
    taken = last.target | skipping
    return [taken] if last.op == "s_branch" else [taken, following | skipping]


class KnownValues:
    """What is known before each block that is reached, by data flow; `ahead` are the successors it may go to."""

    def __init__(self, blocks: dict[int, Block], entry: int, start: Constants) -> None:
        self._blocks = blocks
        self.before: dict[int, Constants] = {entry: start}
        self.ahead: dict[int, list[int]] = {}
        self._counters: dict[int, Counters] = {entry: {}}
        self._ends: dict[int, Counters] = {}
        work = [entry]
        while work:
            work += self._through(work.pop())

    def _through(self, pc: int) -> list[int]:
        """Blocks behind this one of which less is known now."""
        block = self._blocks[pc]
        state, counters = dict(self.before[pc]), dict(self._counters[pc])
        for inst in block.insts:
            if inst.op == JUMP:
                break
            sources = [_word(state, operand, 0) for operand in inst.operands[1:3]]
            step_counters(counters, inst, *(*sources, None, None)[:2])
            step_constants(state, inst)
        self._ends[pc] = counters
        self.ahead[pc] = _possible(block, state)
        changed: list[int] = []
        for target in self.ahead[pc]:
            known, pointing = self.before.get(target), self._counters.get(target)
            met = state if known is None else {r: v for r, v in known.items() if state.get(r) == v}
            there = counters if pointing is None else {r: v for r, v in pointing.items() if counters.get(r) == v}
            if met != known or there != pointing:
                self.before[target], self._counters[target] = dict(met), dict(there)
                changed.append(target)
        return changed

    def jumps(self, size: int) -> tuple[Jumps, tuple[Inst, str] | None]:
        """Targets of the jumps through registers, and the first one that has none, with the reason."""
        found: Jumps = {}
        unknown: tuple[Inst, str] | None = None
        for pc in sorted(self.ahead):
            block = self._blocks[pc]
            if _last_op(block) == JUMP:
                target = jump_target(self._ends[pc], block.insts[-1], size)
                if isinstance(target, str):
                    unknown = unknown or (block.insts[-1], target)
                else:
                    found[block.insts[-1].pc] = target
        return found, unknown


def _possible(block: Block, state: Constants) -> list[int]:
    """The successors that a branch on SCC may go to where SCC is known."""
    op, scc = _last_op(block), state.get(SCC)
    if scc is None or op not in ("s_cbranch_scc0", "s_cbranch_scc1") or len(block.successors) != 2:
        return block.successors
    taken = (op == "s_cbranch_scc1") == bool(scc)
    return block.successors[:1] if taken else block.successors[1:]


def step_constants(state: Constants, inst: Inst) -> None:
    """Update what is known across one instruction."""
    learned = _learn(state, inst)
    for register in effects(inst, 0).scalar_writes:
        state.pop(register, None)
    if learned:
        state.update(learned)


def _learn(state: Constants, inst: Inst) -> Constants:
    if not inst.op.startswith("s_"):
        return NOTHING_LEARNED
    if inst.op in ("s_setreg_b32", "s_setreg_imm32_b32"):
        spec = inst.operands[0].value
        old, value = state.get(HWREG + (spec & 63)), _word(state, inst.operands[1], 0)
        if old is None or value is None:
            return {}
        shift, mask = spec >> 6 & 31, (1 << (spec >> 11 & 31) + 1) - 1
        return {HWREG + (spec & 63): (old & ~(mask << shift) | (value & mask) << shift) & ONES}
    if inst.op in ("s_mov_b32", "s_movk_i32"):
        value = _word(state, inst.operands[1], 0)
        if inst.op == "s_movk_i32" and value is not None:
            value = (value & 0x7FFF) - (value & 0x8000) & ONES
        return {} if value is None else {inst.operands[0].value: value}
    if inst.op in FOLDED:
        return _folded(state, inst)
    if inst.op == "s_mov_b64":
        return _pair(inst.operands[0].value, _wide(state, inst.operands[1]))
    if inst.op.endswith("_saveexec_b64"):
        saved = _both(state, EXEC)
        return _pair(inst.operands[0].value, saved)
    if inst.op == "s_or_b64" and any(_wide(state, source) == (ONES, ONES) for source in inst.operands[1:]):
        return _pair(inst.operands[0].value, (ONES, ONES))
    return {}


def _folded(state: Constants, inst: Inst) -> Constants:
    """A sum or a comparison of known numbers."""
    entry = SALU[inst.op]
    results = [0] if "u32" in entry.results else []
    numbers = [_word(state, operand, 0) for operand in inst.operands[len(results) :]]
    if any(n is None for n in numbers):
        return {}
    made = entry.fn(ScalarBuilder(), *numbers)
    values = made if isinstance(made, tuple) else (made,)
    names = {"u32": inst.operands[0].value, "scc": SCC}
    return {names[word]: int(value) for word, value in zip(entry.results, values, strict=True)}


def _pair(register: int, value: tuple[int, int] | None) -> Constants:
    return {} if value is None else {register: value[0], register + 1: value[1]}


def _both(state: Constants, register: int) -> tuple[int, int] | None:
    low, high = state.get(register), state.get(register + 1)
    return None if low is None or high is None else (low, high)


def _word(state: Constants, operand: InstOperand, part: int) -> int | None:
    if operand.kind == "s":
        return state.get(operand.value + part)
    if operand.kind in ("imm", "lit", "fimm"):
        return operand.value & ONES
    return None


def _wide(state: Constants, operand: InstOperand) -> tuple[int, int] | None:
    if operand.kind == "s":
        return _both(state, operand.value)
    if operand.kind == "imm":
        return operand.value & ONES, operand.value >> 32 & ONES
    return None

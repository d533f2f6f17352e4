"""Program counters in scalar registers, followed as far as jumps through them need it.

    s_getpc_b64 s[4:5]                s[4:5] = code + 8
    s_add_i32 s6, 0x20004, 4
    s_add_u32 s4, s4, s6              the low word of code + 0x20010, its carry in SCC
    s_addc_u32 s5, s5, 0              s[4:5] = code + 0x20010
    s_setpc_b64 s[4:5]                a jump to 0x20010

That is how assemblers reach what is too far for a branch. `Counters` says, for the lower register of a pair, how far
from the start of the code the pair points, or that its upper half still lacks a carry (or borrow). Sums of a counter
and a number known at translation are followed, upwards and downwards, in place. Everything else is forgotten: copies,
a sum in other registers, counters that differ between the paths into a block, return addresses of calls.
"""

from __future__ import annotations

from argus.gfx942.inst import Inst, InstOperand
from argus.machine.jit.effects import SCC, effects

Counters = dict[int, tuple[str, int]]
"""Lower register of a pair -> ("pc", offset), or ("carry" | "borrow", offset) where only the low word is there."""
M64 = (1 << 64) - 1
_LOW = {"s_add_u32": ("carry", 1), "s_sub_u32": ("borrow", -1)}
_HIGH = {"s_addc_u32": ("carry", 1), "s_subb_u32": ("borrow", -1)}


def step_counters(counters: Counters, inst: Inst, first: int | None, second: int | None) -> None:
    """Update what is known across one instruction, whose two sources are these numbers where they are known."""
    learned = _learn(counters, inst, first, second)
    written = effects(inst, 0).scalar_writes
    for register, (state, _) in list(counters.items()):
        if register in written or register + 1 in written or (state != "pc" and SCC in written):
            del counters[register]
    counters.update(learned)


def _learn(counters: Counters, inst: Inst, first: int | None, second: int | None) -> Counters:
    if inst.op == "s_getpc_b64":
        return {inst.operands[0].value: ("pc", inst.pc + inst.size)}
    if inst.op in _LOW:
        waiting, sign = _LOW[inst.op]
        target, a, b = inst.operands[:3]
        number = second if _same(target, a) else first if sign > 0 and _same(target, b) else None
        state, offset = counters.get(target.value, ("", 0))
        return {target.value: (waiting, offset + sign * number)} if state == "pc" and number is not None else {}
    if inst.op in _HIGH:
        waiting, sign = _HIGH[inst.op]
        target, a, b = inst.operands[:3]
        number = second if _same(target, a) else first if sign > 0 and _same(target, b) else None
        state, offset = counters.get(target.value - 1, ("", 0))
        if state == waiting and number is not None:
            return {target.value - 1: ("pc", offset + (sign * number << 32) & M64)}
    return {}


def _same(target: InstOperand, source: InstOperand) -> bool:
    return target.kind == source.kind == "s" and target.value == source.value


def jump_target(counters: Counters, inst: Inst, size: int) -> int | str:
    """Where s_setpc_b64 goes in code of this size, or why that is not known."""
    state, offset = counters.get(inst.operands[0].value, ("", 0))
    if state != "pc":
        return "jumps to an address that is not a constant of the program"
    if offset >= size or offset % 4:
        return f"jumps to {offset:#x}, which is no instruction of the code"
    return offset

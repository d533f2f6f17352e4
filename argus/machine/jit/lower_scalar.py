"""Scalar instructions: the table's arithmetic, scalar memory, lane reads, and what only changes the wave's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.gfx942.inst import EXEC, VCC, Inst, InstOperand
from argus.machine.jit.effects import HWREG, SCC, row_of
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.flow import step_constants
from argus.machine.jit.frame import ROW, SPARE_ROWS, VECTOR_ROWS, ContextFields
from argus.machine.jit.llvm_builder import LlvmBuilder, LlvmValue
from argus.machine.semantics import MachineOp
from argus.machine.semantics.modifiers import WIDE, constant_bits
from argus.machine.state import PRIVATE_BASE, SHARED_BASE

if TYPE_CHECKING:
    from argus.machine.jit.translator import Translator

APERTURES = {
    235: SHARED_BASE,
    236: SHARED_BASE | 0xFFFFFFFF,
    237: PRIVATE_BASE,
    238: PRIVATE_BASE | 0xFFFFFFFF,
}
BITS = frozenset({SCC, 251, 252})


def special(t: Translator, value: int) -> str:
    """A hardware source of one bit (scc, vccz, execz) as i32."""
    f, scalars = t.f, t.scalars
    if value == SCC:
        bit = scalars.scc()
    else:
        pair = {251: VCC, 252: EXEC}[value]
        bit = f.compare("eq", "i64", scalars.load64(pair), "0")
    return f.cast("zext", "i1", bit, "i32")


def scalar_word(t: Translator, inst: Inst, operand: InstOperand, word: str = "u32") -> str:
    """A 32-bit scalar source as i32."""
    if operand.kind == "s":
        return t.scalars.load32(operand.value)
    if operand.kind in ("imm", "lit", "fimm"):
        bits = constant_bits(word, operand) & 0xFFFFFFFF
        return str(bits - (bits >> 31 << 32))
    if operand.kind == "special" and operand.value in BITS:
        return special(t, operand.value)
    if operand.kind == "special" and operand.value in APERTURES:
        low = APERTURES[operand.value] & 0xFFFFFFFF
        return str(low - (low >> 31 << 32))
    raise JitUnsupported(inst, f"source {operand.kind} {operand.value}")


def scalar_pair(t: Translator, inst: Inst, operand: InstOperand, word: str = "u64") -> str:
    """A 64-bit scalar source as i64."""
    if operand.kind == "s":
        return t.scalars.load64(operand.value)
    if operand.kind in ("imm", "lit", "fimm"):
        bits = constant_bits(word, operand)
        return str(bits - (bits >> 63 << 64))
    if operand.kind == "special" and operand.value in APERTURES:
        return str(APERTURES[operand.value])
    return t.f.cast("zext", "i32", scalar_word(t, inst, operand), "i64")


def lower_salu(t: Translator, inst: Inst, op: MachineOp) -> None:
    """An entry of the scalar table."""
    b = LlvmBuilder(t.f, 0)
    explicit = [word for word in op.results if word not in ("scc", "exec")]
    targets, sources = inst.operands[: len(explicit)], list(inst.operands[len(explicit) :])
    arguments: list[LlvmValue] = []
    for word in op.args:
        if word == "scc":
            arguments.append(LlvmValue(1, t.scalars.scc()))
        elif word == "exec":
            arguments.append(LlvmValue(64, t.scalars.exec()))
        elif word == "old":
            arguments.append(LlvmValue(32, t.scalars.load32(targets[0].value)))
        elif word == "old64":
            arguments.append(LlvmValue(64, t.scalars.load64(targets[0].value)))
        elif word in ("k16", "k16u"):
            value = sources.pop(0).value & 0xFFFF
            arguments.append(b.const32(value - (value >> 15 << 16) if word == "k16" else value))
        elif word in WIDE:
            arguments.append(LlvmValue(64, scalar_pair(t, inst, sources.pop(0), word)))
        else:
            arguments.append(LlvmValue(32, scalar_word(t, inst, sources.pop(0), word)))
    made = op.fn(b, *arguments)
    remaining = list(targets)
    for word, value in zip(op.results, made if isinstance(made, tuple) else (made,), strict=True):
        if word == "scc":
            t.scalars.set_scc(b.whole(value))
        elif word == "exec":
            t.scalars.store64(EXEC, b.whole(value))
        elif word in WIDE:
            t.scalars.store64(remaining.pop(0).value, b.whole(value))
        else:
            t.scalars.store32(remaining.pop(0).value, b.whole(value))


def lower_lane_read(t: Translator, inst: Inst) -> None:
    """v_readlane_b32, v_readfirstlane_b32."""
    f = t.f
    target, source = inst.operands[0], inst.operands[1]
    if source.kind not in ("v", "a"):
        t.scalars.store32(target.value, scalar_word(t, inst, source))
        return
    if inst.op == "v_readlane_b32":
        number = f.cast("zext", "i32", scalar_word(t, inst, inst.operands[2]), "i64")
        lane = f.binary("and", "i64", number, "63")
    elif t.scalars.exec_full:
        lane = "0"
    else:
        first = f.call("i64", "llvm.cttz.i64", ("i64", t.scalars.exec()), ("i1", "false"))
        lane = f.binary("and", "i64", first, "63")
    pointer = f.index("i32", t.row_pointer(source), lane)
    t.scalars.store32(target.value, f.load("i32", pointer, 4))


def lower_lane_write(t: Translator, inst: Inst) -> None:
    """v_writelane_b32: exec does not matter."""
    f = t.f
    value = scalar_word(t, inst, inst.operands[1])
    number = f.cast("zext", "i32", scalar_word(t, inst, inst.operands[2]), "i64")
    lane = f.binary("and", "i64", number, "63")
    base = f.at("%wave", row_of(inst.operands[0], t.spec.accum_offset) * ROW)
    f.store("i32", value, f.index("i32", base, lane), 4)


def lower_hardware_register(t: Translator, inst: Inst) -> None:
    """s_getreg_b32; s_setreg only changes what is known, and that must be known."""
    if inst.op != "s_getreg_b32":
        after = dict(t.scalars.constants)
        step_constants(after, inst)
        if HWREG + (inst.operands[0].value & 63) not in after:
            raise JitUnsupported(inst, "a hardware register set to a value not known at translation")
        return
    spec = inst.operands[1].value
    value = t.scalars.constant(HWREG + (spec & 63))
    if value is None:
        raise JitUnsupported(inst, "a hardware register whose value depends on the path")
    field = value >> (spec >> 6 & 31) & (1 << (spec >> 11 & 31) + 1) - 1
    t.scalars.store32(inst.operands[0].value, str(field - (field >> 31 << 32)))


def skip_bit(t: Translator, inst: Inst) -> str:
    """s_setvskip: whether the chosen bit is set."""
    f = t.f
    value, bit = (scalar_word(t, inst, operand) for operand in inst.operands[:2])
    moved = f.binary("lshr", "i32", value, f.binary("and", "i32", bit, "31"))
    return f.cast("trunc", "i32", moved, "i1")


def lower_counter(t: Translator, inst: Inst) -> None:
    """s_getpc_b64: a device address. s_memtime, s_memrealtime: instructions executed by this thread so far."""
    field = ContextFields.CODE_BASE if inst.op == "s_getpc_b64" else ContextFields.STEPS
    value = t.f.load("i64", t.f.at("%context", int(field)), 8)
    if inst.op == "s_getpc_b64":
        value = t.f.add("i64", value, str(inst.pc + inst.size))
    t.scalars.store64(inst.operands[0].value, value)


def lower_swap(t: Translator, inst: Inst) -> None:
    """v_swap_b32: through spare rows, active lanes only."""
    f = t.f
    first, second = (t.row_pointer(operand) for operand in inst.operands[:2])
    copy = f.at("%wave", (VECTOR_ROWS + SPARE_ROWS - 1) * ROW)
    exec_ = ("i64", t.scalars.exec())
    f.call("void", "copy_row", ("ptr", copy), ("ptr", first))
    f.call("void", "merge_row", ("ptr", first), ("ptr", second), exec_)
    f.call("void", "merge_row", ("ptr", second), ("ptr", copy), exec_)

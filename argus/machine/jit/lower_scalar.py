"""Scalar instructions: the table's arithmetic, scalar memory, lane reads, and what only changes the wave's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argus.gfx942.inst import EXEC, VCC, Inst, Operand
from argus.machine.jit.effects import SCC, row_of
from argus.machine.jit.errors import JitUnsupported
from argus.machine.jit.frame import ROW
from argus.machine.jit.llvm_builder import LlvmBuilder, Value
from argus.machine.semantics import Op
from argus.machine.semantics.modifiers import WIDE, constant_bits

if TYPE_CHECKING:
    from argus.machine.jit.translator import Translator

NOTHING = frozenset(
    "s_nop s_waitcnt s_sleep s_setprio s_sethalt s_icache_inv s_dcache_inv s_dcache_wb s_dcache_inv_vol s_dcache_wb_vol "
    "s_ttracedata s_ttracedata_imm s_incperflevel s_decperflevel s_wakeup s_set_gpr_idx_off s_inst_prefetch s_sendmsg "
    "s_dcache_discard s_dcache_discard_x2 v_nop ds_nop buffer_wbl2 buffer_inv buffer_wbinvl1 buffer_wbinvl1_vol "
    "s_setkill s_waitcnt_depctr s_atc_probe s_atc_probe_buffer".split()
)
"""Instructions without an effect that this machine models: all memory is coherent and every result is ready at once."""


def special(t: Translator, value: int) -> str:
    """A hardware source (scc, vccz, execz) as i32."""
    f, scalars = t.f, t.scalars
    if value == SCC:
        bit = scalars.scc()
    else:
        pair = {251: VCC, 252: EXEC}[value]
        bit = f.compare("eq", "i64", scalars.load64(pair), "0")
    return f.cast("zext", "i1", bit, "i32")


def scalar_word(t: Translator, inst: Inst, operand: Operand, word: str = "u32") -> str:
    """A 32-bit scalar source as i32."""
    if operand.kind == "s":
        return t.scalars.load32(operand.value)
    if operand.kind in ("imm", "lit", "fimm"):
        bits = constant_bits(word, operand) & 0xFFFFFFFF
        return str(bits - (bits >> 31 << 32))
    if operand.kind == "special" and operand.value in (SCC, 251, 252):
        return special(t, operand.value)
    raise JitUnsupported(inst, f"source {operand.kind} {operand.value}")


def scalar_pair(t: Translator, inst: Inst, operand: Operand, word: str = "u64") -> str:
    """A 64-bit scalar source as i64."""
    if operand.kind == "s":
        return t.scalars.load64(operand.value)
    if operand.kind in ("imm", "lit", "fimm"):
        bits = constant_bits(word, operand)
        return str(bits - (bits >> 63 << 64))
    return t.f.cast("zext", "i32", scalar_word(t, inst, operand), "i64")


def lower_salu(t: Translator, inst: Inst, op: Op) -> None:
    """An entry of the scalar table."""
    b = LlvmBuilder(t.f, 0)
    explicit = [word for word in op.results if word not in ("scc", "exec")]
    targets, sources = inst.operands[: len(explicit)], list(inst.operands[len(explicit) :])
    arguments: list[Value] = []
    for word in op.args:
        if word == "scc":
            arguments.append(Value(1, t.scalars.scc()))
        elif word == "exec":
            arguments.append(Value(64, t.scalars.exec()))
        elif word == "old":
            arguments.append(Value(32, t.scalars.load32(targets[0].value)))
        elif word == "old64":
            arguments.append(Value(64, t.scalars.load64(targets[0].value)))
        elif word in ("k16", "k16u"):
            value = sources.pop(0).value & 0xFFFF
            arguments.append(b.const32(value - (value >> 15 << 16) if word == "k16" else value))
        elif word in WIDE:
            arguments.append(Value(64, scalar_pair(t, inst, sources.pop(0), word)))
        else:
            arguments.append(Value(32, scalar_word(t, inst, sources.pop(0), word)))
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

"""Branches, barriers, waits, hardware registers and indexing modes in the interpreter.

A closure that ends the wave's turn (barrier, end, a blocking wait) returns True; all others return nothing.
MODE is hardware register 1: rounding in bits 3..0 (only nearest even is supported), denormals in bits 7..4,
DX10_CLAMP bit 8, FP16_OVFL bit 23. Other registers read as written, the identifiers as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argus.gfx942.inst import M0, VCC, Inst
from argus.gfx942.waits import decode as decode_waits
from argus.machine.interp_operands import UnsupportedForm, scalar_source
from argus.machine.interp_services import Services
from argus.machine.semantics import control
from argus.machine.semantics.numpy_backend import ArithmeticMode
from argus.machine.state import Wave

Run = Callable[[Wave], Any]
Resolve = Callable[[int], int]
"""Byte offset of an instruction to its index in the prepared code."""

MODE_REGISTER = 1
INDEX_SOURCE0, INDEX_SOURCE1, INDEX_SOURCE2, INDEX_TARGET = 1, 2, 4, 8


def compile_branch(inst: Inst, resolve: Resolve) -> Run:
    """A branch to a known target."""
    if inst.target is None:
        raise UnsupportedForm(f"{inst.op} without a target")
    there, condition = resolve(inst.target), control.BRANCHES[inst.op]

    def always(w: Wave) -> None:
        w.pc = there

    def scc1(w: Wave) -> None:
        if w.scc:
            w.pc = there

    def scc0(w: Wave) -> None:
        if not w.scc:
            w.pc = there

    def execz(w: Wave) -> None:
        if not w.exec:
            w.pc = there

    def execnz(w: Wave) -> None:
        if w.exec:
            w.pc = there

    def vccz(w: Wave) -> None:
        if not (w.s[VCC] | w.s[VCC + 1]):
            w.pc = there

    def vccnz(w: Wave) -> None:
        if w.s[VCC] | w.s[VCC + 1]:
            w.pc = there

    table: dict[str, Run] = {
        "always": always,
        "scc1": scc1,
        "scc0": scc0,
        "execz": execz,
        "execnz": execnz,
        "vccz": vccz,
        "vccnz": vccnz,
    }
    return table[condition]


def compile_indirect(inst: Inst, services: Services, resolve: Resolve) -> Run:
    """s_getpc, s_setpc, s_swappc, s_call: program counters are device addresses."""
    base, following = services.code_base, inst.pc + inst.size
    if inst.op == "s_getpc_b64":
        target = inst.operands[0].value
        return lambda w: w.set_pair(target, base + following)
    if inst.op == "s_call_b64":
        if inst.target is None:
            raise UnsupportedForm("s_call_b64 without a target")
        target, there = inst.operands[0].value, resolve(inst.target)

        def call(w: Wave) -> None:
            w.set_pair(target, base + following)
            w.pc = there

        return call
    address = scalar_source(inst.operands[-1], "u64")

    def jump(w: Wave) -> None:
        where = address(w)
        if inst.op == "s_swappc_b64":
            w.set_pair(inst.operands[0].value, base + following)
        try:
            w.pc = resolve(where - base)
        except ValueError as why:
            raise services.fault("ARG-M110", f"jumps to {where:#x}: {why}", w, inst, address=where) from None

    return jump


def compile_wait(inst: Inst) -> Run:
    """s_waitcnt; without the wait check everything has completed already."""
    waits = decode_waits(inst.operands[0].value)

    def run(w: Wave) -> None:
        if w.queues is not None:
            w.queues.wait(waits.vm, waits.lgkm)

    return run


def barrier(w: Wave) -> bool:
    w.state = "barrier"
    w.barriers += 1
    if w.recorder is not None:
        w.recorder.barrier()
    return True


def end(w: Wave) -> bool:
    if w.queues is not None:
        w.queues.drain()
    w.state = "done"
    return True


def sleep(w: Wave) -> bool:
    """Give the other waves a turn: kernels sleep while they poll."""
    return True


def set_mode(w: Wave, bits: int) -> None:
    """Apply a MODE value."""
    if bits & 15:
        raise UnsupportedForm("rounding modes other than to nearest even are not supported")
    w.hwreg[MODE_REGISTER] = bits
    w.dx10_clamp = bool(bits >> 8 & 1)
    w.set_float_mode(
        ArithmeticMode(
            flush_f32=bits >> 4 & 3 != 3, flush_f64_f16=bits >> 6 & 3 != 3, saturate_fp8=bool(bits >> 23 & 1)
        )
    )


def compile_hardware_register(inst: Inst) -> Run:
    """s_getreg, s_setreg: a bit field of a hardware register."""
    spec = inst.operands[1 if inst.op == "s_getreg_b32" else 0].value
    number, offset, size = spec & 63, spec >> 6 & 31, (spec >> 11 & 31) + 1
    field = (1 << size) - 1
    if inst.op == "s_getreg_b32":
        target = inst.operands[0].value
        return lambda w: w.set_scalar(target, w.hwreg.get(number, 0) >> offset & field)
    value = scalar_source(inst.operands[1], "u32")

    def put(w: Wave) -> None:
        bits = w.hwreg.get(number, 0) & ~(field << offset) | (value(w) & field) << offset
        if number == MODE_REGISTER:
            set_mode(w, bits)
        else:
            w.hwreg[number] = bits

    return put


def compile_indexing(inst: Inst) -> Run:
    """s_set_gpr_idx_*: the mode lives in the wave, index and mode are also visible in M0."""
    if inst.op == "s_set_gpr_idx_off":

        def off(w: Wave) -> None:
            w.index_mode = 0

        return off
    if inst.op == "s_set_gpr_idx_mode":
        mode = inst.operands[0].value & 15

        def set_only_mode(w: Wave) -> None:
            w.index_mode = mode
            w.s[M0] = w.s[M0] & ~0xF000 | mode << 12

        return set_only_mode
    index = scalar_source(inst.operands[0], "u32")
    if inst.op == "s_set_gpr_idx_idx":

        def set_index(w: Wave) -> None:
            w.s[M0] = w.s[M0] & ~0xFF | index(w) & 0xFF

        return set_index
    mode = inst.operands[1].value & 15

    def on(w: Wave) -> None:
        w.index_mode = mode
        w.s[M0] = w.s[M0] & ~0xF0FF | index(w) & 0xFF | mode << 12

    return on


def compile_skip(inst: Inst) -> Run:
    """s_setvskip: skip vector instructions while the chosen bit is set."""
    value, bit = (scalar_source(o, "u32") for o in inst.operands[:2])

    def run(w: Wave) -> None:
        w.skip = bool(value(w) >> (bit(w) & 31) & 1)

    return run


def compile_clock(inst: Inst) -> Run:
    """s_memtime, s_memrealtime: instructions executed so far."""
    target = inst.operands[0].value
    return lambda w: w.set_pair(target, w.steps)

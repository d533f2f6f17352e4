"""Packed (VOP3P) vector arithmetic in the interpreter: one function applied to the halves of its operands.

    v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel_hi:[1,0,1]     the high result uses s4, not s5

op_sel chooses the halves for the low result (default low), op_sel_hi for the high result (default high).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.gfx942.inst import Inst, InstOperand
from argus.machine.interp_operands import Reader, register, row_writer, vector_source
from argus.machine.interp_valu import Run, compile_valu, half_writer
from argus.machine.semantics.modifiers import constant_bits, output_modifiers, source_modifiers
from argus.machine.semantics.numpy_backend import NumpyBuilder
from argus.machine.semantics.table import MachineOp, Table
from argus.machine.semantics.valu import VALU
from argus.machine.state import Wave

U32 = np.uint32
_PLAIN = NumpyBuilder()
_C32 = NumpyBuilder.const32
_16, _LOW = U32(16), U32(0xFFFF)


def halves(inst: Inst, name: str, default: int, count: int) -> tuple[int, ...]:
    """What op_sel or its kin says for each of `count` sources."""
    value = inst.mods.get(name)
    chosen = tuple(value) if isinstance(value, tuple) else ()
    return chosen + (default,) * (count - len(chosen))


PACKED = ("pk16", "pk32", "pkmov", "mix")


def compile_vector(inst: Inst, accum_offset: int, table: Table = VALU) -> Run:
    """The closure that executes any vector arithmetic instruction; `table` says what each computes."""
    op = table[inst.op]
    return compile_packed(inst, op, accum_offset) if op.shape in PACKED else compile_valu(inst, accum_offset, table)


def compile_packed(inst: Inst, op: MachineOp, accum_offset: int) -> Run:
    """The closure of a pk16, pk32, pkmov or mix instruction."""
    sources = inst.operands[1 : 1 + len(op.args)]
    if op.shape == "pkmov":
        return _pkmov(inst, op, accum_offset)
    if op.shape == "mix":
        return _mix(inst, op, accum_offset)
    count = len(sources)
    low_sel, high_sel = halves(inst, "op_sel", 0, count), halves(inst, "op_sel_hi", 1, count)
    low_neg, high_neg = halves(inst, "neg_lo", 0, count), halves(inst, "neg_hi", 0, count)
    half = _half32 if op.shape == "pk32" else _half16
    low = [
        half(o, word, low_sel[k], low_neg[k], accum_offset)
        for k, (o, word) in enumerate(zip(sources, op.args, strict=True))
    ]
    high = [
        half(o, word, high_sel[k], high_neg[k], accum_offset)
        for k, (o, word) in enumerate(zip(sources, op.args, strict=True))
    ]
    fn, clamp, n = op.fn, bool(inst.mods.get("clamp")), register(inst.operands[0], accum_offset)
    word = op.results[0]

    def result(w: Wave, readers: list[Reader]) -> Any:
        r = fn(w.builder, *[read(w) for read in readers])
        return output_modifiers(w.builder, word, r, clamp=True, nan_to_zero=w.dx10_clamp) if clamp else r

    if op.shape == "pk32":
        write_low, write_high = row_writer(n), row_writer(n + 1)

        def run32(w: Wave) -> None:
            lo, hi = result(w, low), result(w, high)
            write_low(w, lo)
            write_high(w, hi)

        return run32
    write = row_writer(n)
    return lambda w: write(w, result(w, low) | (result(w, high) << _16))


def _half32(operand: InstOperand, word: str, chosen: int, neg: int, accum_offset: int) -> Reader:
    """The low or high register of a 64-bit operand; constants are the same for both."""
    if operand.kind in ("v", "a", "s") and operand.count == 2:
        operand = InstOperand(operand.kind, operand.value + chosen)
    read = vector_source(operand, word, accum_offset, {}, 0, "")
    return _negated(read, word, neg)


def _half16(operand: InstOperand, word: str, chosen: int, neg: int, accum_offset: int) -> Reader:
    """The low or high half of a 32-bit operand. A float constant fills the low half only."""
    if operand.kind in ("imm", "fimm", "lit"):
        whole = constant_bits("f16" if operand.kind == "fimm" else "u32", operand)
        value = (whole >> 16 * chosen) & 0xFFFF
        value = value - (value >> 15 << 16) & 0xFFFFFFFF if word == "i16" else value
        constant = _C32(value)
        return _negated(lambda w: constant, word, neg)
    return _negated(vector_source(operand, word, accum_offset, {"op_sel": (chosen,)}, 0, ""), word, neg)


def _negated(read: Reader, word: str, neg: int) -> Reader:
    if not neg:
        return read
    return lambda w: source_modifiers(_PLAIN, word, read(w), neg=True, absolute=False)


def _pkmov(inst: Inst, op: MachineOp, accum_offset: int) -> Run:
    sel = halves(inst, "op_sel", 0, 2)
    low = _half32(inst.operands[1], "u32", sel[0], 0, accum_offset)
    high = _half32(inst.operands[2], "u32", sel[1], 0, accum_offset)
    n = register(inst.operands[0], accum_offset)
    write_low, write_high = row_writer(n), row_writer(n + 1)

    def run(w: Wave) -> None:
        lo, hi = low(w).copy(), high(w).copy()
        write_low(w, lo)
        write_high(w, hi)

    return run


def _mix(inst: Inst, op: MachineOp, accum_offset: int) -> Run:
    """Sources are f32, or an f16 half widened; neg_lo is neg, neg_hi is abs."""
    count = len(op.args)
    sel, is_half = halves(inst, "op_sel", 0, count), halves(inst, "op_sel_hi", 0, count)
    neg, absolute = halves(inst, "neg_lo", 0, count), halves(inst, "neg_hi", 0, count)
    readers = [
        _mix_source(o, sel[k], is_half[k], neg[k], absolute[k], accum_offset)
        for k, o in enumerate(inst.operands[1 : 1 + count])
    ]
    fn, clamp, n = op.fn, bool(inst.mods.get("clamp")), register(inst.operands[0], accum_offset)
    word = op.results[0]
    write = row_writer(n) if word == "f32" else half_writer(n, inst.op.endswith("hi_f16"))

    def run(w: Wave) -> None:
        r = fn(w.builder, *[read(w) for read in readers])
        write(w, output_modifiers(w.builder, word, r, clamp=True, nan_to_zero=w.dx10_clamp) if clamp else r)

    return run


def _mix_source(operand: InstOperand, chosen: int, is_half: int, neg: int, absolute: int, accum_offset: int) -> Reader:
    narrow = _half16(operand, "f16", chosen, 0, accum_offset) if is_half else None
    wide = vector_source(operand, "f32", accum_offset, {}, 0, "")

    def read(w: Wave) -> Any:
        value = w.builder.f16_to_f32(narrow(w)) if narrow is not None else wide(w)
        return source_modifiers(_PLAIN, "f32", value, neg=bool(neg), absolute=bool(absolute))

    return read

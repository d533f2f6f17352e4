"""Operand rules every executor shares: constants, source signs, output modifiers.

constant_bits("f16", InstOperand("fimm", 0x3F800000)) == 0x3C00      the inline constant 1.0 read by an f16 instruction
source_modifiers(b, "f32", x, neg=True, absolute=True)           -|x|
output_modifiers(b, "f32", r, clamp=True, scale=2.0)             min(max(2 r, 0), 1)
"""

from __future__ import annotations

import struct

from argus.gfx942.inst import InstOperand
from argus.machine.semantics.builder import Builder, Word
from argus.machine.semantics.transcendental import f32_bits, f64_bits

WIDE = frozenset({"u64", "i64", "f64", "old64"})
SIXTEEN = frozenset({"u16", "i16", "f16"})


def constant_bits(word: str, operand: InstOperand) -> int:
    """The bits an argument of signature word `word` reads from an inline constant or literal."""
    if operand.kind == "fimm":
        number = struct.unpack("<f", struct.pack("<I", operand.value & 0xFFFFFFFF))[0]
        if word in SIXTEEN:
            return int(struct.unpack("<H", struct.pack("<e", number))[0])
        return f64_bits(number) if word in WIDE else operand.value & 0xFFFFFFFF
    value = operand.value
    if word in WIDE:
        if operand.kind == "lit":
            value &= 0xFFFFFFFF
            if word == "f64":
                return value << 32
            return value - (value >> 31 << 32) & 0xFFFFFFFFFFFFFFFF if word == "i64" else value
        return value & 0xFFFFFFFFFFFFFFFF
    return value & 0xFFFFFFFF


def source_modifiers(b: Builder, word: str, x: Word, *, neg: bool, absolute: bool) -> Word:
    """`neg` and `abs` on the sign bit of the word's width; x of a 16-bit word is a w32."""
    if word in WIDE:
        const, sign = b.const64, 1 << 63
    elif word in SIXTEEN:
        const, sign = b.const32, 0x8000
    else:
        const, sign = b.const32, 0x80000000
    if absolute:
        x = b.and_(x, const(~sign))
    return b.xor(x, const(sign)) if neg else x


def output_modifiers(
    b: Builder, word: str, x: Word, *, clamp: bool, scale: float = 1.0, nan_to_zero: bool = True
) -> Word:
    """Output scale (2, 4 or 1/2), then clamp to [0, 1]; NaN becomes 0 under DX10_CLAMP. Float words only."""
    if word in ("f16", "h16"):
        wide = output_modifiers(b, "f32", b.f16_to_f32(x), clamp=clamp, scale=scale, nan_to_zero=nan_to_zero)
        return b.f32_to_f16(wide)
    if word == "f64":
        if scale != 1.0:
            x = b.fmul64(x, b.const64(f64_bits(scale)))
        if not clamp:
            return x
        nan, inside = b.funo64(x, x), b.fmin64(b.fmax64(x, b.const64(0)), b.const64(f64_bits(1.0)))
        return b.select(nan, b.const64(0) if nan_to_zero else x, inside)
    if scale != 1.0:
        x = b.fmul32(x, b.const32(f32_bits(scale)))
    if not clamp:
        return x
    nan, inside = b.funo32(x, x), b.fmin32(b.fmax32(x, b.const32(0)), b.const32(f32_bits(1.0)))
    return b.select(nan, b.const32(0) if nan_to_zero else x, inside)

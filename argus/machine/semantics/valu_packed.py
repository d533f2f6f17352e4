"""Packed (VOP3P) arithmetic, 16-bit integer arithmetic, mixed precision and dot products.

    v_pk_add_f16 v0, v1, v2        shape pk16: the f16 addition on both halves
    v_pk_fma_f32 v[0:1], ...       shape pk32: the f32 fma on both registers
    v_dot4_i32_i8 v0, v1, v2, v3   shape dot: four byte products added to v3

Float dot products are a chain of f32 fma, lowest element first; the hardware's internal order is not published.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.machine.semantics.builder import Builder, Word
from argus.machine.semantics.table import define
from argus.machine.semantics.valu_float import fma16, half2
from argus.machine.semantics.valu_int import VALU, low4, low16, smax, smin, umax, umin

Fn = Callable[..., Word]


def _add(b: Builder, x: Word, y: Word) -> Word:
    return low16(b, b.add32(x, y))


def _sub(b: Builder, x: Word, y: Word) -> Word:
    return low16(b, b.sub32(x, y))


def _mul(b: Builder, x: Word, y: Word) -> Word:
    return low16(b, b.mul32(x, y))


def _mad(b: Builder, x: Word, y: Word, z: Word) -> Word:
    return low16(b, b.add32(b.mul32(x, y), z))


def _shl(b: Builder, n: Word, x: Word) -> Word:
    return low16(b, b.shl32(x, low4(b, n)))


def _lshr(b: Builder, n: Word, x: Word) -> Word:
    return b.lshr32(x, low4(b, n))


def _ashr(b: Builder, n: Word, x: Word) -> Word:
    return low16(b, b.ashr32(x, low4(b, n)))


def _cut(fn: Fn) -> Fn:
    """A 32-bit function whose result is kept to 16 bits (signed operands arrive sign-extended)."""
    return lambda b, x, y: low16(b, fn(b, x, y))


def _three(fn: Fn) -> Fn:
    return lambda b, x, y, z: low16(b, fn(b, fn(b, x, y), z))


def _med3(low: Fn, high: Fn) -> Fn:
    return lambda b, x, y, z: low16(b, high(b, low(b, x, y), low(b, high(b, x, y), z)))


def _sixteen_bit() -> None:
    define(VALU, "v_add_u16", "u16 = u16 u16", _add)
    define(VALU, "v_sub_u16", "u16 = u16 u16", _sub)
    define(VALU, "v_subrev_u16", "u16 = u16 u16", lambda b, x, y: _sub(b, y, x))
    define(VALU, "v_mul_lo_u16", "u16 = u16 u16", _mul)
    define(VALU, "v_lshlrev_b16", "u16 = u16 u16", _shl)
    define(VALU, "v_lshrrev_b16", "u16 = u16 u16", _lshr)
    define(VALU, "v_ashrrev_i16", "u16 = u16 i16", _ashr)
    define(VALU, "v_mad_legacy_u16 v_mad_legacy_i16", "u16 = u16 u16 u16", _mad)
    define(VALU, "v_mad_u16 v_mad_i16", "h16 = u16 u16 u16", _mad)
    define(VALU, "v_add_i16", "h16 = u16 u16", _add)
    define(VALU, "v_sub_i16", "h16 = u16 u16", _sub)
    define(VALU, "v_mad_u32_u16", "u32 = u16 u16 u32", lambda b, x, y, z: b.add32(b.mul32(x, y), z))
    define(VALU, "v_mad_i32_i16", "u32 = i16 i16 u32", lambda b, x, y, z: b.add32(b.mul32(x, y), z))
    for kind, low, high in (("u16", umin, umax), ("i16", smin, smax)):
        define(VALU, f"v_min_{kind}", f"u16 = {kind} {kind}", _cut(low))
        define(VALU, f"v_max_{kind}", f"u16 = {kind} {kind}", _cut(high))
        define(VALU, f"v_min3_{kind}", f"h16 = {kind} {kind} {kind}", _three(low))
        define(VALU, f"v_max3_{kind}", f"h16 = {kind} {kind} {kind}", _three(high))
        define(VALU, f"v_med3_{kind}", f"h16 = {kind} {kind} {kind}", _med3(low, high))


def _packed() -> None:
    pk: dict[str, tuple[str, Fn]] = {
        "v_pk_add_u16": ("u16 = u16 u16", _add),
        "v_pk_add_i16": ("u16 = u16 u16", _add),
        "v_pk_sub_u16": ("u16 = u16 u16", _sub),
        "v_pk_sub_i16": ("u16 = u16 u16", _sub),
        "v_pk_mul_lo_u16": ("u16 = u16 u16", _mul),
        "v_pk_mad_u16": ("u16 = u16 u16 u16", _mad),
        "v_pk_mad_i16": ("u16 = u16 u16 u16", _mad),
        "v_pk_lshlrev_b16": ("u16 = u16 u16", _shl),
        "v_pk_lshrrev_b16": ("u16 = u16 u16", _lshr),
        "v_pk_ashrrev_i16": ("u16 = u16 i16", _ashr),
        "v_pk_min_u16": ("u16 = u16 u16", _cut(umin)),
        "v_pk_max_u16": ("u16 = u16 u16", _cut(umax)),
        "v_pk_min_i16": ("u16 = i16 i16", _cut(smin)),
        "v_pk_max_i16": ("u16 = i16 i16", _cut(smax)),
        "v_pk_add_f16": ("f16 = f16 f16", half2(lambda b, x, y: b.fadd32(x, y))),
        "v_pk_mul_f16": ("f16 = f16 f16", half2(lambda b, x, y: b.fmul32(x, y))),
        "v_pk_min_f16": ("f16 = f16 f16", half2(lambda b, x, y: b.fmin32(x, y))),
        "v_pk_max_f16": ("f16 = f16 f16", half2(lambda b, x, y: b.fmax32(x, y))),
        "v_pk_fma_f16": ("f16 = f16 f16 f16", fma16),
    }
    for name, (signature, fn) in pk.items():
        define(VALU, name, signature, fn, "pk16")
    define(VALU, "v_pk_add_f32", "f32 = f32 f32", lambda b, x, y: b.fadd32(x, y), "pk32")
    define(VALU, "v_pk_mul_f32", "f32 = f32 f32", lambda b, x, y: b.fmul32(x, y), "pk32")
    define(VALU, "v_pk_fma_f32", "f32 = f32 f32 f32", lambda b, x, y, z: b.ffma32(x, y, z), "pk32")
    define(VALU, "v_pk_fmac_f16", "u32 = u32 u32 old", _pk_fmac)


def _pk_fmac(b: Builder, x: Word, y: Word, old: Word) -> Word:
    sixteen = b.const32(16)
    lo = fma16(b, low16(b, x), low16(b, y), low16(b, old))
    hi = fma16(b, b.lshr32(x, sixteen), b.lshr32(y, sixteen), b.lshr32(old, sixteen))
    return b.or_(lo, b.shl32(hi, sixteen))


def _mixed() -> None:
    define(VALU, "v_fma_mix_f32", "f32 = f32 f32 f32", lambda b, x, y, z: b.ffma32(x, y, z), "mix")
    for name in ("v_fma_mixlo_f16", "v_fma_mixhi_f16"):
        define(VALU, name, "h16 = f32 f32 f32", lambda b, x, y, z: b.f32_to_f16(b.ffma32(x, y, z)), "mix")


def _field(b: Builder, x: Word, i: int, bits: int, signed: bool) -> Word:
    moved = b.shl32(x, b.const32(32 - bits * (i + 1)))
    return (b.ashr32 if signed else b.lshr32)(moved, b.const32(32 - bits))


def _dot_int(bits: int, signed: bool) -> Fn:
    def run(b: Builder, x: Word, y: Word, acc: Word) -> Word:
        for i in range(32 // bits):
            acc = b.add32(acc, b.mul32(_field(b, x, i, bits, signed), _field(b, y, i, bits, signed)))
        return acc

    return run


def _dot2_f32_f16(b: Builder, x: Word, y: Word, acc: Word) -> Word:
    sixteen = b.const32(16)
    acc = b.ffma32(b.f16_to_f32(low16(b, x)), b.f16_to_f32(low16(b, y)), acc)
    return b.ffma32(b.f16_to_f32(b.lshr32(x, sixteen)), b.f16_to_f32(b.lshr32(y, sixteen)), acc)


def _dots() -> None:
    for bits, kind, size in ((16, "16", 2), (8, "8", 4), (4, "4", 8)):
        define(VALU, f"v_dot{size}_i32_i{kind}", "u32 = u32 u32 u32", _dot_int(bits, True), "dot")
        define(VALU, f"v_dot{size}_u32_u{kind}", "u32 = u32 u32 u32", _dot_int(bits, False), "dot")
        define(VALU, f"v_dot{size}c_i32_i{kind}", "u32 = u32 u32 old", _dot_int(bits, True))
    define(VALU, "v_dot2_f32_f16", "f32 = u32 u32 f32", _dot2_f32_f16, "dot")
    define(VALU, "v_dot2c_f32_f16", "f32 = u32 u32 old", _dot2_f32_f16)


for _section in (_sixteen_bit, _packed, _mixed, _dots):
    _section()

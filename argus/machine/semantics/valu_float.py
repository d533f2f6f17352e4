"""Vector f32, f64 and f16 arithmetic, comparisons and classification.

    v_fma_f32 v0, v1, v2, v3      "f32 = f32 f32 f32"      one rounding
    v_add_f16 v0, v1, v2          "f16 = f16 f16"          computed in f32, rounded once more: exact by 24 >= 2*11 + 2

f16 `fma` goes through f64: product and sum of three f16 numbers fit in 53 bits wherever the low bits can matter, and
the way back to f16 passes f32 by rounding to odd, so it rounds once. Not modelled: a signalling NaN under IEEE mode
makes min/max return a quiet NaN on hardware; here any NaN yields the other.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.machine.semantics.builder import Builder, Word
from argus.machine.semantics.table import define
from argus.machine.semantics.valu_int import VALU

Fn1 = Callable[[Builder, Word], Word]
Fn2 = Callable[[Builder, Word, Word], Word]
Fn3 = Callable[[Builder, Word, Word, Word], Word]

SIGN32, ABS32 = 0x80000000, 0x7FFFFFFF
SIGN64, ABS64 = 1 << 63, (1 << 63) - 1


def f64_to_f32_odd(b: Builder, x: Word) -> Word:
    """f64 to f32 rounding to odd: exact results stay, others get the neighbour whose last bit is 1."""
    y = b.f64_to_f32(x)
    back = b.f32_to_f64(y)
    inexact = b.mask_or(b.flt64(back, x), b.flt64(x, back))
    too_big = b.flt64(b.and_(x, b.const64(ABS64)), b.and_(back, b.const64(ABS64)))
    towards_zero = b.select(too_big, b.sub32(y, b.const32(1)), y)
    return b.select(inexact, b.or_(towards_zero, b.const32(1)), y)


def f64_to_f16(b: Builder, x: Word) -> Word:
    """f64 to f16, one rounding to nearest even."""
    return b.f32_to_f16(f64_to_f32_odd(b, x))


def half1(fn: Fn1) -> Fn1:
    """An f32 function of one argument as an f16 function."""
    return lambda b, x: b.f32_to_f16(fn(b, b.f16_to_f32(x)))


def half2(fn: Fn2) -> Fn2:
    """An f32 function of two arguments as an f16 function (exact for + - * /, min, max)."""
    return lambda b, x, y: b.f32_to_f16(fn(b, b.f16_to_f32(x), b.f16_to_f32(y)))


def fma16(b: Builder, x: Word, y: Word, z: Word) -> Word:
    x, y, z = (b.f32_to_f64(b.f16_to_f32(v)) for v in (x, y, z))
    return f64_to_f16(b, b.fadd64(b.fmul64(x, y), z))


def mad16(b: Builder, x: Word, y: Word, z: Word) -> Word:
    """f16 multiply, round, add, round."""
    product = half2(lambda b, p, q: b.fmul32(p, q))(b, x, y)
    return half2(lambda b, p, q: b.fadd32(p, q))(b, product, z)


def med3_f32(b: Builder, x: Word, y: Word, z: Word) -> Word:
    """The middle value; with a NaN among them the smallest number."""
    smallest = b.fmin32(b.fmin32(x, y), z)
    middle = b.fmax32(b.fmin32(x, y), b.fmin32(b.fmax32(x, y), z))
    nan = b.mask_or(b.funo32(x, y), b.funo32(z, z))
    return b.select(nan, smallest, middle)


def _mul_legacy(b: Builder, x: Word, y: Word) -> Word:
    """0 * anything = 0."""
    zero = b.const32(0)
    is_zero = b.mask_or(b.feq32(x, zero), b.feq32(y, zero))
    return b.select(is_zero, zero, b.fmul32(x, y))


def fract32(b: Builder, x: Word) -> Word:
    return b.fmin32(b.fsub32(x, b.ffloor32(x)), b.const32(0x3F7FFFFF))


def _fract64(b: Builder, x: Word) -> Word:
    return b.fmin64(b.fsub64(x, b.ffloor64(x)), b.const64(0x3FEFFFFFFFFFFFFF))


def _f32() -> None:
    define(VALU, "v_add_f32", "f32 = f32 f32", lambda b, x, y: b.fadd32(x, y))
    define(VALU, "v_sub_f32", "f32 = f32 f32", lambda b, x, y: b.fsub32(x, y))
    define(VALU, "v_subrev_f32", "f32 = f32 f32", lambda b, x, y: b.fsub32(y, x))
    define(VALU, "v_mul_f32", "f32 = f32 f32", lambda b, x, y: b.fmul32(x, y))
    define(VALU, "v_mul_legacy_f32", "f32 = f32 f32", _mul_legacy)
    define(VALU, "v_fma_f32 v_fmaak_f32 v_fmamk_f32", "f32 = f32 f32 f32", lambda b, x, y, z: b.ffma32(x, y, z))
    define(VALU, "v_fmac_f32", "f32 = f32 f32 old", lambda b, x, y, old: b.ffma32(x, y, old))
    define(VALU, "v_min_f32", "f32 = f32 f32", lambda b, x, y: b.fmin32(x, y))
    define(VALU, "v_max_f32", "f32 = f32 f32", lambda b, x, y: b.fmax32(x, y))
    define(VALU, "v_min3_f32", "f32 = f32 f32 f32", lambda b, x, y, z: b.fmin32(b.fmin32(x, y), z))
    define(VALU, "v_max3_f32", "f32 = f32 f32 f32", lambda b, x, y, z: b.fmax32(b.fmax32(x, y), z))
    define(VALU, "v_med3_f32", "f32 = f32 f32 f32", med3_f32)
    define(VALU, "v_floor_f32", "f32 = f32", lambda b, x: b.ffloor32(x))
    define(VALU, "v_ceil_f32", "f32 = f32", lambda b, x: b.fceil32(x))
    define(VALU, "v_trunc_f32", "f32 = f32", lambda b, x: b.ftrunc32(x))
    define(VALU, "v_rndne_f32", "f32 = f32", lambda b, x: b.frint32(x))
    define(VALU, "v_fract_f32", "f32 = f32", fract32)


def _f64() -> None:
    define(VALU, "v_add_f64", "f64 = f64 f64", lambda b, x, y: b.fadd64(x, y))
    define(VALU, "v_mul_f64", "f64 = f64 f64", lambda b, x, y: b.fmul64(x, y))
    define(VALU, "v_fma_f64", "f64 = f64 f64 f64", lambda b, x, y, z: b.ffma64(x, y, z))
    define(VALU, "v_fmac_f64", "f64 = f64 f64 old64", lambda b, x, y, old: b.ffma64(x, y, old))
    define(VALU, "v_min_f64", "f64 = f64 f64", lambda b, x, y: b.fmin64(x, y))
    define(VALU, "v_max_f64", "f64 = f64 f64", lambda b, x, y: b.fmax64(x, y))
    define(VALU, "v_floor_f64", "f64 = f64", lambda b, x: b.ffloor64(x))
    define(VALU, "v_ceil_f64", "f64 = f64", lambda b, x: b.fceil64(x))
    define(VALU, "v_trunc_f64", "f64 = f64", lambda b, x: b.ftrunc64(x))
    define(VALU, "v_rndne_f64", "f64 = f64", lambda b, x: b.frint64(x))
    define(VALU, "v_fract_f64", "f64 = f64", _fract64)


def _f16() -> None:
    define(VALU, "v_add_f16", "f16 = f16 f16", half2(lambda b, x, y: b.fadd32(x, y)))
    define(VALU, "v_sub_f16", "f16 = f16 f16", half2(lambda b, x, y: b.fsub32(x, y)))
    define(VALU, "v_subrev_f16", "f16 = f16 f16", half2(lambda b, x, y: b.fsub32(y, x)))
    define(VALU, "v_mul_f16", "f16 = f16 f16", half2(lambda b, x, y: b.fmul32(x, y)))
    define(VALU, "v_min_f16", "f16 = f16 f16", half2(lambda b, x, y: b.fmin32(x, y)))
    define(VALU, "v_max_f16", "f16 = f16 f16", half2(lambda b, x, y: b.fmax32(x, y)))
    define(VALU, "v_mac_f16", "f16 = f16 f16 old", lambda b, x, y, old: mad16(b, x, y, b.and_(old, b.const32(0xFFFF))))
    define(VALU, "v_madmk_f16 v_madak_f16 v_mad_legacy_f16", "f16 = f16 f16 f16", mad16)
    define(VALU, "v_fma_legacy_f16", "f16 = f16 f16 f16", fma16)
    define(VALU, "v_mad_f16", "h16 = f16 f16 f16", mad16)
    define(VALU, "v_fma_f16", "h16 = f16 f16 f16", fma16)
    for name, op in (("min", "fmin32"), ("max", "fmax32")):
        define(VALU, f"v_{name}3_f16", "h16 = f16 f16 f16", _three16(op))
    define(VALU, "v_med3_f16", "h16 = f16 f16 f16", _med3_f16)
    define(VALU, "v_floor_f16", "f16 = f16", half1(lambda b, x: b.ffloor32(x)))
    define(VALU, "v_ceil_f16", "f16 = f16", half1(lambda b, x: b.fceil32(x)))
    define(VALU, "v_trunc_f16", "f16 = f16", half1(lambda b, x: b.ftrunc32(x)))
    define(VALU, "v_rndne_f16", "f16 = f16", half1(lambda b, x: b.frint32(x)))
    define(VALU, "v_fract_f16", "f16 = f16", _fract16)
    define(VALU, "v_pack_b32_f16", "u32 = f16 f16", lambda b, x, y: b.or_(x, b.shl32(y, b.const32(16))))


def _three16(op: str) -> Fn3:
    def run(b: Builder, x: Word, y: Word, z: Word) -> Word:
        fn = getattr(b, op)
        return b.f32_to_f16(fn(fn(b.f16_to_f32(x), b.f16_to_f32(y)), b.f16_to_f32(z)))

    return run


def _med3_f16(b: Builder, x: Word, y: Word, z: Word) -> Word:
    return b.f32_to_f16(med3_f32(b, b.f16_to_f32(x), b.f16_to_f32(y), b.f16_to_f32(z)))


def _fract16(b: Builder, x: Word) -> Word:
    wide = b.f16_to_f32(x)
    rounded = b.f16_to_f32(b.f32_to_f16(b.fsub32(wide, b.ffloor32(wide))))
    return b.f32_to_f16(b.fmin32(rounded, b.const32(0x3F7FE000)))


for _section in (_f32, _f64, _f16):
    _section()

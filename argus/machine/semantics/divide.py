"""The instructions of the IEEE division sequence: v_div_scale, v_div_fmas, v_div_fixup, and v_ldexp, v_frexp.

A compiler divides n by d as: scale both (v_div_scale twice), v_rcp of the scaled d, two Newton steps by v_fma, the
scaled quotient and its correction by v_div_fmas, and the special cases by v_div_fixup. The scale keeps every
intermediate normal; v_div_fmas undoes it: by 2**64 for large and 2**-64 for small quotients (f64: 2**128 and
2**-128). AMD's CDNA manual prints 2**32 for the f32 factor, which would not undo a scale of 2**64; the later manuals'
form is used. For a denormal quotient by a huge divisor the manual scales the divisor up, out of range; scaling it
down is what makes the sequence right, and is used here. A NaN quotient of ordinary operands can only come from an
overflow on the way, so v_div_fixup makes it infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.machine.semantics.builder import Builder, Mask, Word
from argus.machine.semantics.table import define
from argus.machine.semantics.transcendental import f64_bits
from argus.machine.semantics.valu_int import VALU, low16


def _power_of_two(b: Builder, n: Word) -> Word:
    """The f64 2**n for a signed w32 n in [-1022, 1023]."""
    return b.shl64(b.zext(b.add32(n, b.const32(1023))), b.const32(52))


def _clamp(b: Builder, n: Word, bound: int) -> Word:
    n = b.select(b.slt32(n, b.const32(-bound)), b.const32(-bound), n)
    return b.select(b.slt32(b.const32(bound), n), b.const32(bound), n)


def ldexp_f32(b: Builder, x: Word, n: Word) -> Word:
    """x * 2**n with one rounding: exact in f64, then rounded."""
    wide = b.fmul64(b.f32_to_f64(x), _power_of_two(b, _clamp(b, n, 600)))
    return b.f64_to_f32(wide)


def ldexp_f64(b: Builder, x: Word, n: Word) -> Word:
    """x * 2**n with one rounding: large steps stay clear of the denormal range until the last."""
    n = _clamp(b, n, 2600)
    for _ in range(2):
        down, up = b.slt32(n, b.const32(-1022)), b.slt32(b.const32(1023), n)
        step = b.select(down, b.const32(-969), b.select(up, b.const32(1023), b.const32(0)))
        x = b.fmul64(x, _power_of_two(b, step))
        n = b.sub32(n, step)
    n = b.select(b.slt32(n, b.const32(-1022)), b.const32(-1022), n)
    n = b.select(b.slt32(b.const32(1023), n), b.const32(1023), n)
    return b.fmul64(x, _power_of_two(b, n))


def _ldexp_f16(b: Builder, x: Word, n: Word) -> Word:
    return b.f32_to_f16(ldexp_f32(b, b.f16_to_f32(x), n))


@dataclass(frozen=True, slots=True)
class _F32:
    """Field access and constants of f32 for the shared division rules."""

    scale: int = 64
    near_max: int = 96
    tiny_numerator: int = 23
    underflow: int = 150
    bias: int = 127
    inf: int = 0x7F800000
    nan: int = 0x7FC00000
    sign: int = 0x80000000
    mantissa: int = 23
    smallest_normal: float = 2.0**-126

    def const(self, b: Builder, v: int) -> Word:
        return b.const32(v)

    def exponent(self, b: Builder, x: Word) -> Word:
        return b.and_(b.lshr32(x, b.const32(23)), b.const32(255))

    def wide(self, b: Builder, x: Word) -> Word:
        return b.f32_to_f64(x)

    def equal(self, b: Builder, x: Word, y: Word) -> Mask:
        return b.feq32(x, y)

    def nan_of(self, b: Builder, x: Word) -> Mask:
        return b.funo32(x, x)

    def ldexp(self, b: Builder, x: Word, n: Word) -> Word:
        return ldexp_f32(b, x, n)

    def fma(self, b: Builder, x: Word, y: Word, z: Word) -> Word:
        return b.ffma32(x, y, z)


@dataclass(frozen=True, slots=True)
class _F64(_F32):
    """The same of f64."""

    scale: int = 128
    near_max: int = 768
    tiny_numerator: int = 53
    underflow: int = 1075
    bias: int = 1023
    inf: int = 0x7FF0000000000000
    nan: int = 0x7FF8000000000000
    sign: int = 1 << 63
    mantissa: int = 52
    smallest_normal: float = 2.0**-1022

    def const(self, b: Builder, v: int) -> Word:
        return b.const64(v)

    def exponent(self, b: Builder, x: Word) -> Word:
        return b.and_(b.trunc(b.lshr64(x, b.const32(52))), b.const32(2047))

    def wide(self, b: Builder, x: Word) -> Word:
        return x

    def equal(self, b: Builder, x: Word, y: Word) -> Mask:
        return b.feq64(x, y)

    def nan_of(self, b: Builder, x: Word) -> Mask:
        return b.funo64(x, x)

    def ldexp(self, b: Builder, x: Word, n: Word) -> Word:
        return ldexp_f64(b, x, n)

    def fma(self, b: Builder, x: Word, y: Word, z: Word) -> Word:
        return b.ffma64(x, y, z)


F32, F64 = _F32(), _F64()


def _div_scale(f: _F32, b: Builder, x: Word, den: Word, num: Word) -> tuple[Word, Mask]:
    up, down, keep = b.const32(f.scale), b.const32(-f.scale), b.const32(0)
    zero = f.const(b, 0)
    exp_num, exp_den = f.exponent(b, num), f.exponent(b, den)
    is_den, is_num = f.equal(b, x, den), f.equal(b, x, num)
    small_den = b.eq(exp_den, b.const32(0))
    near_max = b.sle32(b.const32(f.near_max), b.sub32(exp_num, exp_den))
    smallest = b.const64(f64_bits(f.smallest_normal))
    absolute = b.const64((1 << 63) - 1)
    wide_num, wide_den = f.wide(b, num), f.wide(b, den)
    inverse = b.and_(b.fdiv64(b.const64(f64_bits(1.0)), wide_den), absolute)
    quotient = b.and_(b.fdiv64(wide_num, wide_den), absolute)
    tiny_inverse, tiny_quotient = b.flt64(inverse, smallest), b.flt64(quotient, smallest)
    tiny_num = b.ule(exp_num, b.const32(f.tiny_numerator))

    n = b.select(tiny_num, up, keep)
    n = b.select(tiny_quotient, b.select(is_num, up, keep), n)
    n = b.select(tiny_inverse, down, n)
    n = b.select(b.mask_and(tiny_inverse, tiny_quotient), b.select(is_den, down, keep), n)
    n = b.select(small_den, up, n)
    n = b.select(near_max, b.select(is_den, up, keep), n)
    flag = b.mask_or(near_max, b.mask_and(tiny_quotient, b.mask_not(small_den)))
    bad = b.mask_or(f.equal(b, num, zero), f.equal(b, den, zero))
    scaled = f.ldexp(b, x, n)
    return b.select(bad, f.const(b, f.nan), scaled), b.mask_and(flag, b.mask_not(bad))


def _div_fmas(f: _F32, b: Builder, x: Word, y: Word, z: Word, scaled: Mask) -> Word:
    r = f.fma(b, x, y, z)
    large = b.ult(b.const32(f.bias), f.exponent(b, z))
    n = b.select(large, b.const32(f.scale), b.const32(-f.scale))
    return b.select(scaled, f.ldexp(b, r, n), r)


def _div_fixup(f: _F32, b: Builder, quotient: Word, den: Word, num: Word) -> Word:
    magnitude = f.const(b, f.sign - 1)
    sign = b.and_(b.xor(den, num), f.const(b, f.sign))
    abs_den, abs_num = b.and_(den, magnitude), b.and_(num, magnitude)
    zero, inf = f.const(b, 0), f.const(b, f.inf)
    den_zero, num_zero = f.equal(b, den, zero), f.equal(b, num, zero)
    den_inf, num_inf = b.eq(abs_den, inf), b.eq(abs_num, inf)
    overflowed = f.nan_of(b, quotient)
    r = b.or_(b.select(overflowed, inf, b.and_(quotient, magnitude)), sign)
    vanishes = b.slt32(b.sub32(f.exponent(b, num), f.exponent(b, den)), b.const32(-f.underflow))
    r = b.select(vanishes, sign, r)
    r = b.select(b.mask_or(den_inf, num_zero), sign, r)
    r = b.select(b.mask_or(den_zero, num_inf), b.or_(inf, sign), r)
    invalid = b.mask_or(b.mask_and(den_zero, num_zero), b.mask_and(den_inf, num_inf))
    invalid = b.mask_or(invalid, b.mask_or(f.nan_of(b, den), f.nan_of(b, num)))
    return b.select(invalid, f.const(b, f.nan), r)


def _div_fixup_f16(b: Builder, quotient: Word, den: Word, num: Word) -> Word:
    """The f32 rules on widened operands; the quotient is already an f16 number."""
    wide = _div_fixup(F32, b, b.f16_to_f32(quotient), b.f16_to_f32(den), b.f16_to_f32(num))
    return b.f32_to_f16(wide)


def _frexp_exp_f64(b: Builder, x: Word) -> Word:
    """e with x = m * 2**e, 1/2 <= |m| < 1; 0 for zero, infinity and NaN."""
    tiny = b.eq(F64.exponent(b, x), b.const32(0))
    normal = b.select(tiny, b.fmul64(x, b.const64(f64_bits(2.0**64))), x)
    e = b.sub32(F64.exponent(b, normal), b.const32(1022))
    e = b.select(tiny, b.sub32(e, b.const32(64)), e)
    magnitude = b.and_(x, b.const64((1 << 63) - 1))
    special = b.mask_or(b.eq(magnitude, b.const64(0)), b.ule(b.const64(F64.inf), magnitude))
    return b.select(special, b.const32(0), e)


def _frexp_mant_f64(b: Builder, x: Word) -> Word:
    """m of x = m * 2**e; zero, infinity and NaN as they are."""
    e = _frexp_exp_f64(b, x)
    return ldexp_f64(b, x, b.sub32(b.const32(0), e))


def _frexp_exp_f32(b: Builder, x: Word) -> Word:
    return _frexp_exp_f64(b, b.f32_to_f64(x))


def _frexp_mant_f32(b: Builder, x: Word) -> Word:
    return b.f64_to_f32(_frexp_mant_f64(b, b.f32_to_f64(x)))


define(VALU, "v_ldexp_f32", "f32 = f32 u32", ldexp_f32)
define(VALU, "v_ldexp_f64", "f64 = f64 u32", ldexp_f64)
define(VALU, "v_ldexp_f16", "f16 = f16 i16", _ldexp_f16)
define(VALU, "v_div_scale_f32", "f32 mask = f32 f32 f32", lambda b, x, d, n: _div_scale(F32, b, x, d, n))
define(VALU, "v_div_scale_f64", "f64 mask = f64 f64 f64", lambda b, x, d, n: _div_scale(F64, b, x, d, n))
define(VALU, "v_div_fmas_f32", "f32 = f32 f32 f32 vcc", lambda b, x, y, z, m: _div_fmas(F32, b, x, y, z, m))
define(VALU, "v_div_fmas_f64", "f64 = f64 f64 f64 vcc", lambda b, x, y, z, m: _div_fmas(F64, b, x, y, z, m))
define(VALU, "v_div_fixup_f32", "f32 = f32 f32 f32", lambda b, q, d, n: _div_fixup(F32, b, q, d, n))
define(VALU, "v_div_fixup_f64", "f64 = f64 f64 f64", lambda b, q, d, n: _div_fixup(F64, b, q, d, n))
define(VALU, "v_div_fixup_f16", "h16 = f16 f16 f16", _div_fixup_f16)
define(VALU, "v_div_fixup_legacy_f16", "f16 = f16 f16 f16", _div_fixup_f16)
define(VALU, "v_frexp_exp_i32_f32", "u32 = f32", _frexp_exp_f32)
define(VALU, "v_frexp_exp_i32_f64", "u32 = f64", _frexp_exp_f64)
define(VALU, "v_frexp_exp_i16_f16", "u16 = f16", lambda b, x: low16(b, _frexp_exp_f32(b, b.f16_to_f32(x))))
define(VALU, "v_frexp_mant_f32", "f32 = f32", _frexp_mant_f32)
define(VALU, "v_frexp_mant_f64", "f64 = f64", _frexp_mant_f64)
define(VALU, "v_frexp_mant_f16", "f16 = f16", lambda b, x: b.f32_to_f16(_frexp_mant_f32(b, b.f16_to_f32(x))))

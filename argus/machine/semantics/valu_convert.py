"""Vector conversions between integers, f16, f32, f64, fp8 and bf8.

    v_cvt_pk_fp8_f32 v0, v1, v2      two f32 to two E4M3 bytes in one half of v0 (op_sel[3] chooses it)

fp8 and bf8 are the FNUZ formats of gfx942: E4M3 with bias 8 (largest 240), E5M2 with bias 16 (largest 57344), no
infinity, no negative zero, 0x80 is NaN. Overflow gives NaN unless MODE.FP16_OVFL asks for the largest number;
infinities count as overflow. Stochastic rounding adds the top bits of the second source below the last kept bit, then
truncates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from argus.machine.semantics.builder import Builder, Word
from argus.machine.semantics.table import define
from argus.machine.semantics.transcendental import f32_bits
from argus.machine.semantics.valu_float import SIGN32
from argus.machine.semantics.valu_int import VALU, low16, sext16, smax, smin, umin


def _pack16(b: Builder, lo: Word, hi: Word) -> Word:
    return b.or_(lo, b.shl32(hi, b.const32(16)))


def _integers() -> None:
    define(VALU, "v_cvt_f32_u32", "f32 = u32", lambda b, x: b.u32_to_f32(x))
    define(VALU, "v_cvt_f32_i32", "f32 = u32", lambda b, x: b.i32_to_f32(x))
    define(VALU, "v_cvt_f64_u32", "f64 = u32", lambda b, x: b.u32_to_f64(x))
    define(VALU, "v_cvt_f64_i32", "f64 = u32", lambda b, x: b.i32_to_f64(x))
    define(VALU, "v_cvt_u32_f32", "u32 = f32", lambda b, x: b.f32_to_u32(x))
    define(VALU, "v_cvt_i32_f32", "u32 = f32", lambda b, x: b.f32_to_i32(x))
    define(VALU, "v_cvt_u32_f64", "u32 = f64", lambda b, x: b.f64_to_u32(x))
    define(VALU, "v_cvt_i32_f64", "u32 = f64", lambda b, x: b.f64_to_i32(x))
    define(
        VALU,
        "v_cvt_rpi_i32_f32",
        "u32 = f32",
        lambda b, x: b.f32_to_i32(b.ffloor32(b.fadd32(x, b.const32(f32_bits(0.5))))),
    )
    define(VALU, "v_cvt_flr_i32_f32", "u32 = f32", lambda b, x: b.f32_to_i32(b.ffloor32(x)))
    for i in range(4):
        define(VALU, f"v_cvt_f32_ubyte{i}", "f32 = u32", _ubyte(i))
    define(VALU, "v_cvt_off_f32_i4", "f32 = u32", _offset_i4)
    define(VALU, "v_cvt_f16_u16", "f16 = u16", lambda b, x: b.f32_to_f16(b.u32_to_f32(x)))
    define(VALU, "v_cvt_f16_i16", "f16 = i16", lambda b, x: b.f32_to_f16(b.i32_to_f32(x)))
    define(VALU, "v_cvt_u16_f16", "u16 = f16", lambda b, x: umin(b, b.f32_to_u32(b.f16_to_f32(x)), b.const32(0xFFFF)))
    define(VALU, "v_cvt_i16_f16", "u16 = f16", lambda b, x: low16(b, _clamp_i16(b, b.f32_to_i32(b.f16_to_f32(x)))))
    define(VALU, "v_cvt_pk_u16_u32", "u32 = u32 u32", _pk_u16)
    define(VALU, "v_cvt_pk_i16_i32", "u32 = u32 u32", _pk_i16)
    define(VALU, "v_sat_pk_u8_i16", "u32 = u32", _sat_pk_u8)


def _ubyte(i: int) -> Callable[[Builder, Word], Word]:
    return lambda b, x: b.u32_to_f32(b.and_(b.lshr32(x, b.const32(8 * i)), b.const32(0xFF)))


def _offset_i4(b: Builder, x: Word) -> Word:
    signed = b.ashr32(b.shl32(x, b.const32(28)), b.const32(28))
    return b.fmul32(b.i32_to_f32(signed), b.const32(f32_bits(1 / 16)))


def _clamp_i16(b: Builder, x: Word) -> Word:
    return smin(b, smax(b, x, b.const32(-32768)), b.const32(32767))


def _pk_u16(b: Builder, x: Word, y: Word) -> Word:
    top = b.const32(0xFFFF)
    return _pack16(b, umin(b, x, top), umin(b, y, top))


def _pk_i16(b: Builder, x: Word, y: Word) -> Word:
    return _pack16(b, low16(b, _clamp_i16(b, x)), _clamp_i16(b, y))


def _sat_pk_u8(b: Builder, x: Word) -> Word:
    zero, top = b.const32(0), b.const32(255)
    lo = smin(b, smax(b, sext16(b, x), zero), top)
    hi = smin(b, smax(b, b.ashr32(x, b.const32(16)), zero), top)
    return b.or_(lo, b.shl32(hi, b.const32(8)))


def f32_to_f16_towards_zero(b: Builder, x: Word) -> Word:
    """Round to nearest, then step back where that grew the magnitude; finite overflow gives 65504."""
    nearest = b.f32_to_f16(x)
    magnitude = b.const32(0x7FFFFFFF)
    grew = b.flt32(b.and_(x, magnitude), b.and_(b.f16_to_f32(nearest), magnitude))
    return b.select(grew, b.sub32(nearest, b.const32(1)), nearest)


def _norm(scale: float, low: float) -> Callable[[Builder, Word], Word]:
    """An f32 in [low, 1] to a 16-bit fraction of `scale`, rounded to nearest even; NaN gives 0."""

    def run(b: Builder, x: Word) -> Word:
        x = b.select(b.funo32(x, x), b.const32(0), x)
        inside = b.fmin32(b.fmax32(x, b.const32(f32_bits(low))), b.const32(f32_bits(1.0)))
        return low16(b, b.f32_to_i32(b.frint32(b.fmul32(inside, b.const32(f32_bits(scale))))))

    return run


SNORM, UNORM = _norm(32767.0, -1.0), _norm(65535.0, 0.0)


def _floats() -> None:
    define(VALU, "v_cvt_f16_f32", "f16 = f32", lambda b, x: b.f32_to_f16(x))
    define(VALU, "v_cvt_f32_f16", "f32 = f16", lambda b, x: b.f16_to_f32(x))
    define(VALU, "v_cvt_f32_f64", "f32 = f64", lambda b, x: b.f64_to_f32(x))
    define(VALU, "v_cvt_f64_f32", "f64 = f32", lambda b, x: b.f32_to_f64(x))
    define(
        VALU,
        "v_cvt_pkrtz_f16_f32",
        "u32 = f32 f32",
        lambda b, x, y: _pack16(b, f32_to_f16_towards_zero(b, x), f32_to_f16_towards_zero(b, y)),
    )
    for kind, fn in (("i16", SNORM), ("u16", UNORM)):
        define(VALU, f"v_cvt_pknorm_{kind}_f32", "u32 = f32 f32", lambda b, x, y, f=fn: _pack16(b, f(b, x), f(b, y)))
        define(
            VALU,
            f"v_cvt_pknorm_{kind}_f16",
            "u32 = f16 f16",
            lambda b, x, y, f=fn: _pack16(b, f(b, b.f16_to_f32(x)), f(b, b.f16_to_f32(y))),
        )
        define(VALU, f"v_cvt_norm_{kind}_f16", "u16 = f16", lambda b, x, f=fn: f(b, b.f16_to_f32(x)))


@dataclass(frozen=True, slots=True)
class Fnuz:
    """An 8-bit float without infinities or negative zero; 0x80 is NaN."""

    mantissa: int
    bias: int

    @property
    def drop(self) -> int:
        """f32 mantissa bits that do not fit."""
        return 23 - self.mantissa

    def widen(self, b: Builder, byte: Word) -> Word:
        """The byte's value as f32, exact."""
        magnitude = b.and_(byte, b.const32(0x7F))
        sign = b.shl32(b.and_(byte, b.const32(0x80)), b.const32(24))
        normal = b.add32(b.shl32(magnitude, b.const32(self.drop)), b.const32(127 - self.bias << 23))
        step = 2.0 ** (1 - self.bias - self.mantissa)
        small = b.fmul32(b.u32_to_f32(magnitude), b.const32(f32_bits(step)))
        value = b.or_(b.select(b.ult(magnitude, b.const32(1 << self.mantissa)), small, normal), sign)
        return b.select(b.eq(byte, b.const32(0x80)), b.const32(0x7FC00000), value)

    def _finish(self, b: Builder, x: Word, code: Word) -> Word:
        """Overflow, zero and NaN; `code` is the rounded magnitude, 0x80 and above when it does not fit."""
        overflow = b.ule(b.const32(0x80), code)
        sign = b.lshr32(b.and_(x, b.const32(SIGN32)), b.const32(24))
        largest = b.or_(b.const32(0x7F), sign)
        result = b.select(b.eq(code, b.const32(0)), b.const32(0), b.or_(code, sign))
        result = b.select(overflow, largest if b.saturate_fp8 else b.const32(0x80), result)
        return b.select(b.funo32(x, x), b.const32(0x80), result)

    def narrow(self, b: Builder, x: Word) -> Word:
        """f32 to the byte, round to nearest even."""
        magnitude = b.and_(x, b.const32(0x7FFFFFFF))
        odd = b.and_(b.lshr32(magnitude, b.const32(self.drop)), b.const32(1))
        rounded = b.lshr32(b.add32(b.add32(magnitude, b.const32((1 << self.drop - 1) - 1)), odd), b.const32(self.drop))
        normal = b.sub32(rounded, b.const32(127 - self.bias << self.mantissa))
        magic = f32_bits(2.0 ** (23 + 1 - self.bias - self.mantissa))
        small = b.sub32(b.fadd32(magnitude, b.const32(magic)), b.const32(magic))
        smallest = f32_bits(2.0 ** (1 - self.bias))
        code = b.select(b.ult(magnitude, b.const32(smallest)), small, normal)
        return self._finish(b, x, code)

    def narrow_stochastic(self, b: Builder, x: Word, random: Word) -> Word:
        """f32 to the byte, random bits added below the last kept bit, truncated; below the smallest normal the grid is
        that of the denormals."""
        magnitude = b.and_(x, b.const32(0x7FFFFFFF))
        noise = b.lshr32(random, b.const32(32 - self.drop))
        normal = b.lshr32(b.add32(magnitude, noise), b.const32(self.drop))
        normal = b.sub32(normal, b.const32(127 - self.bias << self.mantissa))
        fixed = b.f32_to_u32(b.fmul32(magnitude, b.const32(f32_bits(2.0 ** (self.bias - 1 + 23)))))
        small = b.lshr32(b.add32(fixed, noise), b.const32(self.drop))
        smallest = f32_bits(2.0 ** (1 - self.bias))
        code = b.select(b.ult(magnitude, b.const32(smallest)), small, normal)
        return self._finish(b, x, code)


FP8, BF8 = Fnuz(mantissa=3, bias=8), Fnuz(mantissa=2, bias=16)


def _fp8() -> None:
    for name, form in (("fp8", FP8), ("bf8", BF8)):
        define(VALU, f"v_cvt_f32_{name}", "f32 = u32", lambda b, x, f=form: f.widen(b, b.and_(x, b.const32(0xFF))))
        define(VALU, f"v_cvt_pk_f32_{name}", "u64 = u16", _pk_widen(form))
        define(VALU, f"v_cvt_sr_{name}_f32", "b8 = f32 u32", lambda b, x, r, f=form: f.narrow_stochastic(b, x, r))
        define(
            VALU,
            f"v_cvt_pk_{name}_f32",
            "h16 = f32 f32",
            lambda b, x, y, f=form: b.or_(f.narrow(b, x), b.shl32(f.narrow(b, y), b.const32(8))),
        )


def _pk_widen(form: Fnuz) -> Callable[[Builder, Word], Word]:
    def run(b: Builder, x: Word) -> Word:
        lo = form.widen(b, b.and_(x, b.const32(0xFF)))
        hi = form.widen(b, b.and_(b.lshr32(x, b.const32(8)), b.const32(0xFF)))
        return b.pair(lo, hi)

    return run


for _section in (_integers, _floats, _fp8):
    _section()

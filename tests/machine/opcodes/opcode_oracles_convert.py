"""The second statement, continued: conversions, division, dot products. Importing it completes `ORACLES`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from opcode_oracles import M16, M32, ORACLES, low, s, say
from opcode_softfloat import F16, F32, F64, INF, NAN, Format

__all__ = ["ORACLES"]

# conversions

say("v_cvt_f32_u32", "f32 = u32", F32.from_int)
say("v_cvt_f32_i32", "f32 = u32", lambda a: F32.from_int(s(a, 32)))
say("v_cvt_f64_u32", "f64 = u32", F64.from_int)
say("v_cvt_f64_i32", "f64 = u32", lambda a: F64.from_int(s(a, 32)))
say("v_cvt_u32_f32", "u32 = f32", lambda a: F32.to_int(a, 0, M32))
say("v_cvt_i32_f32", "u32 = f32", lambda a: F32.to_int(a, -(2**31), 2**31 - 1) & M32)
say("v_cvt_u32_f64", "u32 = f64", lambda a: F64.to_int(a, 0, M32))
say("v_cvt_i32_f64", "u32 = f64", lambda a: F64.to_int(a, -(2**31), 2**31 - 1) & M32)
say("v_cvt_f16_f32", "f16 = f32", lambda a: F32.convert(a, F16))
say("v_cvt_f32_f16", "f32 = f16", lambda a: F16.convert(a, F32))
say("v_cvt_f32_f64", "f32 = f64", lambda a: F64.convert(a, F32))
say("v_cvt_f64_f32", "f64 = f32", lambda a: F32.convert(a, F64))
say("v_cvt_flr_i32_f32", "u32 = f32", lambda a: F32.to_int(F32.integral(a, "floor"), -(2**31), 2**31 - 1) & M32)
say(
    "v_cvt_rpi_i32_f32",
    "u32 = f32",
    lambda a: F32.to_int(F32.integral(F32.add(a, 0x3F000000), "floor"), -(2**31), 2**31 - 1) & M32,
)
for _k in range(4):
    say(f"v_cvt_f32_ubyte{_k}", "f32 = u32", lambda a, k=_k: F32.from_int(a >> 8 * k & 255))
say("v_cvt_off_f32_i4", "f32 = u32", lambda a: F32.encode((s(a, 4) < 0, Fraction(abs(s(a, 4)), 16))))
say("v_cvt_f16_u16", "f16 = u16", F16.from_int)
say("v_cvt_f16_i16", "f16 = i16", lambda a: F16.from_int(s(a, 16)))
say("v_cvt_u16_f16", "u16 = f16", lambda a: F16.to_int(a, 0, M16))
say("v_cvt_i16_f16", "u16 = f16", lambda a: F16.to_int(a, -32768, 32767) & M16)
say("v_cvt_pk_u16_u32", "u32 = u32 u32", lambda a, b: min(a, M16) | min(b, M16) << 16)


def _clip(x: int, low_: int, high: int) -> int:
    return max(low_, min(high, x))


say(
    "v_cvt_pk_i16_i32",
    "u32 = u32 u32",
    lambda a, b: _clip(s(a, 32), -32768, 32767) & M16 | (_clip(s(b, 32), -32768, 32767) & M16) << 16,
)
say("v_sat_pk_u8_i16", "u32 = u32", lambda a: _clip(s(a, 16), 0, 255) | _clip(s(a >> 16, 16), 0, 255) << 8)


_F16_SORTED = [F16.number(c)[1] for c in range(F16.inf)]


def _rtz16(a: int) -> int:
    negative, x = F32.number(a)
    if x in (NAN, INF):
        return F16.nan if x == NAN else (0x8000 if negative else 0) | F16.inf
    return (0x8000 if negative else 0) | bisect_right(_F16_SORTED, x) - 1


say("v_cvt_pkrtz_f16_f32", "u32 = f32 f32", lambda a, b: _rtz16(a) | _rtz16(b) << 16)


def _norm(f: Format, a: int, scale: int, floor: int) -> int:
    x = f.signed(a)
    if x is None:
        return 0
    x = max(floor, min(1, x))
    scaled = F32.convert(F32.mul(F32.encode((x < 0, Fraction(abs(x)))), F32.from_int(scale)), F64)
    return int(F64.signed(F64.integral(scaled, "rint"))) & M16


for _n, _f in (("f32", F32), ("f16", F16)):
    for _kind, _scale, _floor in (("i16", 32767, -1), ("u16", 65535, 0)):
        say(
            f"v_cvt_pknorm_{_kind}_{_n}",
            f"u32 = {_n} {_n}",
            lambda a, b, f=_f, c=_scale, d=_floor: _norm(f, a, c, d) | _norm(f, b, c, d) << 16,
        )
for _kind, _scale, _floor in (("i16", 32767, -1), ("u16", 65535, 0)):
    say(f"v_cvt_norm_{_kind}_f16", "u16 = f16", lambda a, c=_scale, d=_floor: _norm(F16, a, c, d))


def _fnuz_values(mantissa: int, bias: int) -> list[Fraction]:
    """Magnitudes of codes 0..127."""
    values = []
    for code in range(128):
        e, m = code >> mantissa, code & (1 << mantissa) - 1
        scale = Fraction(2) ** (max(e, 1) - bias - mantissa)
        values.append((m + (1 << mantissa if e else 0)) * scale)
    return values


FNUZ = {"fp8": _fnuz_values(3, 8), "bf8": _fnuz_values(2, 16)}


def _widen8(kind: str, byte: int) -> int:
    if byte == 0x80:
        return F32.nan
    return F32.encode((byte >= 128, FNUZ[kind][byte & 127]))


def _narrow8(kind: str, a: int) -> int:
    negative, x = F32.number(a)
    values = FNUZ[kind]
    limit = values[127] + (values[127] - values[126]) / 2
    if x in (NAN, INF) or x >= limit:
        return 0x80
    below = max(k for k in range(128) if values[k] <= x)
    code = below
    if below < 127:
        gap, rest = values[below + 1] - values[below], x - values[below]
        code += rest > gap / 2 or (rest == gap / 2 and below & 1)
    return 0 if code == 0 else code | (0x80 if negative else 0)


for _n in ("fp8", "bf8"):
    say(f"v_cvt_f32_{_n}", "f32 = u32", lambda a, n=_n: _widen8(n, a & 255))
    say(f"v_cvt_pk_f32_{_n}", "u64 = u16", lambda a, n=_n: _widen8(n, a & 255) | _widen8(n, a >> 8) << 32)
    say(f"v_cvt_pk_{_n}_f32", "h16 = f32 f32", lambda a, b, n=_n: _narrow8(n, a) | _narrow8(n, b) << 8)

# scaling and division

say("v_ldexp_f32", "f32 = f32 u32", lambda a, n: F32.scale(a, _clip(s(n, 32), -1000, 1000)))
say("v_ldexp_f64", "f64 = f64 u32", lambda a, n: F64.scale(a, _clip(s(n, 32), -4000, 4000)))
say("v_ldexp_f16", "f16 = f16 i16", lambda a, n: F16.scale(a, _clip(s(n, 16), -1000, 1000)))


def _frexp(f: Format, a: int) -> tuple[int, int]:
    negative, x = f.number(a)
    if x in (NAN, INF) or x == 0:
        return a, 0
    e = 0
    x = Fraction(x)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    e = e + 1 if Fraction(2) ** e <= x else e
    return f.encode((negative, x / Fraction(2) ** e)), e


for _n, _f, _w in (("f32", F32, "i32"), ("f64", F64, "i32"), ("f16", F16, "i16")):
    say(f"v_frexp_mant_{_n}", f"{_n} = {_n}", lambda a, f=_f: _frexp(f, a)[0])
    _out = "u16" if _w == "i16" else "u32"
    say(f"v_frexp_exp_{_w}_{_n}", f"{_out} = {_n}", lambda a, f=_f, m=M16 if _w == "i16" else M32: _frexp(f, a)[1] & m)


def _div_scale(f: Format, a: int, d: int, n: int) -> tuple[int, bool]:
    k = 64 if f is F32 else 128
    field = (1 << f.exponent) - 1
    en, ed = n >> f.mantissa & field, d >> f.mantissa & field
    zero = lambda x: f.number(x)[1] == 0  # noqa: E731
    if zero(n) or zero(d):
        return f.nan, False
    same_d, same_n = f.compare(a, d) == 0, f.compare(a, n) == 0
    smallest = Fraction(2) ** (1 - f.bias)

    def tiny(top: Any, bottom: Any) -> bool:
        if top in (NAN, INF) or bottom == NAN:
            return False
        return True if bottom == INF else Fraction(top) / bottom < smallest

    num, den = f.number(n)[1], f.number(d)[1]
    if en - ed >= (96 if f is F32 else 768):
        return f.scale(a, k if same_d else 0), True
    if ed == 0:
        return f.scale(a, k), False
    inverse, quotient = tiny(1, den), tiny(num, den)
    if inverse and quotient:
        return f.scale(a, -k if same_d else 0), True
    if inverse:
        return f.scale(a, -k), False
    if quotient:
        return f.scale(a, k if same_n else 0), True
    return f.scale(a, k if en <= (23 if f is F32 else 53) else 0), False


def _div_fixup(f: Format, q: int, d: int, n: int) -> int:
    (nd, den), (nn, num) = f.number(d), f.number(n)
    sign = f.sign if nd != nn else 0
    if NAN in (den, num) or (den == 0 and num == 0) or (den == INF and num == INF):
        return f.nan
    if den == 0 or num == INF:
        return sign | f.inf
    if den == INF or num == 0:
        return sign
    field = (1 << f.exponent) - 1
    limit = 150 if f is not F64 else 1075
    if f is not F16 and (n >> f.mantissa & field) - (d >> f.mantissa & field) < -limit:
        return sign
    return (f.inf if f.is_nan(q) else q & ~f.sign & (1 << f.bits) - 1) | sign


def _div_fmas(f: Format, a: int, b: int, c: int, m: bool) -> int:
    r = f.fma(a, b, c)
    if not m:
        return r
    k = 64 if f is F32 else 128
    large = (c >> f.mantissa & (1 << f.exponent) - 1) > f.bias
    return f.scale(r, k if large else -k)


for _n, _f in (("f32", F32), ("f64", F64)):
    say(f"v_div_scale_{_n}", f"{_n} mask = {_n} {_n} {_n}", lambda a, d, n, f=_f: _div_scale(f, a, d, n))
    say(f"v_div_fmas_{_n}", f"{_n} = {_n} {_n} {_n} vcc", lambda a, b, c, m, f=_f: _div_fmas(f, a, b, c, m))
    say(f"v_div_fixup_{_n}", f"{_n} = {_n} {_n} {_n}", lambda q, d, n, f=_f: _div_fixup(f, q, d, n))
say("v_div_fixup_f16", "h16 = f16 f16 f16", lambda q, d, n: _div_fixup(F16, q, d, n))
say("v_div_fixup_legacy_f16", "f16 = f16 f16 f16", lambda q, d, n: _div_fixup(F16, q, d, n))

# dot products


def _dot(bits: int, signed: bool) -> Callable[[int, int, int], int]:
    def run(a: int, b: int, c: int) -> int:
        for k in range(0, 32, bits):
            x, y = low(a >> k, bits), low(b >> k, bits)
            c += s(x, bits) * s(y, bits) if signed else x * y
        return c & M32

    return run


for _n, _bits in ((2, 16), (4, 8), (8, 4)):
    say(f"v_dot{_n}_i32_i{_bits}", "u32 = u32 u32 u32", _dot(_bits, True))
    say(f"v_dot{_n}_u32_u{_bits}", "u32 = u32 u32 u32", _dot(_bits, False))
    say(f"v_dot{_n}c_i32_i{_bits}", "u32 = u32 u32 old", _dot(_bits, True))


def _dot2_f32(a: int, b: int, c: int) -> int:
    for k in (0, 16):
        c = F32.fma(F16.convert(a >> k & M16, F32), F16.convert(b >> k & M16, F32), c)
    return c


say("v_dot2_f32_f16", "f32 = u32 u32 f32", _dot2_f32)
say("v_dot2c_f32_f16", "f32 = u32 u32 old", _dot2_f32)


def _pk_fmac(a: int, b: int, c: int) -> int:
    return sum(F16.fma(a >> k & M16, b >> k & M16, c >> k & M16) << k for k in (0, 16))


say("v_pk_fmac_f16", "u32 = u32 u32 old", _pk_fmac)

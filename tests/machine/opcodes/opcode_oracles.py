"""What each vector instruction does, stated a second time: Python integers, exact rationals, nothing from the machine.

ORACLES[op] = (signature, function of one lane's values). Functions take and return raw bits; masks are bools.
Transcendental functions, which are approximations, have their own test.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from opcode_softfloat import F16, F32, F64, INF, NAN, Format

M16, M32, M64 = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
ORACLES: dict[str, tuple[str, Callable[..., Any]]] = {}


def say(names: str, signature: str, fn: Callable[..., Any]) -> None:
    for name in names.split():
        assert name not in ORACLES, name
        ORACLES[name] = (signature, fn)


def s(x: int, bits: int) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> bits - 1 else x


def low(x: int, bits: int) -> int:
    return x & (1 << bits) - 1


# moves

say("v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "u32 = u32", lambda a: a)
say("v_mov_b64", "u64 = u64", lambda a: a)
say("v_cndmask_b32", "u32 = u32 u32 mask", lambda a, b, m: b if m else a)

# integer arithmetic

say("v_add_u32 v_add_i32", "u32 = u32 u32", lambda a, b: a + b & M32)
say("v_sub_u32 v_sub_i32", "u32 = u32 u32", lambda a, b: a - b & M32)
say("v_subrev_u32", "u32 = u32 u32", lambda a, b: b - a & M32)
say("v_add_co_u32", "u32 mask = u32 u32", lambda a, b: (a + b & M32, a + b > M32))
say("v_sub_co_u32", "u32 mask = u32 u32", lambda a, b: (a - b & M32, a < b))
say("v_subrev_co_u32", "u32 mask = u32 u32", lambda a, b: (b - a & M32, b < a))
say("v_addc_co_u32", "u32 mask = u32 u32 mask", lambda a, b, c: (a + b + c & M32, a + b + c > M32))
say("v_subb_co_u32", "u32 mask = u32 u32 mask", lambda a, b, c: (a - b - c & M32, a - b - c < 0))
say("v_subbrev_co_u32", "u32 mask = u32 u32 mask", lambda a, b, c: (b - a - c & M32, b - a - c < 0))
say("v_add3_u32", "u32 = u32 u32 u32", lambda a, b, c: a + b + c & M32)
say("v_lshl_add_u32", "u32 = u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c & M32)
say("v_add_lshl_u32", "u32 = u32 u32 u32", lambda a, b, c: (a + b) << (c & 31) & M32)
say("v_xad_u32", "u32 = u32 u32 u32", lambda a, b, c: (a ^ b) + c & M32)
say("v_lshl_add_u64", "u64 = u64 u32 u64", lambda a, b, c: (a << (b & 7)) + c & M64)
say("v_mul_lo_u32", "u32 = u32 u32", lambda a, b: a * b & M32)
say("v_mul_hi_u32", "u32 = u32 u32", lambda a, b: a * b >> 32)
say("v_mul_hi_i32", "u32 = u32 u32", lambda a, b: s(a, 32) * s(b, 32) >> 32 & M32)
say("v_mul_i32_i24", "u32 = u32 u32", lambda a, b: s(a, 24) * s(b, 24) & M32)
say("v_mul_u32_u24", "u32 = u32 u32", lambda a, b: low(a, 24) * low(b, 24) & M32)
say("v_mul_hi_i32_i24", "u32 = u32 u32", lambda a, b: s(a, 24) * s(b, 24) >> 32 & M32)
say("v_mul_hi_u32_u24", "u32 = u32 u32", lambda a, b: low(a, 24) * low(b, 24) >> 32)
say("v_mad_i32_i24", "u32 = u32 u32 u32", lambda a, b, c: s(a, 24) * s(b, 24) + c & M32)
say("v_mad_u32_u24", "u32 = u32 u32 u32", lambda a, b, c: low(a, 24) * low(b, 24) + c & M32)
say("v_mad_u64_u32", "u64 mask = u32 u32 u64", lambda a, b, c: (a * b + c & M64, a * b + c > M64))


def _mad_i64(a: int, b: int, c: int) -> tuple[int, bool]:
    exact = s(a, 32) * s(b, 32) + s(c, 64)
    return exact & M64, bool(exact >> 64 & 1)


say("v_mad_i64_i32", "u64 mask = u32 u32 i64", _mad_i64)
for _name, _key in (("u32", lambda x: x), ("i32", lambda x: s(x, 32))):
    say(f"v_min_{_name}", "u32 = u32 u32", lambda a, b, k=_key: min(a, b, key=k))
    say(f"v_max_{_name}", "u32 = u32 u32", lambda a, b, k=_key: max(a, b, key=k))
    say(f"v_min3_{_name}", "u32 = u32 u32 u32", lambda a, b, c, k=_key: min(a, b, c, key=k))
    say(f"v_max3_{_name}", "u32 = u32 u32 u32", lambda a, b, c, k=_key: max(a, b, c, key=k))
    say(f"v_med3_{_name}", "u32 = u32 u32 u32", lambda a, b, c, k=_key: sorted((a, b, c), key=k)[1])

# shifts and bits

say("v_lshlrev_b32", "u32 = u32 u32", lambda n, a: a << (n & 31) & M32)
say("v_lshrrev_b32", "u32 = u32 u32", lambda n, a: a >> (n & 31))
say("v_ashrrev_i32", "u32 = u32 u32", lambda n, a: s(a, 32) >> (n & 31) & M32)
say("v_lshlrev_b64", "u64 = u32 u64", lambda n, a: a << (n & 63) & M64)
say("v_lshrrev_b64", "u64 = u32 u64", lambda n, a: a >> (n & 63))
say("v_ashrrev_i64", "u64 = u32 i64", lambda n, a: s(a, 64) >> (n & 63) & M64)
say("v_alignbit_b32", "u32 = u32 u32 u32", lambda a, b, n: (a << 32 | b) >> (n & 31) & M32)
say("v_alignbyte_b32", "u32 = u32 u32 u32", lambda a, b, n: (a << 32 | b) >> 8 * (n & 3) & M32)
say("v_and_b32", "u32 = u32 u32", lambda a, b: a & b)
say("v_or_b32", "u32 = u32 u32", lambda a, b: a | b)
say("v_xor_b32", "u32 = u32 u32", lambda a, b: a ^ b)
say("v_xnor_b32", "u32 = u32 u32", lambda a, b: ~(a ^ b) & M32)
say("v_not_b32", "u32 = u32", lambda a: ~a & M32)
say("v_and_or_b32", "u32 = u32 u32 u32", lambda a, b, c: a & b | c)
say("v_or3_b32", "u32 = u32 u32 u32", lambda a, b, c: a | b | c)
say("v_lshl_or_b32", "u32 = u32 u32 u32", lambda a, b, c: a << (b & 31) & M32 | c)
say("v_bfe_u32", "u32 = u32 u32 u32", lambda a, o, w: a >> (o & 31) & (1 << (w & 31)) - 1)


def _bfe_i32(a: int, o: int, w: int) -> int:
    width = w & 31
    return s(s(a, 32) >> (o & 31), width) & M32 if width else 0


say("v_bfe_i32", "u32 = u32 u32 u32", _bfe_i32)
say("v_bfi_b32", "u32 = u32 u32 u32", lambda m, a, b: m & a | ~m & b & M32)
say("v_bfm_b32", "u32 = u32 u32", lambda w, o: (1 << (w & 31)) - 1 << (o & 31) & M32)
say("v_bfrev_b32", "u32 = u32", lambda a: int(f"{a:032b}"[::-1], 2))


def _perm(a: int, b: int, selectors: int) -> int:
    data = (a << 32 | b).to_bytes(8, "little")
    out = []
    for k in range(4):
        sel = selectors >> 8 * k & 255
        if sel < 8:
            out.append(data[sel])
        elif sel < 12:
            out.append(255 if data[2 * (sel - 8) + 1] >> 7 else 0)
        else:
            out.append(0 if sel == 12 else 255)
    return int.from_bytes(bytes(out), "little")


say("v_perm_b32", "u32 = u32 u32 u32", _perm)
say("v_bcnt_u32_b32", "u32 = u32 u32", lambda a, b: bin(a).count("1") + b & M32)
say("v_ffbh_u32", "u32 = u32", lambda a: 32 - a.bit_length() if a else M32)
say("v_ffbl_b32", "u32 = u32", lambda a: (a & -a).bit_length() - 1 if a else M32)


def _ffbh_i32(a: int) -> int:
    bits = f"{a:032b}"
    other = bits.find("1" if bits[0] == "0" else "0")
    return other & M32


say("v_ffbh_i32", "u32 = u32", _ffbh_i32)


def _bytes(x: int) -> list[int]:
    return list(x.to_bytes(4, "little"))


say("v_sad_u8", "u32 = u32 u32 u32", lambda a, b, c: sum(map(lambda x, y: abs(x - y), _bytes(a), _bytes(b))) + c & M32)
say(
    "v_msad_u8",
    "u32 = u32 u32 u32",
    lambda a, b, c: sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True) if y) + c & M32,
)
say(
    "v_sad_hi_u8",
    "u32 = u32 u32 u32",
    lambda a, b, c: (sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True)) << 16) + c & M32,
)
say("v_sad_u16", "u32 = u32 u32 u32", lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c & M32)
say("v_sad_u32", "u32 = u32 u32 u32", lambda a, b, c: abs(a - b) + c & M32)
say(
    "v_lerp_u8",
    "u32 = u32 u32 u32",
    lambda a, b, c: int.from_bytes(
        bytes((x + y + (z & 1)) >> 1 for x, y, z in zip(_bytes(a), _bytes(b), _bytes(c), strict=True)), "little"
    ),
)

# 16-bit integers

say("v_add_u16", "u16 = u16 u16", lambda a, b: a + b & M16)
say("v_sub_u16", "u16 = u16 u16", lambda a, b: a - b & M16)
say("v_subrev_u16", "u16 = u16 u16", lambda a, b: b - a & M16)
say("v_mul_lo_u16", "u16 = u16 u16", lambda a, b: a * b & M16)
say("v_lshlrev_b16", "u16 = u16 u16", lambda n, a: a << (n & 15) & M16)
say("v_lshrrev_b16", "u16 = u16 u16", lambda n, a: a >> (n & 15))
say("v_ashrrev_i16", "u16 = u16 i16", lambda n, a: s(a, 16) >> (n & 15) & M16)
say("v_mad_legacy_u16 v_mad_legacy_i16", "u16 = u16 u16 u16", lambda a, b, c: a * b + c & M16)
say("v_mad_u16 v_mad_i16", "h16 = u16 u16 u16", lambda a, b, c: a * b + c & M16)
say("v_add_i16", "h16 = u16 u16", lambda a, b: a + b & M16)
say("v_sub_i16", "h16 = u16 u16", lambda a, b: a - b & M16)
say("v_mad_u32_u16", "u32 = u16 u16 u32", lambda a, b, c: a * b + c & M32)
say("v_mad_i32_i16", "u32 = i16 i16 u32", lambda a, b, c: s(a, 16) * s(b, 16) + c & M32)
for _name, _key in (("u16", lambda x: x), ("i16", lambda x: s(x, 16))):
    say(f"v_min_{_name}", f"u16 = {_name} {_name}", lambda a, b, k=_key: min(a, b, key=k))
    say(f"v_max_{_name}", f"u16 = {_name} {_name}", lambda a, b, k=_key: max(a, b, key=k))
    say(f"v_min3_{_name}", f"h16 = {_name} {_name} {_name}", lambda a, b, c, k=_key: min(a, b, c, key=k))
    say(f"v_max3_{_name}", f"h16 = {_name} {_name} {_name}", lambda a, b, c, k=_key: max(a, b, c, key=k))
    say(f"v_med3_{_name}", f"h16 = {_name} {_name} {_name}", lambda a, b, c, k=_key: sorted((a, b, c), key=k)[1])

# floats

FORMATS: dict[str, Format] = {"f16": F16, "f32": F32, "f64": F64}


def _med3(f: Format, a: int, b: int, c: int) -> int:
    if any(f.is_nan(x) for x in (a, b, c)):
        return f.minimum(f.minimum(a, b), c)
    low_, high = f.minimum(a, b), f.maximum(a, b)
    return f.maximum(low_, f.minimum(high, c))


def _fract(f: Format, a: int) -> int:
    below_one = (f.bias << f.mantissa) - 1
    return f.minimum(f.sub(a, f.integral(a, "floor")), below_one)


for _n, _f in FORMATS.items():
    _keep = "h16" if _n == "f16" else _n
    if _n != "f64":
        say(f"v_add_{_n}", f"{_n} = {_n} {_n}", _f.add)
        say(f"v_sub_{_n}", f"{_n} = {_n} {_n}", _f.sub)
        say(f"v_subrev_{_n}", f"{_n} = {_n} {_n}", lambda a, b, f=_f: f.sub(b, a))
        say(f"v_min3_{_n}", f"{_keep} = {_n} {_n} {_n}", lambda a, b, c, f=_f: f.minimum(f.minimum(a, b), c))
        say(f"v_max3_{_n}", f"{_keep} = {_n} {_n} {_n}", lambda a, b, c, f=_f: f.maximum(f.maximum(a, b), c))
        say(f"v_med3_{_n}", f"{_keep} = {_n} {_n} {_n}", lambda a, b, c, f=_f: _med3(f, a, b, c))
    else:
        say("v_add_f64", "f64 = f64 f64", _f.add)
    say(f"v_mul_{_n}", f"{_n} = {_n} {_n}", _f.mul)
    say(f"v_min_{_n}", f"{_n} = {_n} {_n}", _f.minimum)
    say(f"v_max_{_n}", f"{_n} = {_n} {_n}", _f.maximum)
    say(f"v_fma_{_n}", f"{_keep} = {_n} {_n} {_n}", _f.fma)
    for _how in ("floor", "ceil", "trunc"):
        say(f"v_{_how}_{_n}", f"{_n} = {_n}", lambda a, f=_f, h=_how: f.integral(a, h))
    say(f"v_rndne_{_n}", f"{_n} = {_n}", lambda a, f=_f: f.integral(a, "rint"))
    say(f"v_fract_{_n}", f"{_n} = {_n}", lambda a, f=_f: _fract(f, a))
say("v_fmaak_f32 v_fmamk_f32", "f32 = f32 f32 f32", F32.fma)
say("v_fmac_f32", "f32 = f32 f32 old", F32.fma)
say("v_fmac_f64", "f64 = f64 f64 old64", F64.fma)
say("v_fma_legacy_f16", "f16 = f16 f16 f16", F16.fma)


def _mad16(a: int, b: int, c: int) -> int:
    return F16.add(F16.mul(a, b), c)


say("v_mad_legacy_f16 v_madmk_f16 v_madak_f16", "f16 = f16 f16 f16", _mad16)
say("v_mad_f16", "h16 = f16 f16 f16", _mad16)
say("v_mac_f16", "f16 = f16 f16 old", lambda a, b, c: _mad16(a, b, c & M16))
say("v_pack_b32_f16", "u32 = f16 f16", lambda a, b: a | b << 16)


def _mul_legacy(a: int, b: int) -> int:
    return 0 if F32.number(a)[1] == 0 or F32.number(b)[1] == 0 else F32.mul(a, b)


say("v_mul_legacy_f32", "f32 = f32 f32", _mul_legacy)

# comparisons

_INT = {"lt": (-1,), "eq": (0,), "le": (-1, 0), "gt": (1,), "ne": (-1, 1), "ge": (0, 1), "f": (), "t": (-1, 0, 1)}
for _word, _bits, _signed in (
    ("u32", 32, False),
    ("i32", 32, True),
    ("u64", 64, False),
    ("i64", 64, True),
    ("u16", 16, False),
    ("i16", 16, True),
):
    _arg = "u32" if _word == "i32" else _word
    for _n, _orders in _INT.items():

        def _cmp(a: int, b: int, bits: int = _bits, signed: bool = _signed, orders: tuple[int, ...] = _orders) -> bool:
            x, y = (s(a, bits), s(b, bits)) if signed else (a, b)
            return (x > y) - (x < y) in orders

        say(f"v_cmp_{_n}_{_word}", f"mask = {_arg} {_arg}", _cmp)
        say(f"v_cmpx_{_n}_{_word}", f"mask exec = {_arg} {_arg}", lambda a, b, f=_cmp: (f(a, b), f(a, b)))

_FLOAT: dict[str, tuple[int | None, ...]] = {
    "f": (),
    "lt": (-1,),
    "eq": (0,),
    "le": (-1, 0),
    "gt": (1,),
    "lg": (-1, 1),
    "ge": (0, 1),
    "o": (-1, 0, 1),
    "u": (None,),
    "nge": (None, -1),
    "nlg": (None, 0),
    "ngt": (None, -1, 0),
    "nle": (None, 1),
    "neq": (None, -1, 1),
    "nlt": (None, 0, 1),
    "tru": (None, -1, 0, 1),
}
for _n, _f in FORMATS.items():
    for _name, _orders in _FLOAT.items():

        def _fcmp(a: int, b: int, f: Format = _f, orders: tuple[int | None, ...] = _orders) -> bool:
            return f.compare(a, b) in orders

        say(f"v_cmp_{_name}_{_n}", f"mask = {_n} {_n}", _fcmp)
        say(f"v_cmpx_{_name}_{_n}", f"mask exec = {_n} {_n}", lambda a, b, f=_fcmp: (f(a, b), f(a, b)))


def _class(f: Format, a: int, wanted: int) -> bool:
    negative, x = f.number(a)
    if x == NAN:
        which = 1 if a >> f.mantissa - 1 & 1 else 0
    elif x == INF:
        which = 2 if negative else 9
    elif x == 0:
        which = 5 if negative else 6
    elif x < Fraction(2) ** (1 - f.bias):
        which = 4 if negative else 7
    else:
        which = 3 if negative else 8
    return bool(wanted >> which & 1)


for _n, _f in FORMATS.items():
    say(f"v_cmp_class_{_n}", f"mask = {_n} u32", lambda a, m, f=_f: _class(f, a, m))
    say(f"v_cmpx_class_{_n}", f"mask exec = {_n} u32", lambda a, m, f=_f: (_class(f, a, m),) * 2)

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

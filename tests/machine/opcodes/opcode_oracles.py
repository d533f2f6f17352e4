"""What each vector instruction does, stated a second time: Python integers, exact rationals, nothing from the machine.

ORACLES[op] = (signature, function of one lane's values). Functions take and return raw bits; masks are bools.
Transcendental functions, which are approximations, have their own test.
"""

from __future__ import annotations

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

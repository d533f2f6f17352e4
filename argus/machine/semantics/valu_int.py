"""Vector integer, bit and move instructions.

    v_bfe_u32 v0, v1, 4, 8      "u32 = u32 u32 u32"      v0 = bits 11..4 of v1

Shift counts use their low bits only, as on hardware. Integer `clamp` is a different function, `SATURATING`.
"""

from __future__ import annotations

from collections.abc import Callable

from argus.machine.semantics.builder import Builder, Mask, Word
from argus.machine.semantics.salu import low5, low6
from argus.machine.semantics.salu_bits import leading_signs32, leading_zeros32
from argus.machine.semantics.table import Table, define

VALU: Table = {}

Fn2 = Callable[[Builder, Word, Word], Word]


def low4(b: Builder, n: Word) -> Word:
    return b.and_(n, b.const32(15))


def low16(b: Builder, x: Word) -> Word:
    return b.and_(x, b.const32(0xFFFF))


def sext16(b: Builder, x: Word) -> Word:
    return b.ashr32(b.shl32(x, b.const32(16)), b.const32(16))


def _s24(b: Builder, x: Word) -> Word:
    return b.ashr32(b.shl32(x, b.const32(8)), b.const32(8))


def _u24(b: Builder, x: Word) -> Word:
    return b.and_(x, b.const32(0xFFFFFF))


def umin(b: Builder, x: Word, y: Word) -> Word:
    return b.select(b.ult(x, y), x, y)


def umax(b: Builder, x: Word, y: Word) -> Word:
    return b.select(b.ult(x, y), y, x)


def smin(b: Builder, x: Word, y: Word) -> Word:
    return b.select(b.slt32(x, y), x, y)


def smax(b: Builder, x: Word, y: Word) -> Word:
    return b.select(b.slt32(x, y), y, x)


def _med3(low: Fn2, high: Fn2) -> Callable[[Builder, Word, Word, Word], Word]:
    return lambda b, x, y, z: high(b, low(b, x, y), low(b, high(b, x, y), z))


def _byte(b: Builder, x: Word, i: int) -> Word:
    return b.and_(b.lshr32(x, b.const32(8 * i)), b.const32(0xFF))


def _moves() -> None:
    define(VALU, "v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "u32 = u32", lambda b, x: x)
    define(VALU, "v_mov_b64", "u64 = u64", lambda b, x: x)
    define(VALU, "v_cndmask_b32", "u32 = u32 u32 mask", lambda b, x, y, m: b.select(m, y, x))
    define(VALU, "v_pk_mov_b32", "u64 = u64 u64", lambda b, lo, hi: b.pair(lo, hi), "pkmov")


def add_carry_out(b: Builder, x: Word, y: Word) -> tuple[Word, Mask]:
    r = b.add32(x, y)
    return r, b.ult(r, x)


def _addc(b: Builder, x: Word, y: Word, c: Mask) -> tuple[Word, Mask]:
    s = b.add32(x, y)
    r = b.add32(s, b.select(c, b.const32(1), b.const32(0)))
    return r, b.mask_or(b.ult(s, x), b.ult(r, s))


def _subb(b: Builder, x: Word, y: Word, c: Mask) -> tuple[Word, Mask]:
    r = b.sub32(b.sub32(x, y), b.select(c, b.const32(1), b.const32(0)))
    return r, b.mask_or(b.ult(x, y), b.mask_and(c, b.eq(x, y)))


def _mad_u64(b: Builder, x: Word, y: Word, z: Word) -> tuple[Word, Mask]:
    r = b.add64(b.mul64(b.zext(x), b.zext(y)), z)
    return r, b.ult(r, z)


def _mad_i64(b: Builder, x: Word, y: Word, z: Word) -> tuple[Word, Mask]:
    """The mask is bit 64 of the exact 65-bit sum."""
    p = b.mul64(b.sext(x), b.sext(y))
    r = b.add64(p, z)
    zero = b.const64(0)
    signs = b.mask_xor(b.slt64(p, zero), b.slt64(z, zero))
    return r, b.mask_xor(signs, b.ult(r, z))


def _arithmetic() -> None:
    define(VALU, "v_add_u32 v_add_i32", "u32 = u32 u32", lambda b, x, y: b.add32(x, y))
    define(VALU, "v_sub_u32 v_sub_i32", "u32 = u32 u32", lambda b, x, y: b.sub32(x, y))
    define(VALU, "v_subrev_u32", "u32 = u32 u32", lambda b, x, y: b.sub32(y, x))
    define(VALU, "v_add_co_u32", "u32 mask = u32 u32", add_carry_out)
    define(VALU, "v_sub_co_u32", "u32 mask = u32 u32", lambda b, x, y: (b.sub32(x, y), b.ult(x, y)))
    define(VALU, "v_subrev_co_u32", "u32 mask = u32 u32", lambda b, x, y: (b.sub32(y, x), b.ult(y, x)))
    define(VALU, "v_addc_co_u32", "u32 mask = u32 u32 mask", _addc)
    define(VALU, "v_subb_co_u32", "u32 mask = u32 u32 mask", _subb)
    define(VALU, "v_subbrev_co_u32", "u32 mask = u32 u32 mask", lambda b, x, y, c: _subb(b, y, x, c))
    define(VALU, "v_add3_u32", "u32 = u32 u32 u32", lambda b, x, y, z: b.add32(b.add32(x, y), z))
    define(VALU, "v_lshl_add_u32", "u32 = u32 u32 u32", lambda b, x, n, y: b.add32(b.shl32(x, low5(b, n)), y))
    define(VALU, "v_add_lshl_u32", "u32 = u32 u32 u32", lambda b, x, y, n: b.shl32(b.add32(x, y), low5(b, n)))
    define(VALU, "v_xad_u32", "u32 = u32 u32 u32", lambda b, x, y, z: b.add32(b.xor(x, y), z))
    define(
        VALU,
        "v_lshl_add_u64",
        "u64 = u64 u32 u64",
        lambda b, x, n, y: b.add64(b.shl64(x, b.and_(n, b.const32(7))), y),
    )
    define(VALU, "v_mul_lo_u32", "u32 = u32 u32", lambda b, x, y: b.mul32(x, y))
    define(VALU, "v_mul_hi_u32", "u32 = u32 u32", lambda b, x, y: b.high(b.mul64(b.zext(x), b.zext(y))))
    define(VALU, "v_mul_hi_i32", "u32 = u32 u32", lambda b, x, y: b.high(b.mul64(b.sext(x), b.sext(y))))
    define(VALU, "v_mul_i32_i24", "u32 = u32 u32", lambda b, x, y: b.mul32(_s24(b, x), _s24(b, y)))
    define(VALU, "v_mul_u32_u24", "u32 = u32 u32", lambda b, x, y: b.mul32(_u24(b, x), _u24(b, y)))
    define(
        VALU,
        "v_mul_hi_i32_i24",
        "u32 = u32 u32",
        lambda b, x, y: b.high(b.mul64(b.sext(_s24(b, x)), b.sext(_s24(b, y)))),
    )
    define(
        VALU,
        "v_mul_hi_u32_u24",
        "u32 = u32 u32",
        lambda b, x, y: b.high(b.mul64(b.zext(_u24(b, x)), b.zext(_u24(b, y)))),
    )
    define(VALU, "v_mad_i32_i24", "u32 = u32 u32 u32", lambda b, x, y, z: b.add32(b.mul32(_s24(b, x), _s24(b, y)), z))
    define(VALU, "v_mad_u32_u24", "u32 = u32 u32 u32", lambda b, x, y, z: b.add32(b.mul32(_u24(b, x), _u24(b, y)), z))
    define(VALU, "v_mad_u64_u32", "u64 mask = u32 u32 u64", _mad_u64)
    define(VALU, "v_mad_i64_i32", "u64 mask = u32 u32 i64", _mad_i64)


def _min_max() -> None:
    for kind, low, high in (("u32", umin, umax), ("i32", smin, smax)):
        define(VALU, f"v_min_{kind}", "u32 = u32 u32", low)
        define(VALU, f"v_max_{kind}", "u32 = u32 u32", high)
        define(VALU, f"v_min3_{kind}", "u32 = u32 u32 u32", lambda b, x, y, z, f=low: f(b, f(b, x, y), z))
        define(VALU, f"v_max3_{kind}", "u32 = u32 u32 u32", lambda b, x, y, z, f=high: f(b, f(b, x, y), z))
        define(VALU, f"v_med3_{kind}", "u32 = u32 u32 u32", _med3(low, high))


def _shifts() -> None:
    define(VALU, "v_lshlrev_b32", "u32 = u32 u32", lambda b, n, x: b.shl32(x, low5(b, n)))
    define(VALU, "v_lshrrev_b32", "u32 = u32 u32", lambda b, n, x: b.lshr32(x, low5(b, n)))
    define(VALU, "v_ashrrev_i32", "u32 = u32 u32", lambda b, n, x: b.ashr32(x, low5(b, n)))
    define(VALU, "v_lshlrev_b64", "u64 = u32 u64", lambda b, n, x: b.shl64(x, low6(b, n)))
    define(VALU, "v_lshrrev_b64", "u64 = u32 u64", lambda b, n, x: b.lshr64(x, low6(b, n)))
    define(VALU, "v_ashrrev_i64", "u64 = u32 i64", lambda b, n, x: b.ashr64(x, low6(b, n)))
    define(VALU, "v_alignbit_b32", "u32 = u32 u32 u32", lambda b, x, y, n: b.trunc(b.lshr64(b.pair(y, x), low5(b, n))))
    define(VALU, "v_alignbyte_b32", "u32 = u32 u32 u32", _alignbyte)


def _alignbyte(b: Builder, x: Word, y: Word, n: Word) -> Word:
    bits = b.shl32(b.and_(n, b.const32(3)), b.const32(3))
    return b.trunc(b.lshr64(b.pair(y, x), bits))


def _bfe(b: Builder, x: Word, offset: Word, width: Word, signed: bool) -> Word:
    width = low5(b, width)
    up = low5(b, b.sub32(b.const32(32), width))
    field = b.shl32(b.lshr32(x, low5(b, offset)), up)
    field = b.ashr32(field, up) if signed else b.lshr32(field, up)
    return b.select(b.eq(width, b.const32(0)), b.const32(0), field)


def _bfe_i32(b: Builder, x: Word, offset: Word, width: Word) -> Word:
    """Fields reaching past bit 31 repeat the sign bit."""
    width, offset = low5(b, width), low5(b, offset)
    shifted = b.ashr32(x, offset)
    up = low5(b, b.sub32(b.const32(32), width))
    field = b.ashr32(b.shl32(shifted, up), up)
    return b.select(b.eq(width, b.const32(0)), b.const32(0), field)


def _bfm(b: Builder, width: Word, offset: Word) -> Word:
    return b.shl32(b.sub32(b.shl32(b.const32(1), low5(b, width)), b.const32(1)), low5(b, offset))


def _perm(b: Builder, x: Word, y: Word, selectors: Word) -> Word:
    """Each selector byte: 0..3 a byte of y, 4..7 of x, 8..11 the sign of byte 1, 3, 5, 7, 12 zero, above all ones."""
    bytes_, result = b.pair(y, x), b.const32(0)
    for i in range(4):
        s = _byte(b, selectors, i)
        low = b.and_(s, b.const32(7))
        plain = b.and_(b.trunc(b.lshr64(bytes_, b.shl32(low, b.const32(3)))), b.const32(0xFF))
        sign_at = b.add32(b.shl32(b.and_(s, b.const32(3)), b.const32(4)), b.const32(15))
        sign = b.mul32(b.and_(b.trunc(b.lshr64(bytes_, sign_at)), b.const32(1)), b.const32(0xFF))
        byte = b.select(b.ult(s, b.const32(13)), b.const32(0), b.const32(0xFF))
        byte = b.select(b.ult(s, b.const32(12)), sign, byte)
        byte = b.select(b.ult(s, b.const32(8)), plain, byte)
        result = b.or_(result, b.shl32(byte, b.const32(8 * i)))
    return result


def _bits() -> None:
    define(VALU, "v_and_b32", "u32 = u32 u32", lambda b, x, y: b.and_(x, y))
    define(VALU, "v_or_b32", "u32 = u32 u32", lambda b, x, y: b.or_(x, y))
    define(VALU, "v_xor_b32", "u32 = u32 u32", lambda b, x, y: b.xor(x, y))
    define(VALU, "v_xnor_b32", "u32 = u32 u32", lambda b, x, y: b.not32(b.xor(x, y)))
    define(VALU, "v_not_b32", "u32 = u32", lambda b, x: b.not32(x))
    define(VALU, "v_and_or_b32", "u32 = u32 u32 u32", lambda b, x, y, z: b.or_(b.and_(x, y), z))
    define(VALU, "v_or3_b32", "u32 = u32 u32 u32", lambda b, x, y, z: b.or_(b.or_(x, y), z))
    define(VALU, "v_lshl_or_b32", "u32 = u32 u32 u32", lambda b, x, n, y: b.or_(b.shl32(x, low5(b, n)), y))
    define(VALU, "v_bfe_u32", "u32 = u32 u32 u32", lambda b, x, o, w: _bfe(b, x, o, w, signed=False))
    define(VALU, "v_bfe_i32", "u32 = u32 u32 u32", _bfe_i32)
    define(VALU, "v_bfi_b32", "u32 = u32 u32 u32", lambda b, m, x, y: b.or_(b.and_(m, x), b.and_(b.not32(m), y)))
    define(VALU, "v_bfm_b32", "u32 = u32 u32", _bfm)
    define(VALU, "v_bfrev_b32", "u32 = u32", lambda b, x: b.bitreverse32(x))
    define(VALU, "v_perm_b32", "u32 = u32 u32 u32", _perm)
    define(VALU, "v_bcnt_u32_b32", "u32 = u32 u32", lambda b, x, y: b.add32(b.popcount32(x), y))
    define(VALU, "v_ffbh_u32", "u32 = u32", leading_zeros32)
    define(VALU, "v_ffbh_i32", "u32 = u32", leading_signs32)
    define(
        VALU, "v_ffbl_b32", "u32 = u32", lambda b, x: b.select(b.eq(x, b.const32(0)), b.const32(0xFFFFFFFF), b.ctz32(x))
    )
    define(VALU, "v_mbcnt_lo_u32_b32", "u32 = u32 u32 lane", _mbcnt_lo)
    define(VALU, "v_mbcnt_hi_u32_b32", "u32 = u32 u32 lane", _mbcnt_hi)


def _below(b: Builder, n: Word) -> Word:
    """n one bits, n below 32."""
    return b.sub32(b.shl32(b.const32(1), low5(b, n)), b.const32(1))


def _mbcnt_lo(b: Builder, x: Word, y: Word, lane: Word) -> Word:
    mask = b.select(b.ult(lane, b.const32(32)), _below(b, lane), b.const32(0xFFFFFFFF))
    return b.add32(b.popcount32(b.and_(x, mask)), y)


def _mbcnt_hi(b: Builder, x: Word, y: Word, lane: Word) -> Word:
    mask = b.select(b.ult(lane, b.const32(32)), b.const32(0), _below(b, lane))
    return b.add32(b.popcount32(b.and_(x, mask)), y)


def _absdiff(b: Builder, x: Word, y: Word) -> Word:
    return b.sub32(umax(b, x, y), umin(b, x, y))


def _sad_u8(b: Builder, x: Word, y: Word, z: Word) -> Word:
    for i in range(4):
        z = b.add32(z, _absdiff(b, _byte(b, x, i), _byte(b, y, i)))
    return z


def _msad_u8(b: Builder, x: Word, y: Word, z: Word) -> Word:
    for i in range(4):
        ref = _byte(b, y, i)
        term = b.select(b.eq(ref, b.const32(0)), b.const32(0), _absdiff(b, _byte(b, x, i), ref))
        z = b.add32(z, term)
    return z


def _sad_u16(b: Builder, x: Word, y: Word, z: Word) -> Word:
    high = b.const32(16)
    z = b.add32(z, _absdiff(b, low16(b, x), low16(b, y)))
    return b.add32(z, _absdiff(b, b.lshr32(x, high), b.lshr32(y, high)))


def _lerp_u8(b: Builder, x: Word, y: Word, z: Word) -> Word:
    result = b.const32(0)
    for i in range(4):
        total = b.add32(b.add32(_byte(b, x, i), _byte(b, y, i)), b.and_(_byte(b, z, i), b.const32(1)))
        result = b.or_(result, b.shl32(b.lshr32(total, b.const32(1)), b.const32(8 * i)))
    return result


def _sums() -> None:
    define(VALU, "v_sad_u8", "u32 = u32 u32 u32", _sad_u8)
    define(VALU, "v_msad_u8", "u32 = u32 u32 u32", _msad_u8)
    define(
        VALU,
        "v_sad_hi_u8",
        "u32 = u32 u32 u32",
        lambda b, x, y, z: b.add32(b.shl32(_sad_u8(b, x, y, b.const32(0)), b.const32(16)), z),
    )
    define(VALU, "v_sad_u16", "u32 = u32 u32 u32", _sad_u16)
    define(VALU, "v_sad_u32", "u32 = u32 u32 u32", lambda b, x, y, z: b.add32(_absdiff(b, x, y), z))
    define(VALU, "v_lerp_u8", "u32 = u32 u32 u32", _lerp_u8)


for _section in (_moves, _arithmetic, _min_max, _shifts, _bits, _sums):
    _section()


def _add_sat_u(b: Builder, x: Word, y: Word) -> Word:
    r = b.add32(x, y)
    return b.select(b.ult(r, x), b.const32(0xFFFFFFFF), r)


def _sub_sat_u(b: Builder, x: Word, y: Word) -> Word:
    return b.select(b.ult(x, y), b.const32(0), b.sub32(x, y))


def _sat_s(b: Builder, overflow: Mask, x: Word, r: Word) -> Word:
    bound = b.xor(b.ashr32(x, b.const32(31)), b.const32(0x7FFFFFFF))
    return b.select(overflow, bound, r)


def _add_sat_s(b: Builder, x: Word, y: Word) -> Word:
    r = b.add32(x, y)
    return _sat_s(b, b.slt32(b.and_(b.xor(x, r), b.xor(y, r)), b.const32(0)), x, r)


def _sub_sat_s(b: Builder, x: Word, y: Word) -> Word:
    r = b.sub32(x, y)
    return _sat_s(b, b.slt32(b.and_(b.xor(x, y), b.xor(x, r)), b.const32(0)), x, r)


SATURATING: dict[str, Callable[..., Word]] = {
    "v_add_u32": _add_sat_u,
    "v_sub_u32": _sub_sat_u,
    "v_subrev_u32": lambda b, x, y: _sub_sat_u(b, y, x),
    "v_add_i32": _add_sat_s,
    "v_sub_i32": _sub_sat_s,
}
"""What the integer instructions do when their `clamp` bit is set."""

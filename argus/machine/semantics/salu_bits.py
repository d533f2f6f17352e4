"""Scalar bit-field, bit-count and bit-search instructions.

    s_bfe_u32 s0, s1, 0x80004     offset = bits 4..0 of the second source = 4, width = bits 22..16 = 8

Searches answer -1 when there is nothing to find, as the hardware does.
"""

from __future__ import annotations

from argus.machine.semantics.builder import IntBuilder, Mask, Word
from argus.machine.semantics.salu import SALU, low5, low6, nonzero32, nonzero64
from argus.machine.semantics.table import define

NONE = 0xFFFFFFFF


def _field_width(b: IntBuilder, spec: Word) -> Word:
    return b.and_(b.lshr32(spec, b.const32(16)), b.const32(127))


def _ones64(b: IntBuilder, width: Word) -> Word:
    """A w64 of `width` one bits; 64 and more give all ones."""
    some = b.sub64(b.shl64(b.const64(1), low6(b, width)), b.const64(1))
    return b.select(b.ult(width, b.const32(64)), some, b.const64(-1))


def _bfe_u64(b: IntBuilder, x: Word, spec: Word) -> tuple[Word, Mask]:
    r = b.and_(b.lshr64(x, low6(b, spec)), _ones64(b, _field_width(b, spec)))
    return r, nonzero64(b, r)


def _bfe_i64(b: IntBuilder, x: Word, spec: Word) -> tuple[Word, Mask]:
    width = _field_width(b, spec)
    shifted = b.ashr64(x, low6(b, spec))
    up = low6(b, b.sub32(b.const32(64), width))
    field = b.ashr64(b.shl64(shifted, up), up)
    r = b.select(b.ult(width, b.const32(64)), field, shifted)
    r = b.select(b.eq(width, b.const32(0)), b.const64(0), r)
    return r, nonzero64(b, r)


def _bfe_u32(b: IntBuilder, x: Word, spec: Word) -> tuple[Word, Mask]:
    r = b.trunc(b.and_(b.zext(b.lshr32(x, low5(b, spec))), _ones64(b, _field_width(b, spec))))
    return r, nonzero32(b, r)


def _bfe_i32(b: IntBuilder, x: Word, spec: Word) -> tuple[Word, Mask]:
    width = _field_width(b, spec)
    shifted = b.ashr32(x, low5(b, spec))
    up = low5(b, b.sub32(b.const32(32), width))
    field = b.ashr32(b.shl32(shifted, up), up)
    r = b.select(b.ult(width, b.const32(32)), field, shifted)
    r = b.select(b.eq(width, b.const32(0)), b.const32(0), r)
    return r, nonzero32(b, r)


def _bfm_b32(b: IntBuilder, width: Word, offset: Word) -> Word:
    ones = b.sub32(b.shl32(b.const32(1), low5(b, width)), b.const32(1))
    return b.shl32(ones, low5(b, offset))


def _bfm_b64(b: IntBuilder, width: Word, offset: Word) -> Word:
    ones = b.sub64(b.shl64(b.const64(1), low6(b, width)), b.const64(1))
    return b.shl64(ones, low6(b, offset))


def _count(b: IntBuilder, n: Word) -> tuple[Word, Mask]:
    return n, nonzero32(b, n)


def _popcount64(b: IntBuilder, x: Word) -> Word:
    return b.add32(b.popcount32(b.trunc(x)), b.popcount32(b.high(x)))


def _find_first32(b: IntBuilder, x: Word) -> Word:
    return b.select(b.eq(x, b.const32(0)), b.const32(NONE), b.ctz32(x))


def _find_first64(b: IntBuilder, x: Word) -> Word:
    lo, hi = b.trunc(x), b.high(x)
    upper = b.select(b.eq(hi, b.const32(0)), b.const32(NONE), b.add32(b.ctz32(hi), b.const32(32)))
    return b.select(b.eq(lo, b.const32(0)), upper, b.ctz32(lo))


def leading_zeros32(b: IntBuilder, x: Word) -> Word:
    """Zeros above the highest one bit; -1 for zero (s_flbit_i32_b32, v_ffbh_u32)."""
    return b.select(b.eq(x, b.const32(0)), b.const32(NONE), b.clz32(x))


def _leading_zeros64(b: IntBuilder, x: Word) -> Word:
    lo, hi = b.trunc(x), b.high(x)
    lower = b.select(b.eq(lo, b.const32(0)), b.const32(NONE), b.add32(b.clz32(lo), b.const32(32)))
    return b.select(b.eq(hi, b.const32(0)), lower, b.clz32(hi))


def leading_signs32(b: IntBuilder, x: Word) -> Word:
    """Bits equal to the sign bit above the first that differs; -1 for 0 and -1 (s_flbit_i32, v_ffbh_i32)."""
    return leading_zeros32(b, b.xor(x, b.ashr32(x, b.const32(31))))


def _leading_signs64(b: IntBuilder, x: Word) -> Word:
    return _leading_zeros64(b, b.xor(x, b.ashr64(x, b.const32(63))))


def _bitreverse64(b: IntBuilder, x: Word) -> Word:
    return b.pair(b.bitreverse32(b.high(x)), b.bitreverse32(b.trunc(x)))


def _quads(b: IntBuilder, x: Word) -> Word:
    """Bit 4i is set when any of bits 4i..4i+3 is (w64)."""
    x = b.or_(x, b.lshr64(x, b.const32(1)))
    x = b.or_(x, b.lshr64(x, b.const32(2)))
    return b.and_(x, b.const64(0x1111111111111111))


def _whole_quads(b: IntBuilder, x: Word) -> Word:
    return b.mul64(_quads(b, x), b.const64(15))


def _gather_quads(b: IntBuilder, x: Word) -> Word:
    """Bit i is set when any of bits 4i..4i+3 is (w64)."""
    x = _quads(b, x)
    for shift, keep in ((3, 0x0303030303030303), (6, 0x000F000F000F000F), (12, 0x000000FF000000FF), (24, 0xFFFF)):
        x = b.and_(b.or_(x, b.lshr64(x, b.const32(shift))), b.const64(keep))
    return x


def _replicate(b: IntBuilder, x: Word) -> Word:
    """Each bit twice."""
    wide = b.zext(x)
    for shift, keep in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        wide = b.and_(b.or_(wide, b.shl64(wide, b.const32(shift))), b.const64(keep))
    return b.or_(wide, b.shl64(wide, b.const32(1)))


def _bit32(b: IntBuilder, n: Word) -> Word:
    return b.shl32(b.const32(1), low5(b, n))


def _bit64(b: IntBuilder, n: Word) -> Word:
    return b.shl64(b.const64(1), low6(b, n))


def _is_set32(b: IntBuilder, x: Word, n: Word) -> Mask:
    return nonzero32(b, b.and_(x, _bit32(b, n)))


def _is_set64(b: IntBuilder, x: Word, n: Word) -> Mask:
    return nonzero64(b, b.and_(x, _bit64(b, n)))


define(SALU, "s_bfe_u32", "u32 scc = u32 u32", _bfe_u32)
define(SALU, "s_bfe_i32", "u32 scc = u32 u32", _bfe_i32)
define(SALU, "s_bfe_u64", "u64 scc = u64 u32", _bfe_u64)
define(SALU, "s_bfe_i64", "u64 scc = i64 u32", _bfe_i64)
define(SALU, "s_bfm_b32", "u32 = u32 u32", _bfm_b32)
define(SALU, "s_bfm_b64", "u64 = u32 u32", _bfm_b64)
define(SALU, "s_brev_b32", "u32 = u32", lambda b, x: b.bitreverse32(x))
define(SALU, "s_brev_b64", "u64 = u64", _bitreverse64)
define(SALU, "s_bcnt1_i32_b32", "u32 scc = u32", lambda b, x: _count(b, b.popcount32(x)))
define(SALU, "s_bcnt0_i32_b32", "u32 scc = u32", lambda b, x: _count(b, b.popcount32(b.not32(x))))
define(SALU, "s_bcnt1_i32_b64", "u32 scc = u64", lambda b, x: _count(b, _popcount64(b, x)))
define(SALU, "s_bcnt0_i32_b64", "u32 scc = u64", lambda b, x: _count(b, _popcount64(b, b.not64(x))))
define(SALU, "s_ff1_i32_b32", "u32 = u32", _find_first32)
define(SALU, "s_ff0_i32_b32", "u32 = u32", lambda b, x: _find_first32(b, b.not32(x)))
define(SALU, "s_ff1_i32_b64", "u32 = u64", _find_first64)
define(SALU, "s_ff0_i32_b64", "u32 = u64", lambda b, x: _find_first64(b, b.not64(x)))
define(SALU, "s_flbit_i32_b32", "u32 = u32", leading_zeros32)
define(SALU, "s_flbit_i32_b64", "u32 = u64", _leading_zeros64)
define(SALU, "s_flbit_i32", "u32 = u32", leading_signs32)
define(SALU, "s_flbit_i32_i64", "u32 = u64", _leading_signs64)
define(SALU, "s_bitset0_b32", "u32 = u32 old", lambda b, n, old: b.and_(old, b.not32(_bit32(b, n))))
define(SALU, "s_bitset1_b32", "u32 = u32 old", lambda b, n, old: b.or_(old, _bit32(b, n)))
define(SALU, "s_bitset0_b64", "u64 = u32 old64", lambda b, n, old: b.and_(old, b.not64(_bit64(b, n))))
define(SALU, "s_bitset1_b64", "u64 = u32 old64", lambda b, n, old: b.or_(old, _bit64(b, n)))
define(SALU, "s_bitcmp0_b32", "scc = u32 u32", lambda b, x, n: b.mask_not(_is_set32(b, x, n)))
define(SALU, "s_bitcmp1_b32", "scc = u32 u32", _is_set32)
define(SALU, "s_bitcmp0_b64", "scc = u64 u32", lambda b, x, n: b.mask_not(_is_set64(b, x, n)))
define(SALU, "s_bitcmp1_b64", "scc = u64 u32", _is_set64)


def _wqm_b32(b: IntBuilder, x: Word) -> tuple[Word, Mask]:
    r = b.trunc(_whole_quads(b, b.zext(x)))
    return r, nonzero32(b, r)


def _wqm_b64(b: IntBuilder, x: Word) -> tuple[Word, Mask]:
    r = _whole_quads(b, x)
    return r, nonzero64(b, r)


def _quadmask_b32(b: IntBuilder, x: Word) -> tuple[Word, Mask]:
    r = b.trunc(_gather_quads(b, b.zext(x)))
    return r, nonzero32(b, r)


def _quadmask_b64(b: IntBuilder, x: Word) -> tuple[Word, Mask]:
    r = _gather_quads(b, x)
    return r, nonzero64(b, r)


define(SALU, "s_wqm_b32", "u32 scc = u32", _wqm_b32)
define(SALU, "s_wqm_b64", "u64 scc = u64", _wqm_b64)
define(SALU, "s_quadmask_b32", "u32 scc = u32", _quadmask_b32)
define(SALU, "s_quadmask_b64", "u64 scc = u64", _quadmask_b64)
define(SALU, "s_bitreplicate_b64_b32", "u64 = u32", _replicate)

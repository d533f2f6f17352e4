"""Scalar instructions (SOP1, SOP2, SOPC, SOPK) over an `IntBuilder`.

    s_add_u32 s0, s1, s2     "u32 scc = u32 u32"     s0 = s1 + s2, scc = carry out

Branches, barriers and hardware registers are not here: they change the wave's control state (`control.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from argus.machine.semantics.builder import IntBuilder, Mask, Word
from argus.machine.semantics.table import Table, define

SALU: Table = {}

Pair = tuple[Word, Mask]
Binary = Callable[[IntBuilder, Word, Word], Word]


def nonzero32(b: IntBuilder, x: Word) -> Mask:
    return b.ne(x, b.const32(0))


def nonzero64(b: IntBuilder, x: Word) -> Mask:
    return b.ne(x, b.const64(0))


def low5(b: IntBuilder, n: Word) -> Word:
    return b.and_(n, b.const32(31))


def low6(b: IntBuilder, n: Word) -> Word:
    return b.and_(n, b.const32(63))


def _with_scc32(fn: Binary) -> Callable[[IntBuilder, Word, Word], Pair]:
    def run(b: IntBuilder, x: Word, y: Word) -> Pair:
        r = fn(b, x, y)
        return r, nonzero32(b, r)

    return run


def _with_scc64(fn: Binary) -> Callable[[IntBuilder, Word, Word], Pair]:
    def run(b: IntBuilder, x: Word, y: Word) -> Pair:
        r = fn(b, x, y)
        return r, nonzero64(b, r)

    return run


def _moves() -> None:
    define(SALU, "s_mov_b32", "u32 = u32", lambda b, x: x)
    define(SALU, "s_mov_b64", "u64 = u64", lambda b, x: x)
    define(SALU, "s_movk_i32", "u32 = k16", lambda b, k: k)
    define(SALU, "s_cmov_b32", "u32 = u32 old scc", lambda b, x, old, c: b.select(c, x, old))
    define(SALU, "s_cmov_b64", "u64 = u64 old64 scc", lambda b, x, old, c: b.select(c, x, old))
    define(SALU, "s_cmovk_i32", "u32 = k16 old scc", lambda b, k, old, c: b.select(c, k, old))
    define(SALU, "s_cselect_b32", "u32 = u32 u32 scc", lambda b, x, y, c: b.select(c, x, y))
    define(SALU, "s_cselect_b64", "u64 = u64 u64 scc", lambda b, x, y, c: b.select(c, x, y))
    define(SALU, "s_pack_ll_b32_b16", "u32 = u32 u32", lambda b, x, y: _pack(b, _half(b, x, 0), _half(b, y, 0)))
    define(SALU, "s_pack_lh_b32_b16", "u32 = u32 u32", lambda b, x, y: _pack(b, _half(b, x, 0), _half(b, y, 1)))
    define(SALU, "s_pack_hh_b32_b16", "u32 = u32 u32", lambda b, x, y: _pack(b, _half(b, x, 1), _half(b, y, 1)))
    define(SALU, "s_sext_i32_i8", "u32 = u32", lambda b, x: b.ashr32(b.shl32(x, b.const32(24)), b.const32(24)))
    define(SALU, "s_sext_i32_i16", "u32 = u32", lambda b, x: b.ashr32(b.shl32(x, b.const32(16)), b.const32(16)))


def _half(b: IntBuilder, x: Word, high: int) -> Word:
    return b.lshr32(x, b.const32(16)) if high else b.and_(x, b.const32(0xFFFF))


def _pack(b: IntBuilder, lo: Word, hi: Word) -> Word:
    return b.or_(lo, b.shl32(hi, b.const32(16)))


def _add_unsigned(b: IntBuilder, x: Word, y: Word) -> Pair:
    r = b.add32(x, y)
    return r, b.ult(r, x)


def _add_carry(b: IntBuilder, x: Word, y: Word, c: Mask) -> Pair:
    s = b.add32(x, y)
    r = b.add32(s, b.select(c, b.const32(1), b.const32(0)))
    return r, b.mask_or(b.ult(s, x), b.ult(r, s))


def _sub_borrow(b: IntBuilder, x: Word, y: Word, c: Mask) -> Pair:
    d = b.sub32(x, y)
    r = b.sub32(d, b.select(c, b.const32(1), b.const32(0)))
    return r, b.mask_or(b.ult(x, y), b.mask_and(c, b.eq(x, y)))


def _add_signed(b: IntBuilder, x: Word, y: Word) -> Pair:
    r = b.add32(x, y)
    return r, b.slt32(b.and_(b.xor(x, r), b.xor(y, r)), b.const32(0))


def _sub_signed(b: IntBuilder, x: Word, y: Word) -> Pair:
    r = b.sub32(x, y)
    return r, b.slt32(b.and_(b.xor(x, y), b.xor(x, r)), b.const32(0))


def _shift_add(k: int) -> Callable[[IntBuilder, Word, Word], Pair]:
    def run(b: IntBuilder, x: Word, y: Word) -> Pair:
        wide = b.add64(b.shl64(b.zext(x), b.const32(k)), b.zext(y))
        return b.trunc(wide), b.ne(b.high(wide), b.const32(0))

    return run


def _abs(b: IntBuilder, x: Word) -> Pair:
    r = b.select(b.slt32(x, b.const32(0)), b.sub32(b.const32(0), x), x)
    return r, nonzero32(b, r)


def _absdiff(b: IntBuilder, x: Word, y: Word) -> Pair:
    return _abs(b, b.sub32(x, y))


def _pick(less: str, keep_first_if_less: bool) -> Callable[[IntBuilder, Word, Word], Pair]:
    def run(b: IntBuilder, x: Word, y: Word) -> Pair:
        lt = getattr(b, less)
        first = lt(x, y) if keep_first_if_less else lt(y, x)
        return b.select(first, x, y), first

    return run


def _arithmetic() -> None:
    define(SALU, "s_add_u32", "u32 scc = u32 u32", _add_unsigned)
    define(SALU, "s_sub_u32", "u32 scc = u32 u32", lambda b, x, y: (b.sub32(x, y), b.ult(x, y)))
    define(SALU, "s_addc_u32", "u32 scc = u32 u32 scc", _add_carry)
    define(SALU, "s_subb_u32", "u32 scc = u32 u32 scc", _sub_borrow)
    define(SALU, "s_add_i32", "u32 scc = u32 u32", _add_signed)
    define(SALU, "s_sub_i32", "u32 scc = u32 u32", _sub_signed)
    define(SALU, "s_addk_i32", "u32 scc = k16 old", lambda b, k, old: _add_signed(b, old, k))
    define(SALU, "s_mulk_i32", "u32 = k16 old", lambda b, k, old: b.mul32(old, k))
    define(SALU, "s_mul_i32", "u32 = u32 u32", lambda b, x, y: b.mul32(x, y))
    define(SALU, "s_mul_hi_u32", "u32 = u32 u32", lambda b, x, y: b.high(b.mul64(b.zext(x), b.zext(y))))
    define(SALU, "s_mul_hi_i32", "u32 = u32 u32", lambda b, x, y: b.high(b.mul64(b.sext(x), b.sext(y))))
    for k in range(1, 5):
        define(SALU, f"s_lshl{k}_add_u32", "u32 scc = u32 u32", _shift_add(k))
    define(SALU, "s_abs_i32", "u32 scc = u32", _abs)
    define(SALU, "s_absdiff_i32", "u32 scc = u32 u32", _absdiff)
    define(SALU, "s_min_u32", "u32 scc = u32 u32", _pick("ult", True))
    define(SALU, "s_max_u32", "u32 scc = u32 u32", _pick("ult", False))
    define(SALU, "s_min_i32", "u32 scc = u32 u32", _pick("slt32", True))
    define(SALU, "s_max_i32", "u32 scc = u32 u32", _pick("slt32", False))


LOGIC32: dict[str, Binary] = {
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
    "andn2": lambda b, x, y: b.and_(x, b.not32(y)),
    "orn2": lambda b, x, y: b.or_(x, b.not32(y)),
    "nand": lambda b, x, y: b.not32(b.and_(x, y)),
    "nor": lambda b, x, y: b.not32(b.or_(x, y)),
    "xnor": lambda b, x, y: b.not32(b.xor(x, y)),
}
LOGIC64: dict[str, Binary] = {
    "and": lambda b, x, y: b.and_(x, y),
    "or": lambda b, x, y: b.or_(x, y),
    "xor": lambda b, x, y: b.xor(x, y),
    "andn2": lambda b, x, y: b.and_(x, b.not64(y)),
    "orn2": lambda b, x, y: b.or_(x, b.not64(y)),
    "nand": lambda b, x, y: b.not64(b.and_(x, y)),
    "nor": lambda b, x, y: b.not64(b.or_(x, y)),
    "xnor": lambda b, x, y: b.not64(b.xor(x, y)),
}
SAVEEXEC_ONLY: dict[str, Binary] = {
    "andn1": lambda b, x, y: b.and_(b.not64(x), y),
    "orn1": lambda b, x, y: b.or_(b.not64(x), y),
}


def _save_exec(fn: Binary) -> Callable[[IntBuilder, Word, Word], tuple[Word, Word, Mask]]:
    def run(b: IntBuilder, x: Word, exec_: Word) -> tuple[Word, Word, Mask]:
        new = fn(b, x, exec_)
        return exec_, new, nonzero64(b, new)

    return run


def _write_exec(fn: Binary) -> Callable[[IntBuilder, Word, Word], tuple[Word, Word, Mask]]:
    def run(b: IntBuilder, x: Word, exec_: Word) -> tuple[Word, Word, Mask]:
        new = fn(b, x, exec_)
        return new, new, nonzero64(b, new)

    return run


def _logic() -> None:
    for name, fn in LOGIC32.items():
        define(SALU, f"s_{name}_b32", "u32 scc = u32 u32", _with_scc32(fn))
    for name, fn in LOGIC64.items():
        define(SALU, f"s_{name}_b64", "u64 scc = u64 u64", _with_scc64(fn))
    for name, fn in (LOGIC64 | SAVEEXEC_ONLY).items():
        define(SALU, f"s_{name}_saveexec_b64", "u64 exec scc = u64 exec", _save_exec(fn))
    define(SALU, "s_andn1_wrexec_b64", "u64 exec scc = u64 exec", _write_exec(SAVEEXEC_ONLY["andn1"]))
    define(SALU, "s_andn2_wrexec_b64", "u64 exec scc = u64 exec", _write_exec(LOGIC64["andn2"]))
    define(SALU, "s_not_b32", "u32 scc = u32", lambda b, x: (b.not32(x), nonzero32(b, b.not32(x))))
    define(SALU, "s_not_b64", "u64 scc = u64", lambda b, x: (b.not64(x), nonzero64(b, b.not64(x))))


def _shifts() -> None:
    sh32, sh64 = _with_scc32, _with_scc64
    define(SALU, "s_lshl_b32", "u32 scc = u32 u32", sh32(lambda b, x, n: b.shl32(x, low5(b, n))))
    define(SALU, "s_lshr_b32", "u32 scc = u32 u32", sh32(lambda b, x, n: b.lshr32(x, low5(b, n))))
    define(SALU, "s_ashr_i32", "u32 scc = u32 u32", sh32(lambda b, x, n: b.ashr32(x, low5(b, n))))
    define(SALU, "s_lshl_b64", "u64 scc = u64 u32", sh64(lambda b, x, n: b.shl64(x, low6(b, n))))
    define(SALU, "s_lshr_b64", "u64 scc = u64 u32", sh64(lambda b, x, n: b.lshr64(x, low6(b, n))))
    define(SALU, "s_ashr_i64", "u64 scc = i64 u32", sh64(lambda b, x, n: b.ashr64(x, low6(b, n))))


def _compares() -> None:
    unsigned: dict[str, Binary] = {
        "eq": lambda b, x, y: b.eq(x, y),
        "lg": lambda b, x, y: b.ne(x, y),
        "gt": lambda b, x, y: b.ult(y, x),
        "ge": lambda b, x, y: b.ule(y, x),
        "lt": lambda b, x, y: b.ult(x, y),
        "le": lambda b, x, y: b.ule(x, y),
    }
    signed: dict[str, Binary] = unsigned | {
        "gt": lambda b, x, y: b.slt32(y, x),
        "ge": lambda b, x, y: b.sle32(y, x),
        "lt": lambda b, x, y: b.slt32(x, y),
        "le": lambda b, x, y: b.sle32(x, y),
    }
    for name, fn in signed.items():
        define(SALU, f"s_cmp_{name}_i32", "scc = u32 u32", fn)
        define(SALU, f"s_cmpk_{name}_i32", "scc = u32 k16", fn)
    for name, fn in unsigned.items():
        define(SALU, f"s_cmp_{name}_u32", "scc = u32 u32", fn)
        define(SALU, f"s_cmpk_{name}_u32", "scc = u32 k16u", fn)
    define(SALU, "s_cmp_eq_u64", "scc = u64 u64", unsigned["eq"])
    define(SALU, "s_cmp_lg_u64", "scc = u64 u64", unsigned["lg"])


for _section in (_moves, _arithmetic, _logic, _shifts, _compares):
    _section()

"""Callable integer and bit instructions: meanings on numpy arrays, entered into `calls.CALLS`.

    v_perm_b32(x, y, selector)      each byte of the result is a byte of x:y, a sign, zero or ones

Arrays arrive as the signature says (u32 as uint32, i32 as int32) and numpy's wrap-around is the hardware's. Shifts
use the low five bits of the count, six for 64-bit data, four for 16-bit.
"""

from __future__ import annotations

import numpy as np

from argus.gfx942.calls import Array, Meaning, define

U64, I64, U32, I32, U16, I16 = np.uint64, np.int64, np.uint32, np.int32, np.uint16, np.int16


def _u32(x: Array) -> Array:
    return (x & U64(0xFFFFFFFF)).astype(U32)


def _wide(x: Array) -> Array:
    return x.astype(U64)


def _five(n: Array) -> Array:
    return n & U32(31)


def _byte(x: Array, i: int) -> Array:
    return x >> U32(8 * i) & U32(0xFF)


def popcount(x: Array) -> Array:
    return np.bitwise_count(x).astype(U32)


def _signed24(x: Array) -> Array:
    return ((x << U32(8)).view(I32) >> I32(8)).astype(I64)


def _unsigned24(x: Array) -> Array:
    return _wide(x & U32(0xFFFFFF))


def _low(x: Array) -> Array:
    return (x.view(U64) & U64(0xFFFFFFFF)).astype(U32)


def _high(x: Array) -> Array:
    return (x.view(U64) >> U64(32)).astype(U32)


def _add_carry(x: Array, y: Array, carry: Array | int = 0) -> tuple[Array, Array]:
    total = _wide(x) + _wide(y) + np.asarray(carry).astype(U64)
    return _u32(total), total > U64(0xFFFFFFFF)


def _sub_borrow(x: Array, y: Array, borrow: Array | int = 0) -> tuple[Array, Array]:
    need = _wide(y) + np.asarray(borrow).astype(U64)
    return _u32(_wide(x) - need), _wide(x) < need


def _mad_u64(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    result = _wide(x) * _wide(y) + z
    return result, result < z


def _mad_i64(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    """The carry is that of the unsigned addition, inverted for each negative term (as bit 64 of the exact sum)."""
    product = x.astype(I64) * y.astype(I64)
    result = (product.view(U64) + z.view(U64)).view(I64)
    carry = result.view(U64) < z.view(U64)
    return result, carry ^ (product < 0) ^ (z < 0)


_ADD_CARRY = "x = zext i32 {0} to i64; y = zext i32 {1} to i64; w = add i64 {x}, {y}; "
_SUB_BORROW = "x = zext i32 {%d} to i64; y = zext i32 {%d} to i64; "
_SPLIT = "h = lshr i64 {w}, 32; b = and i64 {h}, 1; trunc i64 {w} to i32; trunc i64 {b} to i1"
_WIDE_PRODUCT = "x = {ext} i32 {0} to i64; y = {ext} i32 {1} to i64; p = mul i64 {x}, {y}; "


def _wide_product(ext: str) -> str:
    return _WIDE_PRODUCT.replace("{ext}", ext)


def _carries() -> None:
    carry_in = "c = zext i1 {2} to i64; v = add i64 {w}, {c}; " + _SPLIT.replace("{w}", "{v}")
    borrow_in = "c = zext i1 {2} to i64; n = add i64 {y}, {c}; w = sub i64 {x}, {n}; " + _SPLIT
    borrow = "w = sub i64 {x}, {y}; " + _SPLIT
    define("v_add_co_u32", "u32 bool = u32 u32", _add_carry, _ADD_CARRY + _SPLIT)
    define("v_sub_co_u32", "u32 bool = u32 u32", _sub_borrow, _SUB_BORROW % (0, 1) + borrow)
    define("v_subrev_co_u32", "u32 bool = u32 u32", lambda x, y: _sub_borrow(y, x), _SUB_BORROW % (1, 0) + borrow)
    define("v_addc_co_u32", "u32 bool = u32 u32 bool", _add_carry, _ADD_CARRY + carry_in)
    define("v_subb_co_u32", "u32 bool = u32 u32 bool", _sub_borrow, _SUB_BORROW % (0, 1) + borrow_in)
    define(
        "v_subbrev_co_u32",
        "u32 bool = u32 u32 bool",
        lambda x, y, c: _sub_borrow(y, x, c),
        _SUB_BORROW % (1, 0) + borrow_in,
    )
    define(
        "v_mad_u64_u32",
        "u64 bool = u32 u32 u64",
        _mad_u64,
        _wide_product("zext") + "r = add i64 {p}, {2}; freeze i64 {r}; icmp ult i64 {r}, {2}",
    )
    define(
        "v_mad_i64_i32",
        "i64 bool = i32 i32 i64",
        _mad_i64,
        _wide_product("sext") + "r = add i64 {p}, {2}; c = icmp ult i64 {r}, {2}; e = xor i64 {p}, {2}; "
        "n = icmp slt i64 {e}, 0; freeze i64 {r}; xor i1 {c}, {n}",
    )


def _arithmetic() -> None:
    two, three = "u32 = u32 u32", "u32 = u32 u32 u32"
    define("v_mov_b32", "b32 = b32", lambda x: x, "freeze i32 {0}", "mov")
    select = "select i1 {2}, i32 {1}, i32 {0}"
    define("v_cndmask_b32", "b32 = b32 b32 bool", lambda x, y, mask: np.where(mask, y, x), select, "select")
    define("v_add_u32 v_add_i32", two, np.add, "add i32 {0}, {1}", "add")
    define("v_sub_u32 v_sub_i32", two, np.subtract, "sub i32 {0}, {1}", "sub")
    define("v_subrev_u32", two, lambda x, y: y - x, "sub i32 {1}, {0}")
    define("v_add3_u32", three, lambda x, y, z: x + y + z, "a = add i32 {0}, {1}; add i32 {a}, {2}", "add")
    define("v_lshl_add_u32", three, lambda x, n, y: (x << _five(n)) + y, _SHL_01 + "add i32 {s}, {2}")
    define(
        "v_add_lshl_u32",
        three,
        lambda x, y, n: (x + y) << _five(n),
        "a = add i32 {0}, {1}; n = and i32 {2}, 31; shl i32 {a}, {n}",
    )
    define("v_xad_u32", three, lambda x, y, z: (x ^ y) + z, "a = xor i32 {0}, {1}; add i32 {a}, {2}")
    define(
        "v_lshl_add_u64",
        "u64 = u64 u32 u64",
        lambda x, n, y: (x << _wide(n & U32(7))) + y,
        "m = and i32 {1}, 7; n = zext i32 {m} to i64; s = shl i64 {0}, {n}; add i64 {s}, {2}",
    )


def _products() -> None:
    two, three = "u32 = u32 u32", "u32 = u32 u32 u32"
    upper = "h = lshr i64 {p}, 32; trunc i64 {h} to i32"
    define("v_mul_lo_u32", two, np.multiply, "mul i32 {0}, {1}", "mul")
    define("v_mul_hi_u32", two, lambda x, y: _high(_wide(x) * _wide(y)), _wide_product("zext") + upper)
    define(
        "v_mul_hi_i32",
        "u32 = i32 i32",
        lambda x, y: _high(x.astype(I64) * y.astype(I64)),
        _wide_product("sext") + upper,
    )
    for kind, cut in (("i", _signed24), ("u", _unsigned24)):
        low, high = f"llvm.amdgcn.mul.{kind}24.i32", f"llvm.amdgcn.mulhi.{kind}24"
        define(f"v_mul_{kind}32_{kind}24", two, lambda x, y, f=cut: _low(f(x) * f(y)), low)
        define(f"v_mul_hi_{kind}32_{kind}24", two, lambda x, y, f=cut: _high(f(x) * f(y)), high)
        define(
            f"v_mad_{kind}32_{kind}24",
            three,
            lambda x, y, z, f=cut: _low(f(x) * f(y)) + z,
            f"p = call i32 @{low}(i32 {{0}}, i32 {{1}}); add i32 {{p}}, {{2}}",
        )


_SHL_01 = "n = and i32 {1}, 31; s = shl i32 {0}, {n}; "


def _middle(x: Array, y: Array, z: Array) -> Array:
    return np.maximum(np.minimum(x, y), np.minimum(np.maximum(x, y), z))


def _extremes() -> None:
    for kind in ("u32", "i32", "u16", "i16"):
        two, three = f"{kind} = {kind} {kind}", f"{kind} = {kind} {kind} {kind}"
        low, high = (f"llvm.{kind[0].replace('i', 's')}{name}.i{kind[1:]}" for name in ("min", "max"))
        middle = (
            f"a = call {{t}} @{low}({{t}} {{0}}, {{t}} {{1}}); b = call {{t}} @{high}({{t}} {{0}}, {{t}} {{1}}); "
            f"c = call {{t}} @{low}({{t}} {{b}}, {{t}} {{2}}); call {{t}} @{high}({{t}} {{a}}, {{t}} {{c}})"
        )
        define(f"v_min_{kind}", two, np.minimum, low)
        define(f"v_max_{kind}", two, np.maximum, high)
        define(f"v_min3_{kind}", three, lambda x, y, z: np.minimum(np.minimum(x, y), z), three_of(low))
        define(f"v_max3_{kind}", three, lambda x, y, z: np.maximum(np.maximum(x, y), z), three_of(high))
        define(f"v_med3_{kind}", three, _middle, middle)


def three_of(name: str) -> str:
    """An associative intrinsic of two arguments, of three."""
    return f"a = call {{t}} @{name}({{t}} {{0}}, {{t}} {{1}}); call {{t}} @{name}({{t}} {{a}}, {{t}} {{2}})"


def _align(bits: int) -> Meaning:
    def run(x: Array, y: Array, n: Array) -> Array:
        amount = (n & U32(32 // bits - 1)) * U32(bits)
        return _low((_wide(x) << U64(32) | _wide(y)) >> _wide(amount))

    return run


def _bfe(x: Array, offset: Array, width: Array) -> Array:
    ones = (U64(1) << _wide(_five(width))) - U64(1)
    return _u32(_wide(x) >> _wide(_five(offset)) & ones)


def _bfe_signed(x: Array, offset: Array, width: Array) -> Array:
    width = _five(width)
    shifted = x.astype(I64) >> _five(offset).astype(I64)
    up = (64 - width.astype(I64)) % 64
    return np.where(width == 0, I64(0), shifted << up >> up).astype(I32)


def _perm(x: Array, y: Array, selector: Array) -> Array:
    joined = _wide(x) << U64(32) | _wide(y)
    result = np.zeros_like(x)
    for i in range(4):
        s = _byte(selector, i)
        plain = joined >> _wide((s & U32(7)) * U32(8)) & U64(0xFF)
        sign = (joined >> _wide((s & U32(3)) * U32(16) + U32(15)) & U64(1)) * U64(0xFF)
        byte = np.where(s < 8, plain, np.where(s < 12, sign, np.where(s == 12, U64(0), U64(0xFF))))
        result |= byte.astype(U32) << U32(8 * i)
    return result


def _reverse(x: Array) -> Array:
    result = np.zeros_like(x)
    for bit in range(32):
        result |= (x >> U32(bit) & U32(1)) << U32(31 - bit)
    return result


def _first_high(x: Array) -> Array:
    """Zeros above the highest one bit; -1 of zero."""
    spread = x.copy()
    for step in (1, 2, 4, 8, 16):
        spread |= spread >> U32(step)
    return np.where(x == 0, U32(0xFFFFFFFF), U32(32) - popcount(spread))


def _first_low(x: Array) -> Array:
    return np.where(x == 0, U32(0xFFFFFFFF), popcount((x & (~x + U32(1))) - U32(1)))


def _below(lane: Array, first: int) -> Array:
    """Of the 32 lanes from `first`, a bit for those below this lane."""
    count = np.clip(lane.astype(I64) - first, 0, 32).astype(U64)
    return _u32((U64(1) << count) - U64(1))


def _logic() -> None:
    two, three = "u32 = u32 u32", "u32 = u32 u32 u32"
    define("v_and_b32", two, np.bitwise_and, "and i32 {0}, {1}", "bits")
    define("v_or_b32", two, np.bitwise_or, "or i32 {0}, {1}", "bits")
    define("v_xor_b32", two, np.bitwise_xor, "xor i32 {0}, {1}", "bits")
    define("v_xnor_b32", two, lambda x, y: ~(x ^ y), "a = xor i32 {0}, {1}; xor i32 {a}, -1", "bits")
    define("v_not_b32", "u32 = u32", np.invert, "xor i32 {0}, -1", "bits")
    define("v_and_or_b32", three, lambda x, y, z: x & y | z, "a = and i32 {0}, {1}; or i32 {a}, {2}", "bits")
    define("v_or3_b32", three, lambda x, y, z: x | y | z, "a = or i32 {0}, {1}; or i32 {a}, {2}", "bits")
    define("v_lshl_or_b32", three, lambda x, n, y: x << _five(n) | y, _SHL_01 + "or i32 {s}, {2}", "bits")
    insert = "a = and i32 {0}, {1}; m = xor i32 {0}, -1; b = and i32 {m}, {2}; or i32 {a}, {b}"
    define("v_bfi_b32", three, lambda m, x, y: m & x | ~m & y, insert, "bits")
    define("v_bfrev_b32", "u32 = u32", _reverse, "llvm.bitreverse.i32", "bits")
    define("v_perm_b32", three, _perm, "llvm.amdgcn.perm", "bits")


def _shifts() -> None:
    two, three = "u32 = u32 u32", "u32 = u32 u32 u32"
    count, wide = "n = and i32 {0}, 31; ", "m = and i32 {0}, 63; n = zext i32 {m} to i64; "
    define("v_lshlrev_b32", two, lambda n, x: x << _five(n), count + "shl i32 {1}, {n}", "bits")
    define("v_lshrrev_b32", two, lambda n, x: x >> _five(n), count + "lshr i32 {1}, {n}", "bits")
    define(
        "v_ashrrev_i32", "i32 = u32 i32", lambda n, x: x >> _five(n).astype(I32), count + "ashr i32 {1}, {n}", "bits"
    )
    define("v_lshlrev_b64", "u64 = u32 u64", lambda n, x: x << _wide(n & U32(63)), wide + "shl i64 {1}, {n}", "bits")
    define("v_lshrrev_b64", "u64 = u32 u64", lambda n, x: x >> _wide(n & U32(63)), wide + "lshr i64 {1}, {n}", "bits")
    define(
        "v_ashrrev_i64",
        "i64 = u32 i64",
        lambda n, x: x >> (n & U32(63)).astype(I64),
        wide + "ashr i64 {1}, {n}",
        "bits",
    )
    define("v_alignbit_b32", three, _align(1), "llvm.fshr.i32", "bits")
    define("v_alignbyte_b32", three, lambda x, y, n: _align(8)(x, y, n & U32(3)), "llvm.amdgcn.alignbyte", "bits")
    define("v_bfe_u32", three, _bfe, "llvm.amdgcn.ubfe.i32", "bits")
    define("v_bfe_i32", "i32 = i32 u32 u32", _bfe_signed, "llvm.amdgcn.sbfe.i32", "bits")
    mask = "w = and i32 {0}, 31; o = and i32 {1}, 31; b = shl i32 1, {w}; m = sub i32 {b}, 1; shl i32 {m}, {o}"
    define("v_bfm_b32", two, lambda n, at: ((U32(1) << _five(n)) - U32(1)) << _five(at), mask, "bits")


def _counts() -> None:
    def first(name: str) -> str:
        count = f"n = call i32 @llvm.{name}.i32(i32 {{0}}, i1 true); "
        return count + "z = icmp eq i32 {0}, 0; select i1 {z}, i32 -1, i32 {n}"

    ones = "n = call i32 @llvm.ctpop.i32(i32 {0}); add i32 {n}, {1}"
    define("v_bcnt_u32_b32", "u32 = u32 u32", lambda x, y: popcount(x) + y, ones)
    define("v_ffbh_u32", "u32 = u32", _first_high, first("ctlz"))
    signs = "llvm.amdgcn.sffbh.i32"
    define("v_ffbh_i32", "u32 = u32", lambda x: _first_high(np.where(x >> U32(31) == 1, ~x, x)), signs)
    define("v_ffbl_b32", "u32 = u32", _first_low, first("cttz"))
    for name, start in (("lo", 0), ("hi", 32)):
        define(
            f"v_mbcnt_{name}_u32_b32",
            "u32 = u32 u32 lane",
            lambda x, y, lane, n=start: popcount(x & _below(lane, n)) + y,
            f"llvm.amdgcn.mbcnt.{name}",
        )


def enter() -> None:
    """Enter this section."""
    for section in (_carries, _arithmetic, _products, _extremes, _logic, _shifts, _counts):
        section()

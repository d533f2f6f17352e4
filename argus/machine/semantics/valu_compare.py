"""Vector comparisons: v_cmp_* writes a lane mask, v_cmpx_* writes it and exec.

v_cmp_nlt_f32 vcc, v0, v1     "mask = f32 f32"     not (v0 < v1): true when either is NaN
"""

from __future__ import annotations

from collections.abc import Callable

from argus.machine.semantics.builder import Builder, Mask, Word
from argus.machine.semantics.table import define
from argus.machine.semantics.valu_int import VALU

Compare = Callable[[Builder, Word, Word], Mask]


def _compare(name: str, types: str, fn: Compare) -> None:
    def with_exec(b: Builder, x: Word, y: Word) -> tuple[Mask, Mask]:
        m = fn(b, x, y)
        return m, m

    define(VALU, f"v_cmp_{name}", f"mask = {types}", fn)
    define(VALU, f"v_cmpx_{name}", f"mask exec = {types}", with_exec)


def _integer(kind: str, word: str, lt: str, le: str) -> None:
    table: dict[str, Compare] = {
        "f": lambda b, x, y: b.const_mask(False),
        "lt": lambda b, x, y: getattr(b, lt)(x, y),
        "eq": lambda b, x, y: b.eq(x, y),
        "le": lambda b, x, y: getattr(b, le)(x, y),
        "gt": lambda b, x, y: getattr(b, lt)(y, x),
        "ne": lambda b, x, y: b.ne(x, y),
        "ge": lambda b, x, y: getattr(b, le)(y, x),
        "t": lambda b, x, y: b.const_mask(True),
    }
    for name, fn in table.items():
        _compare(f"{name}_{kind}", f"{word} {word}", fn)


def _ordered(op: str, swap: bool = False) -> Compare:
    if swap:
        return lambda b, x, y: getattr(b, op)(y, x)
    return lambda b, x, y: getattr(b, op)(x, y)


def _negated(fn: Compare) -> Compare:
    return lambda b, x, y: b.mask_not(fn(b, x, y))


def _float_table(width: int) -> dict[str, Compare]:
    less, greater = _ordered(f"flt{width}"), _ordered(f"flt{width}", swap=True)
    less_equal, greater_equal = _ordered(f"fle{width}"), _ordered(f"fle{width}", swap=True)
    equal, unordered = _ordered(f"feq{width}"), _ordered(f"funo{width}")

    def less_or_greater(b: Builder, x: Word, y: Word) -> Mask:
        return b.mask_or(less(b, x, y), greater(b, x, y))

    return {
        "f": lambda b, x, y: b.const_mask(False),
        "lt": less,
        "eq": equal,
        "le": less_equal,
        "gt": greater,
        "lg": less_or_greater,
        "ge": greater_equal,
        "o": _negated(unordered),
        "u": unordered,
        "nge": _negated(greater_equal),
        "nlg": _negated(less_or_greater),
        "ngt": _negated(greater),
        "nle": _negated(less_equal),
        "neq": _negated(equal),
        "nlt": _negated(less),
        "tru": lambda b, x, y: b.const_mask(True),
    }


def _widened(fn: Compare) -> Compare:
    return lambda b, x, y: fn(b, b.f16_to_f32(x), b.f16_to_f32(y))


def _class_bits(b: Builder, x: Word, mantissa: int, exponent: int) -> Word:
    """One bit for the class of a float of the given field widths: signalling NaN 0, quiet NaN 1, -inf 2, -normal 3,
    -denormal 4, -0 5, +0 6, +denormal 7, +normal 8, +inf 9. Works on a w32 or w64 `x`."""
    wide = mantissa + exponent + 1 == 64
    const = b.const64 if wide else b.const32
    top = (1 << exponent) - 1 << mantissa
    magnitude = b.and_(x, const((1 << mantissa + exponent) - 1))
    negative = b.ne(magnitude, x)
    zero, inf = b.eq(magnitude, const(0)), b.eq(magnitude, const(top))
    nan, quiet = b.ult(const(top), magnitude), b.ule(const(top | 1 << mantissa - 1), magnitude)
    denormal = b.ult(magnitude, const(1 << mantissa))

    def one(n: int) -> Word:
        return b.const32(1 << n)

    positive_class = b.select(zero, one(6), b.select(denormal, one(7), b.select(inf, one(9), one(8))))
    negative_class = b.select(zero, one(5), b.select(denormal, one(4), b.select(inf, one(2), one(3))))
    signed = b.select(negative, negative_class, positive_class)
    return b.select(nan, b.select(quiet, one(1), one(0)), signed)


def _classify(mantissa: int, exponent: int) -> Compare:
    def run(b: Builder, x: Word, wanted: Word) -> Mask:
        return b.ne(b.and_(_class_bits(b, x, mantissa, exponent), wanted), b.const32(0))

    return run


_integer("u32", "u32", "ult", "ule")
_integer("i32", "u32", "slt32", "sle32")
_integer("u64", "u64", "ult", "ule")
_integer("i64", "i64", "slt64", "sle64")
_integer("u16", "u16", "ult", "ule")
_integer("i16", "i16", "slt32", "sle32")
for _name, _fn in _float_table(32).items():
    _compare(f"{_name}_f32", "f32 f32", _fn)
    _compare(f"{_name}_f16", "f16 f16", _widened(_fn))
for _name, _fn in _float_table(64).items():
    _compare(f"{_name}_f64", "f64 f64", _fn)
_compare("class_f32", "f32 u32", _classify(23, 8))
_compare("class_f64", "f64 u32", _classify(52, 11))
_compare("class_f16", "f16 u32", _classify(10, 5))

"""The functions that one instruction, or a fixed sequence of LLVM's, computes: arithmetic, comparisons, bits.

`HARDWARE` ones have the precision of the chip's transcendental unit, which takes and gives subnormal f32 numbers as
zeros. The interpreter rounds them correctly, so their last bit may differ from the machine's; all others are the same
bits everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.ir.maps.row import EVERYTHING, FLOATS, INTEGERS, NUMBERS, MapFn, Reals, T

TRANSCENDENTAL_SLOTS = 4
DIVISION_SLOTS = 13
"""Two scalings, a reciprocal, five fused multiply-adds, and the last two steps."""
HARDWARE_ULPS = 1.0
MOST_EXPONENT = 300.0
LEAST_NORMAL = 2.0**-126


def flushed(x: Any) -> Any:
    """Subnormal numbers of f32 are zeros to the transcendental unit; f64 it keeps."""
    x = np.asarray(x)
    return np.where(np.abs(x) < LEAST_NORMAL, np.copysign(0, x), x).astype(x.dtype) if x.dtype == np.float32 else x


def exact_fma(x: Any, y: Any, z: Any) -> Any:
    """x*y + z of f32 or f16 numbers, rounded once: the sum is made in f64, rounded to odd, which keeps what the final
    rounding has to know. On f64 the product is rounded too."""
    kind = np.result_type(x, y, z)
    product = np.asarray(x, dtype=np.float64) * np.asarray(y, dtype=np.float64)
    z64 = np.asarray(z, dtype=np.float64)
    total = np.asarray(product + z64)
    if kind == np.float64:
        return total
    part = total - product
    left = (product - (total - part)) + (z64 - part)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (left != 0) & (bits & 1 == 0)
    away = (left > 0) == (total > 0)
    return (bits + np.where(inexact, np.where(away, 1, -1), 0)).view(np.float64).astype(kind)


def _mantissa(x: Any) -> Any:
    return np.where(np.isfinite(x), np.frexp(x)[0], x).astype(np.asarray(x).dtype)


def _exponent(x: Any) -> Any:
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.asarray(x).dtype)


def _scaled(x: Any, n: Any) -> Any:
    """x * 2**n for whole n, rounded once. Beyond MOST_EXPONENT every number of f32 overflows or vanishes."""
    whole = np.trunc(np.fmin(np.fmax(n, -MOST_EXPONENT), MOST_EXPONENT)).astype(np.int32)
    kind = np.asarray(x).dtype
    return np.ldexp(np.asarray(x, dtype=np.float64), whole).astype(kind)


def _shifted(shift: Any) -> Any:
    """A shift of whole numbers as the chip makes it (rule `shift-amount`): in 32 bits, or in 64 if they have as many,
    by the amount modulo that."""

    def shifted(x: Any, amount: Any) -> Any:
        x, amount = np.asarray(x), np.asarray(amount)
        size = max(x.dtype.itemsize, 4)
        wide = np.dtype(f"{x.dtype.kind}{size}")
        return shift(x.astype(wide), amount.astype(wide) & wide.type(8 * size - 1))

    return shifted


def _product(a: Reals[T], x: T, y: T) -> T:
    return a.multiply(x, y)


ARITHMETIC = (
    MapFn(
        "add",
        2,
        NUMBERS,
        "same",
        "x + y",
        np.add,
        {"float": "inst fadd", "int": "inst add", "uint": "inst add"},
        real=lambda a, x, y: a.add(x, y),
        reduces="sum",
    ),
    MapFn(
        "sub",
        2,
        NUMBERS,
        "same",
        "x - y",
        np.subtract,
        {"float": "inst fsub", "int": "inst sub", "uint": "inst sub"},
        real=lambda a, x, y: a.add(x, a.negative(y)),
    ),
    MapFn(
        "mul",
        2,
        NUMBERS,
        "same",
        "x * y",
        np.multiply,
        {"float": "inst fmul", "int": "inst mul", "uint": "inst mul"},
        real=_product,
    ),
    MapFn(
        "fma",
        3,
        FLOATS,
        "same",
        "x * y + z, rounded once",
        exact_fma,
        {"float": "call fma"},
        real=lambda a, x, y, z: a.add(a.multiply(x, y), z),
        exposed=True,
    ),
    MapFn(
        "neg",
        1,
        NUMBERS,
        "same",
        "-x",
        np.negative,
        {"float": "inst fneg", "int": "minus", "uint": "minus"},
        real=lambda a, x: a.negative(x),
        keeps_zero=True,
        ulps=0.0,
    ),
    MapFn(
        "abs",
        1,
        NUMBERS,
        "same",
        "abs(x)",
        np.abs,
        {"float": "call fabs", "int": "call abs i1 false", "uint": "operand"},
        spec="abs",
        keeps_zero=True,
        exposed=True,
        ulps=0.0,
    ),
    MapFn(
        "max",
        2,
        NUMBERS,
        "same",
        "maximum(x, y), the number if one operand is NaN",
        np.fmax,
        {"float": "call maxnum", "int": "call smax", "uint": "call umax"},
        real=lambda a, x, y: a.extreme("max", (x, y)),
        spec="maximum",
        reduces="max",
        exposed=True,
        ulps=0.0,
    ),
    MapFn(
        "min",
        2,
        NUMBERS,
        "same",
        "minimum(x, y), the number if one operand is NaN",
        np.fmin,
        {"float": "call minnum", "int": "call smin", "uint": "call umin"},
        real=lambda a, x, y: a.extreme("min", (x, y)),
        spec="minimum",
        reduces="min",
        exposed=True,
        ulps=0.0,
    ),
    MapFn(
        "div",
        2,
        FLOATS,
        "same",
        "x / y, correctly rounded",
        np.divide,
        {"float": "inst fdiv"},
        real=lambda a, x, y: a.multiply(x, a.power(y, -2)),
        slots=DIVISION_SLOTS,
        domain="y != 0",
    ),
    MapFn(
        "floor",
        1,
        FLOATS,
        "same",
        "floor(x)",
        np.floor,
        {"float": "call floor"},
        keeps_zero=True,
        exposed=True,
        ulps=0.0,
    ),
)

HARDWARE = (
    MapFn(
        "exp2",
        1,
        FLOATS,
        "same",
        "2 ** x, hardware precision",
        lambda x: flushed(np.exp2(x)),
        {"float": "each amdgcn.exp2", "f64": ""},
        real=lambda a, x: a.exp2(x),
        slots=TRANSCENDENTAL_SLOTS,
        spec="exp2",
        ulps=HARDWARE_ULPS,
        exposed=True,
    ),
    MapFn(
        "log2",
        1,
        FLOATS,
        "same",
        "log2(x), hardware precision",
        lambda x: np.log2(flushed(x)),
        {"float": "each amdgcn.log", "f64": ""},
        real=lambda a, x: a.log2(x),
        slots=TRANSCENDENTAL_SLOTS,
        spec="log2",
        domain="x > 0",
        ulps=HARDWARE_ULPS,
        exposed=True,
    ),
    MapFn(
        "rcp",
        1,
        FLOATS,
        "same",
        "1 / x, hardware precision",
        lambda x: flushed(1 / flushed(x)),
        {"float": "each amdgcn.rcp"},
        real=lambda a, x: a.power(x, -2),
        slots=TRANSCENDENTAL_SLOTS,
        domain="x != 0",
        ulps=HARDWARE_ULPS,
        exposed=True,
    ),
    MapFn(
        "rsqrt",
        1,
        FLOATS,
        "same",
        "1 / sqrt(x), hardware precision",
        lambda x: 1 / np.sqrt(flushed(x)),
        {"float": "each amdgcn.rsq"},
        real=lambda a, x: a.power(x, -1),
        slots=TRANSCENDENTAL_SLOTS,
        spec="rsqrt",
        domain="x > 0",
        ulps=HARDWARE_ULPS,
        exposed=True,
    ),
    MapFn(
        "sqrt",
        1,
        FLOATS,
        "same",
        "sqrt(x), hardware precision",
        lambda x: np.sqrt(flushed(x)),
        {"float": "each amdgcn.sqrt"},
        real=lambda a, x: a.power(x, 1),
        slots=TRANSCENDENTAL_SLOTS,
        spec="sqrt",
        domain="x >= 0",
        keeps_zero=True,
        ulps=HARDWARE_ULPS,
        exposed=True,
    ),
)

PARTS = (
    MapFn(
        "ldexp",
        2,
        FLOATS,
        "same",
        "x * 2 ** y for whole y, rounded once",
        _scaled,
        {"f32": "ldexp"},
        slots=3,
        keeps_zero=True,
    ),
    MapFn(
        "mantissa",
        1,
        FLOATS,
        "same",
        "x / 2 ** exponent(x), between 1/2 and 1",
        _mantissa,
        {"f32": "each amdgcn.frexp.mant"},
        keeps_zero=True,
        ulps=0.0,
    ),
    MapFn(
        "exponent",
        1,
        FLOATS,
        "same",
        "the exponent of x as a number: abs(x) < 2 ** exponent(x)",
        _exponent,
        {"f32": "exponent"},
        slots=2,
        keeps_zero=True,
        ulps=0.0,
    ),
    MapFn(
        "copysign",
        2,
        FLOATS,
        "same",
        "abs(x) with the sign of y",
        np.copysign,
        {"f32": "call copysign", "f64": "call copysign", "f16": "call copysign"},
        ulps=0.0,
    ),
)

BITS = (
    MapFn(
        "and",
        2,
        INTEGERS | {"bool"},
        "same",
        "x & y",
        np.bitwise_and,
        dict.fromkeys(("int", "uint", "bool"), "inst and"),
    ),
    MapFn(
        "or", 2, INTEGERS | {"bool"}, "same", "x | y", np.bitwise_or, dict.fromkeys(("int", "uint", "bool"), "inst or")
    ),
    MapFn(
        "xor",
        2,
        INTEGERS | {"bool"},
        "same",
        "x ^ y",
        np.bitwise_xor,
        dict.fromkeys(("int", "uint", "bool"), "inst xor"),
    ),
    MapFn("not", 1, frozenset({"bool"}), "same", "~x", np.logical_not, {"bool": "complement"}),
    MapFn(
        "shl",
        2,
        INTEGERS,
        "same",
        "x << y, y modulo 32, or 64 of 64 bits",
        _shifted(np.left_shift),
        {"int": "shl", "uint": "shl"},
    ),
    MapFn(
        "shr",
        2,
        INTEGERS,
        "same",
        "x >> y, arithmetic on int, logical on uint, y as for shl",
        _shifted(np.right_shift),
        {"int": "ashr", "uint": "lshr"},
    ),
)


def _comparison(name: str, sign: str, numpy: Any, ordered: str) -> MapFn:
    signed = name if name in ("eq", "ne") else f"s{name}"
    unsigned = name if name in ("eq", "ne") else f"u{name}"
    emission = {"float": f"inst fcmp {ordered}", "int": f"inst icmp {signed}", "uint": f"inst icmp {unsigned}"}
    return MapFn(name, 2, NUMBERS, "bool", f"x {sign} y", numpy, emission)


COMPARING = (
    _comparison("lt", "<", np.less, "olt"),
    _comparison("le", "<=", np.less_equal, "ole"),
    _comparison("gt", ">", np.greater, "ogt"),
    _comparison("ge", ">=", np.greater_equal, "oge"),
    _comparison("eq", "==", np.equal, "oeq"),
    _comparison("ne", "!=", np.not_equal, "une"),
    MapFn(
        "select",
        3,
        EVERYTHING,
        "last",
        "where(x, y, z); x is bool, y and z of one type",
        np.where,
        dict.fromkeys(("float", "int", "uint", "bool"), "select"),
    ),
)

PRIMITIVES: dict[str, MapFn] = {row.name: row for row in (*ARITHMETIC, *HARDWARE, *PARTS, *BITS, *COMPARING)}

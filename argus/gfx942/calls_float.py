"""Callable float instructions and comparisons: meanings on numpy arrays, entered into `calls.CALLS`.

    v_fma_f32(x, y, z)         one rounding of the exact x*y + z
    v_cmp_nlt_f32(x, y)        not (x < y), so true when either is NaN
    v_med3_f32(x, low, high)   the middle of three; with a NaN among them, the least of them

Minimum and maximum take the number where one operand is NaN, and order -0 below +0. The transcendental instructions
(`inexact`) are right to one unit in the last place on the chip; here they are rounded correctly. They read denormal
f32 as zero and flush denormal results. `v_sin_f32` and `v_cos_f32` count in revolutions, up to 256 of them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from argus.gfx942.calls import Array, Meaning, define
from argus.gfx942.calls_integer import three_of

F64, F32, F16 = np.float64, np.float32, np.float16
U64, U32, U16 = np.uint64, np.uint32, np.uint16
_FLOAT: dict[str, Any] = {"f64": F64, "f32": F32, "f16": F16}


def _round_to_odd(p: Array, z: Array) -> Array:
    """p + z in f64, where an inexact sum takes the neighbour with an odd last bit: a later rounding is then right."""
    total = p + z
    back = total - p
    error = (p - (total - back)) + (z - back)
    even = (total.view(U64) & U64(1)) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    inexact = (error != 0) & np.isfinite(total) & even
    return np.where(inexact, np.nextafter(total, toward), total)


def fma(x: Array, y: Array, z: Array, into: Any = F32) -> Array:
    """f32 or f16 multiply-add with one rounding: the product is exact in f64."""
    return _round_to_odd(x.astype(F64) * y.astype(F64), z.astype(F64)).astype(into)


def _fma64(x: Array, y: Array, z: Array) -> Array:
    result = np.where(np.isfinite(x) & np.isfinite(y) & np.isinf(z), z, x * y + z)
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    for at in np.argwhere(finite):
        i = tuple(at)
        exact = Fraction(float(x[i])) * Fraction(float(y[i])) + Fraction(float(z[i]))
        if exact:
            result[i] = _nearest(exact)
    return result


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


def least(x: Array, y: Array) -> Array:
    smaller = (x < y) | ((x == y) & np.signbit(x)) | np.isnan(y)
    return np.where(smaller & ~np.isnan(x), x, y)


def greatest(x: Array, y: Array) -> Array:
    larger = (x > y) | ((x == y) & ~np.signbit(x)) | np.isnan(y)
    return np.where(larger & ~np.isnan(x), x, y)


def _middle(x: Array, y: Array, z: Array) -> Array:
    some_nan = np.isnan(x) | np.isnan(y) | np.isnan(z)
    middle = greatest(least(x, y), least(greatest(x, y), z))
    return np.where(some_nan, least(least(x, y), z), middle)


def _fract(x: Array) -> Array:
    """x - floor(x), kept below one."""
    below_one = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    return least((x - np.floor(x)).astype(x.dtype), np.full_like(x, below_one))


def _mul_legacy(x: Array, y: Array) -> Array:
    return np.where((x == 0) | (y == 0), F32(0), x * y)


_MAD = "p = fmul {t} {0}, {1}; fadd {t} {p}, {2}"


def _arithmetic() -> None:
    for kind in ("f32", "f16"):
        one, two, three = (f"{kind} = " + " ".join([kind] * n) for n in (1, 2, 3))
        into = _FLOAT[kind]
        define(f"v_add_{kind}", two, np.add, "fadd {t} {0}, {1}", "add")
        define(f"v_sub_{kind}", two, np.subtract, "fsub {t} {0}, {1}", "sub")
        define(f"v_subrev_{kind}", two, lambda x, y: y - x, "fsub {t} {1}, {0}")
        define(f"v_mul_{kind}", two, np.multiply, "fmul {t} {0}, {1}", "mul")
        define(f"v_min_{kind}", two, least, "llvm.minnum.{s}", "min")
        define(f"v_max_{kind}", two, greatest, "llvm.maxnum.{s}", "max")
        define(f"v_min3_{kind}", three, lambda x, y, z: least(least(x, y), z), three_of("llvm.minnum.{s}"), "min")
        define(f"v_max3_{kind}", three, lambda x, y, z: greatest(greatest(x, y), z), three_of("llvm.maxnum.{s}"), "max")
        define(f"v_med3_{kind}", three, _middle, "llvm.amdgcn.fmed3.{s}")
        define(f"v_fma_{kind}", three, lambda x, y, z, t=into: fma(x, y, z, t), "llvm.fma.{s}", "fma")
        _rounding(kind, one)
    define("v_mul_legacy_f32", "f32 = f32 f32", _mul_legacy, "llvm.amdgcn.fmul.legacy")
    define("v_fmac_f32", "f32 = f32 f32 old:f32", fma, "llvm.fma.{s}", "fma")
    define("v_mad_f16 v_mad_legacy_f16", "f16 = f16 f16 f16", lambda x, y, z: x * y + z, _MAD, "fma")
    define("v_mac_f16", "f16 = f16 f16 old:f16", lambda x, y, z: x * y + z, _MAD, "fma")
    define("v_fma_legacy_f16", "f16 = f16 f16 f16", lambda x, y, z: fma(x, y, z, F16), "llvm.fma.{s}", "fma")
    define("v_add_f64", "f64 = f64 f64", np.add, "fadd {t} {0}, {1}", "add")
    define("v_mul_f64", "f64 = f64 f64", np.multiply, "fmul {t} {0}, {1}", "mul")
    define("v_min_f64", "f64 = f64 f64", least, "llvm.minnum.{s}", "min")
    define("v_max_f64", "f64 = f64 f64", greatest, "llvm.maxnum.{s}", "max")
    define("v_fma_f64", "f64 = f64 f64 f64", _fma64, "llvm.fma.{s}", "fma")
    define("v_fmac_f64", "f64 = f64 f64 old:f64", _fma64, "llvm.fma.{s}", "fma")
    _rounding("f64", "f64 = f64")


def _rounding(kind: str, one: str) -> None:
    define(f"v_floor_{kind}", one, np.floor, "llvm.floor.{s}", "floor")
    define(f"v_ceil_{kind}", one, np.ceil, "llvm.ceil.{s}")
    define(f"v_trunc_{kind}", one, np.trunc, "llvm.trunc.{s}")
    define(f"v_rndne_{kind}", one, np.rint, "llvm.rint.{s}")
    define(f"v_fract_{kind}", one, _fract, "llvm.amdgcn.fract.{s}")


def _packed() -> None:
    for kind in ("f32", "f16"):
        two, three = f"{kind}x2 = {kind}x2 {kind}x2", f"{kind}x2 = {kind}x2 {kind}x2 {kind}x2"
        into = _FLOAT[kind]
        define(f"v_pk_add_{kind}", two, np.add, "fadd {t} {0}, {1}", "add")
        define(f"v_pk_mul_{kind}", two, np.multiply, "fmul {t} {0}, {1}", "mul")
        define(f"v_pk_fma_{kind}", three, lambda x, y, z, t=into: fma(x, y, z, t), "llvm.fma.{s}", "fma")
    define("v_pk_min_f16", "f16x2 = f16x2 f16x2", least, "llvm.minnum.{s}", "min")
    define("v_pk_max_f16", "f16x2 = f16x2 f16x2", greatest, "llvm.maxnum.{s}", "max")
    accumulate = "f16x2 = f16x2 f16x2 old:f16x2"
    define("v_pk_fmac_f16", accumulate, lambda x, y, z: fma(x, y, z, F16), "llvm.fma.{s}", "fma")
    define("v_fma_mix_f32", "f32 = mix mix mix", fma, _MIX, "fma")
    rounded = _MIX.replace("; call", "; r = call") + "; fptrunc float {r} to half"
    define("v_fma_mixlo_f16", "f16 = mix mix mix", lambda x, y, z: fma(x, y, z).astype(F16), rounded, "fma")
    define("v_dot2_f32_f16", "f32 = u32 u32 f32", _dot2, _DOT2)
    define("v_dot2c_f32_f16", "f32 = u32 u32 old:f32", _dot2, _DOT2)


_MIX = "x = widen {0}; y = widen {1}; z = widen {2}; call float @llvm.fma.f32(float {x}, float {y}, float {z})"
_DOT2 = (
    "x = bitcast i32 {0} to <2 x half>; y = bitcast i32 {1} to <2 x half>; "
    "call float @llvm.amdgcn.fdot2(<2 x half> {x}, <2 x half> {y}, float {2}, i1 false)"
)


def _half(x: Array, i: int) -> Array:
    return (x >> U32(16 * i) & U32(0xFFFF)).astype(U16).view(F16)


def _dot2(x: Array, y: Array, z: Array) -> Array:
    """The low halves first; the order inside the hardware is not published."""
    for i in range(2):
        z = fma(_half(x, i), _half(y, i), z)
    return z


def _flushed(x: Array) -> Array:
    tiny = np.abs(x) < np.finfo(F32).smallest_normal
    return np.where(tiny, np.copysign(F32(0), x), x).astype(F32)


def _unit(fn: Callable[[Array], Array]) -> Meaning:
    """An f32 instruction of the transcendental unit: denormals are zeros on both sides."""
    return lambda x: _flushed(fn(_flushed(x).astype(F64)).astype(F32))


def _turn(fn: Callable[[Array], Array]) -> Meaning:
    def run(x: Array) -> Array:
        wide = np.where(np.isfinite(x), x, 0.0)
        inside = np.abs(wide) <= 256
        turns = np.where(inside, wide - np.rint(wide), 0.0)
        return np.where(np.isfinite(x), fn(turns), np.nan)

    return _unit(run)


def _sine(turns: Array) -> Array:
    """sin of revolutions in [-1/2, 1/2], exact at quarters."""
    folded = np.where(np.abs(turns) > 0.25, np.copysign(0.5, turns) - turns, turns)
    return np.sin(folded * (2 * np.pi))


def _cosine(turns: Array) -> Array:
    return _sine(0.25 - np.abs(turns))


def _transcendental() -> None:
    units: dict[str, Meaning] = {
        "exp": _unit(np.exp2),
        "log": _unit(np.log2),
        "rcp": _unit(lambda x: 1 / x),
        "rsq": _unit(lambda x: 1 / np.sqrt(x)),
        "sqrt": _unit(np.sqrt),
        "sin": _turn(_sine),
        "cos": _turn(_cosine),
    }
    transfers = {"exp": "exp2", "log": "log2", "rcp": "rcp", "rsq": "rsqrt", "sqrt": "sqrt"}
    for name, meaning in units.items():
        emit = f"llvm.amdgcn.{name.replace('exp', 'exp2')}.{{s}}"
        transfer = transfers.get(name, "other")
        define(f"v_{name}_f32", "f32 = f32", meaning, emit, transfer, inexact=True)
        define(f"v_{name}_f16", "f16 = f16", _through_f32(meaning), emit, transfer, inexact=True)
    define("v_exp_legacy_f32", "f32 = f32", units["exp"], "llvm.amdgcn.exp2.{s}", inexact=True)
    define("v_log_legacy_f32", "f32 = f32", units["log"], "llvm.amdgcn.log.{s}", inexact=True)
    define("v_rcp_iflag_f32", "f32 = f32", units["rcp"], "llvm.amdgcn.rcp.{s}", inexact=True)
    define("v_rcp_f64", "f64 = f64", lambda x: 1 / x, "llvm.amdgcn.rcp.{s}", inexact=True)
    define("v_rsq_f64", "f64 = f64", lambda x: 1 / np.sqrt(x), "llvm.amdgcn.rsq.{s}", inexact=True)
    define("v_sqrt_f64", "f64 = f64", np.sqrt, "llvm.amdgcn.sqrt.{s}", inexact=True)


def _through_f32(fn: Meaning) -> Meaning:
    return lambda x: fn(x.astype(F32)).astype(F16)


def _ldexp(into: Any) -> Meaning:
    """One rounding: f32 and f16 are scaled in f64 first."""

    def run(x: Array, n: Array) -> Array:
        return np.ldexp(x.astype(F64), np.clip(n.astype(np.int32), -4000, 4000)).astype(into)

    return run


def _mantissa(x: Array) -> Array:
    return np.where(np.isfinite(x), np.frexp(x)[0], x).astype(x.dtype)


def _exponent(into: Any) -> Meaning:
    return lambda x: np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(into)


def _scaling() -> None:
    define("v_ldexp_f32", "f32 = f32 i32", _ldexp(F32), "llvm.ldexp.f32.i32", "bits")
    define("v_ldexp_f64", "f64 = f64 i32", _ldexp(F64), "llvm.ldexp.f64.i32", "bits")
    define("v_ldexp_f16", "f16 = f16 i16", _ldexp(F16), "llvm.ldexp.f16.i16", "bits")
    for kind in ("f32", "f64", "f16"):
        define(f"v_frexp_mant_{kind}", f"{kind} = {kind}", _mantissa, "llvm.amdgcn.frexp.mant.{s}")
        whole = "i16" if kind == "f16" else "i32"
        exponent = _exponent(np.int16 if kind == "f16" else np.int32)
        define(f"v_frexp_exp_{whole}_{kind}", f"{whole} = {kind}", exponent, f"llvm.amdgcn.frexp.exp.{whole}.{kind}")


def _unordered(x: Array, y: Array) -> Array:
    return np.isnan(x) | np.isnan(y)


_ORDERED: dict[str, Meaning] = {
    "f": lambda x, y: np.zeros(x.shape, np.bool_),
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "lg": lambda x, y: (x < y) | (x > y),
    "ge": np.greater_equal,
    "o": lambda x, y: ~_unordered(x, y),
}
_NEGATED = {
    "u": "o", "nge": "ge", "nlg": "lg", "ngt": "gt", "nle": "le", "neq": "eq", "nlt": "lt", "tru": "f",
}  # fmt: skip
_PREDICATE = {
    "f": "false", "lt": "olt", "eq": "oeq", "le": "ole", "gt": "ogt", "lg": "one", "ge": "oge", "o": "ord", "u": "uno",
    "nge": "ult", "nlg": "ueq", "ngt": "ule", "nle": "ugt", "neq": "une", "nlt": "uge", "tru": "true",
}  # fmt: skip


def _class_of(kind: str, mantissa: int) -> Meaning:
    bits: Any = {"f64": U64, "f32": U32, "f16": U16}[kind]

    def run(x: Array, wanted: Array) -> Array:
        quiet = (x.view(bits) >> bits(mantissa - 1) & bits(1)) == 1
        sign, size = np.signbit(x), np.abs(x)
        number = np.select(
            [np.isnan(x) & ~quiet, np.isnan(x), np.isinf(x), size == 0, size < np.finfo(x.dtype).smallest_normal],
            [0, 1, np.where(sign, 2, 9), np.where(sign, 5, 6), np.where(sign, 4, 7)],
            np.where(sign, 3, 8),
        )
        return np.asarray((wanted >> number.astype(U32) & U32(1)) == 1)

    return run


def _comparisons() -> None:
    for kind, mantissa, llvm in (("f32", 23, "float"), ("f16", 10, "half"), ("f64", 52, "double")):
        pair = f"bool = {kind} {kind}"
        for name, fn in _ORDERED.items():
            known = name if name in ("lt", "eq", "le", "gt", "ge") else "other"
            define(f"v_cmp_{name}_{kind}", pair, fn, f"fcmp {_PREDICATE[name]} {llvm} {{0}}, {{1}}", known)
        for name, positive in _NEGATED.items():
            opposite = _opposite(_ORDERED[positive])
            define(f"v_cmp_{name}_{kind}", pair, opposite, f"fcmp {_PREDICATE[name]} {llvm} {{0}}, {{1}}")
        define(f"v_cmp_class_{kind}", f"bool = {kind} u32", _class_of(kind, mantissa), f"llvm.amdgcn.class.{kind}")
    for kind in ("u32", "i32", "u64", "i64", "u16", "i16"):
        sign = kind[0].replace("i", "s")
        for name in ("lt", "le", "gt", "ge"):
            emit = f"icmp {sign}{name} i{kind[1:]} {{0}}, {{1}}"
            define(f"v_cmp_{name}_{kind}", f"bool = {kind} {kind}", _ORDERED[name], emit)
        define(f"v_cmp_eq_{kind}", f"bool = {kind} {kind}", np.equal, f"icmp eq i{kind[1:]} {{0}}, {{1}}")
        define(f"v_cmp_ne_{kind}", f"bool = {kind} {kind}", np.not_equal, f"icmp ne i{kind[1:]} {{0}}, {{1}}")
        define(f"v_cmp_f_{kind}", f"bool = {kind} {kind}", _ORDERED["f"], "freeze i1 false")
        define(f"v_cmp_t_{kind}", f"bool = {kind} {kind}", _opposite(_ORDERED["f"]), "freeze i1 true")


def _opposite(fn: Meaning) -> Meaning:
    return lambda x, y: ~fn(x, y)


def enter() -> None:
    """Enter this section."""
    for section in (_arithmetic, _packed, _transcendental, _scaling, _comparisons):
        section()

"""Arithmetic of the concrete interpreter: element types, elementwise functions, conversions, matrix products.

Every value is a numpy array `[64 lanes, count]`. Floats narrower than 32 bits compute in float32 and round once, as the
hardware's packed forms do; `MFMA` gathers its operands through the lane maps of `argus.gfx942.mfma`, multiplies in the
accumulator's type and spreads the result back:

    A[block, i, k] = a[lane, e]   with (i, k, block) = a_index(lane, e)
    D[block, i, j] = C + sum_k A * B

Conversions round once, between any two types: `argus.ir.conversions`.

Not modelled: the order of additions inside one MFMA (numpy's is used), the last bits of exp2, log2, rcp, rsqrt and sqrt
(correctly rounded here), and an fma of f64, which is rounded twice.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.gfx942.mfma import MfmaShape
from argus.gfx942.mfma import mfma as mfma_named
from argus.ir.conversions import cut_at
from argus.ir.float_formats import FORMATS
from argus.ir.maps import MAPS
from argus.ir.types import DType

Array = NDArray[Any]

NUMPY: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8": ml_dtypes.float8_e4m3fnuz,
    "bf8": ml_dtypes.float8_e5m2fnuz,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "bool": np.bool_,
}


def numpy_dtype(dtype: DType) -> Any:
    return np.dtype(NUMPY[dtype.name])


def elementwise(fn: str, args: tuple[Array, ...], out: DType) -> Array:
    """`fn` of `argus.ir.maps` on arrays, rounded to `out`. A fused multiply-add of f16 is one of f16, not of f32."""
    with np.errstate(all="ignore"):
        if fn == "select":
            return np.where(args[0], args[1], args[2])
        wide = args if fn == "fma" and out.name == "f16" else tuple(_widen(x) for x in args)
        return np.asarray(MAPS[fn].numpy(*wide)).astype(NUMPY[out.name])


def _widen(x: Array) -> Array:
    narrow = x.dtype.itemsize < 4 and x.dtype.kind not in "iub"
    return x.astype(np.float32) if narrow else x


def convert(x: Array, source: DType, target: DType, rounding: str, saturate: bool) -> Array:
    """`argus.ir.ops.Convert` on arrays. Floats become integers of 32 bits (64 for i64) as the chip makes them: rounded,
    cut off at the ends of the range, NaN is 0; narrower integers take their low bits, or with `saturate` the ends."""
    into = NUMPY[target.name]
    with np.errstate(all="ignore"):
        if target.kind == "bool":
            return np.asarray(x.astype(np.float64) != 0)
        if target.kind == "float":
            return _to_float(x, source, target, rounding, saturate)
        if source.kind == "float":
            rounded = (np.rint if rounding == "rne" else np.trunc)(x.astype(np.float64))
            whole = np.where(np.isnan(rounded), 0.0, rounded)
            signed = target.kind == "int" or (not saturate and target.bits < 32)
            wide = np.iinfo(f"{'i' if signed else 'u'}{max(target.bits, 32) // 8}")
            ends = np.iinfo(into) if saturate else wide
            return _clip(whole, max(wide.min, ends.min), min(wide.max, ends.max)).astype(into)
        if saturate:
            limits = np.iinfo(into)
            return np.clip(x.astype(np.int64), limits.min, limits.max).astype(into)
        return x.astype(np.int64).astype(into)


def _clip(whole: Array, low: int, high: int) -> Array:
    """Whole numbers of f64 as i64, cut off at these ends: `high` may be no number of f64, what is beyond it is."""
    inside = np.where((whole > low) & (whole < high), whole, 0.0).astype(np.int64)
    return np.where(whole >= high, np.int64(high), np.where(whole <= low, np.int64(low), inside))


def _to_float(x: Array, source: DType, target: DType, rounding: str, saturate: bool) -> Array:
    """Cut off, then rounded once. Types of two bytes and less are rounded from f32; what f32 does not hold becomes odd
    in it first, which takes no number over a tie of theirs."""
    into = np.dtype(NUMPY[target.name])
    if source.name == target.name:
        return x
    limit = cut_at(source, target) if saturate else None
    if target.bits == 64:
        return x.astype(into)
    many = source.bits > (32 if source.kind == "float" else 16)
    wide = _in_f64(x) if many else x.astype(np.float32)
    if limit is not None:
        wide = np.where(np.isnan(wide), wide, np.clip(wide, -limit, limit)).astype(wide.dtype)
    if many and target.bits < 32:
        wide = _odd(wide)
    result = wide.astype(into)
    return _toward_zero(result, wide) if rounding == "rtz" else result


def _in_f64(x: Array) -> Array:
    """As f64. A whole number that has more digits becomes odd in its 53rd digit, or one behind the 24th."""
    if x.dtype != np.int64:
        return x.astype(np.float64)
    low = np.int64((1 << 11) - 1)
    odd = (x & ~low) | np.where(x & low, low + 1, 0)
    return np.where((x > 1 << 53) | (x < -(1 << 53)), odd, x).astype(np.float64)


def _odd(x: Array) -> Array:
    """f64 in f32, rounded to odd: what f32 does not hold becomes the neighbour whose last digit is 1."""
    near = _toward_zero(x.astype(np.float32), x)
    bits = near.view(np.uint32) | (near.astype(np.float64) != x)
    return np.where(np.isnan(x), near, bits.astype(np.uint32).view(np.float32))


def _toward_zero(nearest: Array, x: Array) -> Array:
    """The next value toward zero where rounding has made a magnitude larger: magnitudes are the low bits."""
    bits = nearest.view(f"u{nearest.dtype.itemsize}")
    return np.asarray((bits - (np.abs(nearest.astype(x.dtype)) > np.abs(x))).astype(bits.dtype).view(nearest.dtype))


@lru_cache(maxsize=64)
def _lane_maps(inst: str) -> tuple[MfmaShape, tuple[Array, ...], tuple[Array, ...], tuple[Array, ...]]:
    row = mfma_named(inst)
    lane = np.arange(64)[:, None]
    operand = np.arange(row.a_elements)[None, :]
    result = np.arange(row.d_elements)[None, :]

    def spread(indices: tuple[Any, Any, Any], width: int) -> tuple[Array, ...]:
        return tuple(np.broadcast_to(np.asarray(x), (64, width)).copy() for x in indices)

    a = spread(row.a_index(lane, operand), row.a_elements)
    b = spread(row.b_index(lane, operand), row.a_elements)
    d = spread(row.d_index(lane, result), row.d_elements)
    return row, a, b, d


def matrix_multiply(inst: str, a: Array, b: Array, c: Array) -> Array:
    """c + a*b of one wave, by the instruction's lane maps."""
    row, (ai, ak, ab), (bj, bk, bb), (di, dj, db) = _lane_maps(inst)
    work: Any = np.float64 if row.c == "f64" else np.int32 if row.c == "i32" else np.float32
    left = np.zeros((row.blocks, row.m, row.k), dtype=work)
    right = np.zeros((row.blocks, row.n, row.k), dtype=work)
    left[ab, ai, ak] = _matrix_input(a, row.a).astype(work)
    right[bb, bj, bk] = _matrix_input(b, row.b).astype(work)
    with np.errstate(all="ignore"):
        product = left @ right.transpose(0, 2, 1)
        return np.asarray(c.astype(work) + product[db, di, dj]).astype(c.dtype)


def _matrix_input(x: Array, kind: str) -> Array:
    if kind != "xf32":
        return x
    given = np.ascontiguousarray(x, dtype=np.float32)
    with np.errstate(all="ignore"):
        fraction, exponent = np.frexp(given.astype(np.float64))
        last = np.maximum(exponent, FORMATS["xf32"].least + 1) - FORMATS["xf32"].digits  # 2^last: the last digit
        rounded = np.ldexp(np.rint(np.ldexp(fraction, exponent - last)), last).astype(np.float32)
    return np.where(np.isfinite(given), rounded, given)

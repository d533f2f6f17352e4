"""Arithmetic of the concrete interpreter: element types, elementwise functions, conversions, matrix products.

Every value is a numpy array `[64 lanes, count]`. Floats narrower than 32 bits compute in float32 and round once, as the
hardware's packed forms do; `MFMA` gathers its operands through the lane maps of `argus.gfx942.mfma`, multiplies in the
accumulator's type and spreads the result back:

    A[block, i, k] = a[lane, e]   with (i, k, block) = a_index(lane, e)
    D[block, i, j] = C + sum_k A * B

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
from argus.ir.float_formats import FORMATS, SATURATED
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
        if source.kind == "float" and target.kind == "float":
            return _round_float(x, target, rounding, saturate)
        if source.kind == "float":
            rounded = (np.rint if rounding == "rne" else np.trunc)(x.astype(np.float64))
            whole = np.nan_to_num(rounded, nan=0.0, posinf=1e300, neginf=-1e300)
            signed = target.kind == "int" or (not saturate and target.bits < 32)
            wide = np.iinfo(f"{'i' if signed else 'u'}{max(target.bits, 32) // 8}")
            ends = np.iinfo(into) if saturate else wide
            kept = _clip(whole, max(wide.min, ends.min), min(wide.max, ends.max)) % (1 << target.bits)
            return kept.astype(f"u{target.bits // 8}").view(into)
        if target.kind == "float":
            return _widen(x).astype(np.float32).astype(into) if target.bits < 32 else x.astype(into)
        if saturate:
            limits = np.iinfo(into)
            return np.clip(x.astype(np.int64), limits.min, limits.max).astype(into)
        return x.astype(np.int64).astype(into)


def _clip(whole: Array, low: int, high: int) -> Array:
    result = np.zeros(whole.shape, dtype=object)
    for position, value in np.ndenumerate(whole):
        result[position] = min(max(int(value), low), high)
    return result


def _round_float(x: Array, target: DType, rounding: str, saturate: bool) -> Array:
    into = np.dtype(NUMPY[target.name])
    if target.bits >= x.dtype.itemsize * 8:
        return x.astype(into)
    wide = x if x.dtype.itemsize >= 4 else x.astype(np.float32)
    if saturate and target.name in SATURATED:
        limit = SATURATED[target.name]
        wide = np.where(np.isnan(wide), wide, np.clip(wide, -limit, limit))
    result = wide.astype(into)
    if rounding == "rtz":
        bits = result.view(f"u{into.itemsize}").copy()
        back = result.astype(wide.dtype)
        bits[np.abs(back) > np.abs(wide)] -= 1  # magnitudes are the low bits: one less is the next value towards zero
        result = bits.view(into)
    return result


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

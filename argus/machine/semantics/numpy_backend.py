"""`Builder` over NumPy: the interpreter's vector arithmetic, 64 lanes at a time.

A w32 is a uint32 array or scalar, a w64 a uint64 one, a mask a bool one; scalars broadcast. `numpy_builder(mode)` picks
the class for a float mode, so the common mode (denormals kept) pays nothing for the other.

    b = numpy_builder(ArithmeticMode())
    b.fadd32(bits_of(1.5), bits_of(2.0)) == bits_of(3.5)

Callers run it under `np.errstate(all="ignore")`: overflow and NaN are ordinary results here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from argus.machine.semantics.fma import fma32, fma64

Array = Any
"""uint32, uint64 or bool array or scalar."""

U8, U16, U32, U64 = np.uint8, np.uint16, np.uint32, np.uint64
I32, I64, F16, F32, F64 = np.int32, np.int64, np.float16, np.float32, np.float64


def _number(x: Array, y: Array, first: Array) -> Array:
    """x where `first` holds or y is a NaN (of either kind), else y."""
    return np.where(first | np.isnan(y), x, y)


@dataclass(frozen=True, slots=True)
class ArithmeticMode:
    """The parts of the MODE register that change arithmetic."""

    flush_f32: bool = False
    flush_f64_f16: bool = False
    saturate_fp8: bool = False


@lru_cache(maxsize=4096)
def _const32(value: int) -> np.uint32:
    return U32(value & 0xFFFFFFFF)


@lru_cache(maxsize=4096)
def _const64(value: int) -> np.uint64:
    return U64(value & 0xFFFFFFFFFFFFFFFF)


_N32 = U32(32)
_S1, _S2, _S4, _S8, _S16 = (U32(n) for n in (1, 2, 4, 8, 16))
_B1, _B2, _B4, _B8 = U32(0x55555555), U32(0x33333333), U32(0x0F0F0F0F), U32(0x00FF00FF)
_H32 = U64(32)


def _bits32(x: Array) -> Array:
    return x.astype(F32, copy=False).view(U32)


class NumpyBuilder:
    """See the protocol for what each operation means. This class keeps denormals."""

    saturate_fp8 = False

    const32 = staticmethod(_const32)
    const64 = staticmethod(_const64)

    def const_mask(self, value: bool) -> Array:
        return np.bool_(value)

    def add32(self, a: Array, b: Array) -> Array:
        return a + b

    def sub32(self, a: Array, b: Array) -> Array:
        return a - b

    def mul32(self, a: Array, b: Array) -> Array:
        return a * b

    add64, sub64, mul64 = add32, sub32, mul32

    def and_(self, a: Array, b: Array) -> Array:
        return a & b

    def or_(self, a: Array, b: Array) -> Array:
        return a | b

    def xor(self, a: Array, b: Array) -> Array:
        return a ^ b

    def not32(self, a: Array) -> Array:
        return ~a

    not64 = not32

    def shl32(self, a: Array, n: Array) -> Array:
        return a << n

    def lshr32(self, a: Array, n: Array) -> Array:
        return a >> n

    def ashr32(self, a: Array, n: Array) -> Array:
        return (a.view(I32) >> n.view(I32)).view(U32)

    shl64, lshr64 = shl32, lshr32

    def ashr64(self, a: Array, n: Array) -> Array:
        return (a.view(I64) >> n.astype(I64)).view(U64)

    def zext(self, a: Array) -> Array:
        return a.astype(U64)

    def sext(self, a: Array) -> Array:
        return a.view(I32).astype(I64).view(U64)

    def trunc(self, a: Array) -> Array:
        return a.astype(U32)

    def high(self, a: Array) -> Array:
        return (a >> _H32).astype(U32)

    def pair(self, lo: Array, hi: Array) -> Array:
        return lo.astype(U64) | (hi.astype(U64) << _H32)

    def popcount32(self, a: Array) -> Array:
        return np.bitwise_count(a).astype(U32)

    def clz32(self, a: Array) -> Array:
        return _N32 - np.frexp(a.astype(F64))[1].astype(U32)

    def ctz32(self, a: Array) -> Array:
        return np.bitwise_count((a & (~a + _S1)) - _S1).astype(U32)

    def bitreverse32(self, a: Array) -> Array:
        a = ((a >> _S1) & _B1) | ((a & _B1) << _S1)
        a = ((a >> _S2) & _B2) | ((a & _B2) << _S2)
        a = ((a >> _S4) & _B4) | ((a & _B4) << _S4)
        a = ((a >> _S8) & _B8) | ((a & _B8) << _S8)
        return (a >> _S16) | (a << _S16)

    def eq(self, a: Array, b: Array) -> Array:
        return a == b

    def ne(self, a: Array, b: Array) -> Array:
        return a != b

    def ult(self, a: Array, b: Array) -> Array:
        return a < b

    def ule(self, a: Array, b: Array) -> Array:
        return a <= b

    def slt32(self, a: Array, b: Array) -> Array:
        return a.view(I32) < b.view(I32)

    def sle32(self, a: Array, b: Array) -> Array:
        return a.view(I32) <= b.view(I32)

    def slt64(self, a: Array, b: Array) -> Array:
        return a.view(I64) < b.view(I64)

    def sle64(self, a: Array, b: Array) -> Array:
        return a.view(I64) <= b.view(I64)

    def select(self, mask: Array, a: Array, b: Array) -> Array:
        return np.where(mask, a, b)

    def mask_and(self, p: Array, q: Array) -> Array:
        return p & q

    def mask_or(self, p: Array, q: Array) -> Array:
        return p | q

    def mask_xor(self, p: Array, q: Array) -> Array:
        return p ^ q

    def mask_not(self, p: Array) -> Array:
        return ~p

    # f32

    def fadd32(self, a: Array, b: Array) -> Array:
        return (a.view(F32) + b.view(F32)).view(U32)

    def fsub32(self, a: Array, b: Array) -> Array:
        return (a.view(F32) - b.view(F32)).view(U32)

    def fmul32(self, a: Array, b: Array) -> Array:
        return (a.view(F32) * b.view(F32)).view(U32)

    def fdiv32(self, a: Array, b: Array) -> Array:
        return (a.view(F32) / b.view(F32)).view(U32)

    def fsqrt32(self, a: Array) -> Array:
        return np.sqrt(a.view(F32)).view(U32)

    def ffma32(self, a: Array, b: Array, c: Array) -> Array:
        return fma32(a.view(F32), b.view(F32), c.view(F32)).view(U32)

    def fmin32(self, a: Array, b: Array) -> Array:
        x, y = a.view(F32), b.view(F32)
        return np.where(x == y, a | b, _number(x, y, x < y).view(U32))

    def fmax32(self, a: Array, b: Array) -> Array:
        x, y = a.view(F32), b.view(F32)
        return np.where(x == y, a & b, _number(x, y, x > y).view(U32))

    def feq32(self, a: Array, b: Array) -> Array:
        return a.view(F32) == b.view(F32)

    def flt32(self, a: Array, b: Array) -> Array:
        return a.view(F32) < b.view(F32)

    def fle32(self, a: Array, b: Array) -> Array:
        return a.view(F32) <= b.view(F32)

    def funo32(self, a: Array, b: Array) -> Array:
        return np.isnan(a.view(F32)) | np.isnan(b.view(F32))

    def ffloor32(self, a: Array) -> Array:
        return np.floor(a.view(F32)).view(U32)

    def fceil32(self, a: Array) -> Array:
        return np.ceil(a.view(F32)).view(U32)

    def ftrunc32(self, a: Array) -> Array:
        return np.trunc(a.view(F32)).view(U32)

    def frint32(self, a: Array) -> Array:
        return np.rint(a.view(F32)).view(U32)

    # f64

    def fadd64(self, a: Array, b: Array) -> Array:
        return (a.view(F64) + b.view(F64)).view(U64)

    def fsub64(self, a: Array, b: Array) -> Array:
        return (a.view(F64) - b.view(F64)).view(U64)

    def fmul64(self, a: Array, b: Array) -> Array:
        return (a.view(F64) * b.view(F64)).view(U64)

    def fdiv64(self, a: Array, b: Array) -> Array:
        return (a.view(F64) / b.view(F64)).view(U64)

    def fsqrt64(self, a: Array) -> Array:
        return np.sqrt(a.view(F64)).view(U64)

    def ffma64(self, a: Array, b: Array, c: Array) -> Array:
        return fma64(a.view(F64), b.view(F64), c.view(F64)).view(U64)

    def fmin64(self, a: Array, b: Array) -> Array:
        x, y = a.view(F64), b.view(F64)
        return np.where(x == y, a | b, _number(x, y, x < y).view(U64))

    def fmax64(self, a: Array, b: Array) -> Array:
        x, y = a.view(F64), b.view(F64)
        return np.where(x == y, a & b, _number(x, y, x > y).view(U64))

    def feq64(self, a: Array, b: Array) -> Array:
        return a.view(F64) == b.view(F64)

    def flt64(self, a: Array, b: Array) -> Array:
        return a.view(F64) < b.view(F64)

    def fle64(self, a: Array, b: Array) -> Array:
        return a.view(F64) <= b.view(F64)

    def funo64(self, a: Array, b: Array) -> Array:
        return np.isnan(a.view(F64)) | np.isnan(b.view(F64))

    def ffloor64(self, a: Array) -> Array:
        return np.floor(a.view(F64)).view(U64)

    def fceil64(self, a: Array) -> Array:
        return np.ceil(a.view(F64)).view(U64)

    def ftrunc64(self, a: Array) -> Array:
        return np.trunc(a.view(F64)).view(U64)

    def frint64(self, a: Array) -> Array:
        return np.rint(a.view(F64)).view(U64)

    # conversions

    def f32_to_f64(self, a: Array) -> Array:
        return a.view(F32).astype(F64).view(U64)

    def f64_to_f32(self, a: Array) -> Array:
        return a.view(F64).astype(F32).view(U32)

    def f16_to_f32(self, a: Array) -> Array:
        return a.astype(U16).view(F16).astype(F32).view(U32)

    def f32_to_f16(self, a: Array) -> Array:
        return a.view(F32).astype(F16).view(U16).astype(U32)

    def u32_to_f32(self, a: Array) -> Array:
        return a.astype(F32).view(U32)

    def i32_to_f32(self, a: Array) -> Array:
        return a.view(I32).astype(F32).view(U32)

    def u32_to_f64(self, a: Array) -> Array:
        return a.astype(F64).view(U64)

    def i32_to_f64(self, a: Array) -> Array:
        return a.view(I32).astype(F64).view(U64)

    def f32_to_u32(self, a: Array) -> Array:
        return _to_u32(a.view(F32).astype(F64))

    def f32_to_i32(self, a: Array) -> Array:
        return _to_i32(a.view(F32).astype(F64))

    def f64_to_u32(self, a: Array) -> Array:
        return _to_u32(a.view(F64))

    def f64_to_i32(self, a: Array) -> Array:
        return _to_i32(a.view(F64))


def _to_u32(x: Array) -> Array:
    return np.fmin(np.fmax(x, 0.0), 4294967295.0).astype(U32)


def _to_i32(x: Array) -> Array:
    number = np.where(np.isnan(x), 0.0, x)
    return np.fmin(np.fmax(number, -2147483648.0), 2147483647.0).astype(I32).view(U32)


_ARITHMETIC = ("fadd", "fsub", "fmul", "fdiv", "fsqrt", "ffma", "fmin", "fmax")
_READING = (*_ARITHMETIC, "feq", "flt", "fle", "ffloor", "fceil", "ftrunc", "frint")
_FLUSH32_IN = (*(f"{name}32" for name in _READING), "f32_to_f64", "f32_to_f16")
_FLUSH32_OUT = (*(f"{name}32" for name in _ARITHMETIC), "f64_to_f32")
_FLUSH64_IN = (*(f"{name}64" for name in _READING), "f64_to_f32")
_FLUSH64_OUT = tuple(f"{name}64" for name in _ARITHMETIC)


def _zero_denormals(word: type[np.unsignedinteger[Any]], exponent: int, sign: int) -> Any:
    field, top = word(exponent), word(sign)

    def flush(a: Array) -> Array:
        return np.where((a & field) == 0, a & top, a)

    return flush


def _wrapped(method: Any, before: Any, after: Any) -> Any:
    def run(self: NumpyBuilder, *args: Array) -> Array:
        result = method(self, *(map(before, args) if before else args))
        return after(result) if after else result

    return run


@lru_cache(maxsize=8)
def numpy_builder(mode: ArithmeticMode) -> NumpyBuilder:
    """The builder for a float mode."""
    members: dict[str, Any] = {"saturate_fp8": mode.saturate_fp8}

    def wrap(names: tuple[str, ...], before: Any, after: Any) -> None:
        for name in names:
            members[name] = _wrapped(members.get(name, getattr(NumpyBuilder, name)), before, after)

    if mode.flush_f32:
        flush = _zero_denormals(U32, 0x7F800000, 0x80000000)
        wrap(_FLUSH32_IN, flush, None)
        wrap(_FLUSH32_OUT, None, flush)
    if mode.flush_f64_f16:
        flush = _zero_denormals(U64, 0x7FF0000000000000, 1 << 63)
        wrap(_FLUSH64_IN, flush, None)
        wrap(_FLUSH64_OUT, None, flush)
        half = _zero_denormals(U32, 0x7C00, 0x8000)
        wrap(("f16_to_f32",), half, None)
        wrap(("f32_to_f16",), None, half)
    builder: NumpyBuilder = type("NumpyBuilderForMode", (NumpyBuilder,), members)()
    return builder

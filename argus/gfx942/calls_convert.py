"""Callable conversions: meanings on numpy arrays, entered into `calls.CALLS`.

    v_cvt_pkrtz_f16_f32(x, y)                two f16 in one register, rounded towards zero: x in the low half
    v_cvt_pk_fp8_f32(x, y, old, word=1)      two fp8 in the upper half of a register, its lower half from `old`
    v_cvt_f32_ubyte2(x)                      byte 2 as a number

Integers are clamped to the range and NaN gives 0. fp8 and bf8 are the FNUZ formats: what does not fit is NaN.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from argus.gfx942.calls import Array, Meaning, Option, define

F64, F32, F16 = np.float64, np.float32, np.float16
U32, I32, U16, I16, U8 = np.uint32, np.int32, np.uint16, np.int16, np.uint8

FP8: dict[str, tuple[Any, int, int]] = {
    "fp8": (ml_dtypes.float8_e4m3fnuz, 3, 8),
    "bf8": (ml_dtypes.float8_e5m2fnuz, 2, 16),
}
"""Name -> numpy type, mantissa bits, exponent bias."""


def _whole(x: Array, into: Any) -> Array:
    """Towards zero, clamped; NaN gives 0."""
    limits = np.iinfo(into)
    wide = np.where(np.isnan(x), 0.0, x.astype(F64))
    return np.clip(np.trunc(wide), limits.min, limits.max).astype(into)


def _two(low: Array, high: Array) -> Array:
    return (low.astype(U32) & U32(0xFFFF)) | (high.astype(U32) << U32(16))


def _clamped(x: Array, into: Any) -> Array:
    limits = np.iinfo(into)
    return np.clip(x.astype(np.int64), limits.min, limits.max).astype(into)


def _pack_clamped(into: Any) -> Meaning:
    return lambda x, y: _two(_clamped(x, into).view(U16), _clamped(y, into).view(U16))


def _sat_bytes(x: Array) -> Array:
    low = _clamped((x & U32(0xFFFF)).astype(U16).view(I16), U8)
    high = _clamped((x >> U32(16)).astype(U16).view(I16), U8)
    return low.astype(U32) | high.astype(U32) << U32(8)


def _integers() -> None:
    for kind, words, ext in (("u", U32, "uitofp"), ("i", I32, "sitofp")):
        sat = f"llvm.fpto{kind.replace('i', 's')}i.sat"
        for size, wide in (("f32", F32), ("f64", F64)):
            define(
                f"v_cvt_{size}_{kind}32", f"{size} = {kind}32", lambda x, w=wide: x.astype(w), ext + " i32 {0} to {t}"
            )
            define(f"v_cvt_{kind}32_{size}", f"{kind}32 = {size}", lambda x, w=words: _whole(x, w), f"{sat}.i32.{size}")
        half = U16 if kind == "u" else I16
        define(f"v_cvt_f16_{kind}16", f"f16 = {kind}16", lambda x: x.astype(F16), ext + " i16 {0} to half")
        define(f"v_cvt_{kind}16_f16", f"{kind}16 = f16", lambda x, w=half: _whole(x, w), f"{sat}.i16.f16")
    floor = "f = call float @llvm.floor.f32(float {0}); call i32 @llvm.fptosi.sat.i32.f32(float {f})"
    nearest = "a = fadd float {0}, 5.0e-1; " + floor.replace("{0}", "{a}")
    define("v_cvt_flr_i32_f32", "i32 = f32", lambda x: _whole(np.floor(x), I32), floor)
    define("v_cvt_rpi_i32_f32", "i32 = f32", lambda x: _whole(np.floor(x + F32(0.5)), I32), nearest)
    for i in range(4):
        emit = f"s = lshr i32 {{0}}, {8 * i}; b = and i32 {{s}}, 255; uitofp i32 {{b}} to float"
        define(f"v_cvt_f32_ubyte{i}", "f32 = u32", lambda x, i=i: (x >> U32(8 * i) & U32(0xFF)).astype(F32), emit)
    define(
        "v_cvt_off_f32_i4",
        "f32 = u32",
        lambda x: ((x & U32(15) ^ U32(8)).astype(F32) - F32(8)) / F32(16),
        "llvm.amdgcn.cvt.off.f32.i4",
    )
    for kind, into in (("u", U16), ("i", I16)):
        pack = f"p = call <2 x i16> @llvm.amdgcn.cvt.pk.{kind}16(i32 {{0}}, i32 {{1}}); bitcast <2 x i16> {{p}} to i32"
        define(f"v_cvt_pk_{kind}16_{kind}32", f"u32 = {kind}32 {kind}32", _pack_clamped(into), pack, "bits")
    define("v_sat_pk_u8_i16", "u32 = u32", _sat_bytes, _SATURATE, "bits")


_SATURATE = (
    "v = bitcast i32 {0} to <2 x i16>; a = call <2 x i16> @llvm.smax.v2i16(<2 x i16> {v}, <2 x i16> zeroinitializer); "
    "b = call <2 x i16> @llvm.smin.v2i16(<2 x i16> {a}, <2 x i16> <i16 255, i16 255>); "
    "w = bitcast <2 x i16> {b} to i32; h = lshr i32 {w}, 8; o = or i32 {w}, {h}; and i32 {o}, 65535"
)


def _towards_zero(x: Array) -> Array:
    """f32 to f16; a finite number that is too large gives the largest."""
    nearest = x.astype(F16)
    grew = np.abs(nearest.astype(F64)) > np.abs(x.astype(F64))
    return np.where(grew, nearest.view(U16) - U16(1), nearest.view(U16))


def _norm(scale: int, low: float, into: Any) -> Meaning:
    """[low, 1] as a fraction of `scale`, nearest even."""

    def run(x: Array) -> Array:
        inside = np.clip(np.where(np.isnan(x), F32(0), x.astype(F32)), F32(low), F32(1))
        return np.rint(inside * F32(scale)).astype(I32).astype(into)

    return run


def _floats() -> None:
    define("v_cvt_f16_f32", "f16 = f32", lambda x: x.astype(F16), "fptrunc float {0} to half")
    define("v_cvt_f32_f16", "f32 = f16", lambda x: x.astype(F32), "fpext half {0} to float")
    define("v_cvt_f32_f64", "f32 = f64", lambda x: x.astype(F32), "fptrunc double {0} to float")
    define("v_cvt_f64_f32", "f64 = f32", lambda x: x.astype(F64), "fpext float {0} to double")
    pack = "p = call <2 x half> @llvm.amdgcn.cvt.pkrtz(float {0}, float {1}); bitcast <2 x half> {p} to i32"
    define("v_cvt_pkrtz_f16_f32", "u32 = f32 f32", lambda x, y: _two(_towards_zero(x), _towards_zero(y)), pack, "bits")
    join = (
        "a = insertelement <2 x half> poison, half {0}, i32 0; b = insertelement <2 x half> {a}, half {1}, i32 1; "
        "bitcast <2 x half> {b} to i32"
    )
    define("v_pack_b32_f16", "u32 = f16 f16", lambda x, y: _two(x.view(U16), y.view(U16)), join, "bits")
    for kind, norm in (("i16", _norm(32767, -1.0, I16)), ("u16", _norm(65535, 0.0, U16))):
        define(
            f"v_cvt_pknorm_{kind}_f32",
            "u32 = f32 f32",
            lambda x, y, f=norm: _two(f(x).view(U16), f(y).view(U16)),
            f"p = call <2 x i16> @llvm.amdgcn.cvt.pknorm.{kind}(float {{0}}, float {{1}}); "
            "bitcast <2 x i16> {p} to i32",
            "bits",
        )


def _narrow(x: Array, name: str) -> Array:
    """f32 to a byte of the FNUZ format; 0x80, NaN, where it does not fit."""
    kind, _, _ = FP8[name]
    finite = np.isfinite(x)
    return np.where(finite, np.where(finite, x, 0).astype(kind).view(U8), U8(0x80)).astype(U32)


def _narrow_random(x: Array, random: Array, name: str) -> Array:
    """The bits below the last kept one are added to the top bits of `random`; the carry decides."""
    kind, mantissa, bias = FP8[name]
    drop = 23 - mantissa
    size = np.abs(np.where(np.isfinite(x), x, 0)).astype(F64)
    exponent = np.maximum(np.frexp(size)[1] - 1, 1 - bias)
    fixed = np.trunc(np.ldexp(size, 23 - exponent)).astype(np.int64)
    kept = fixed + (random >> U32(32 - drop)).astype(np.int64) >> drop
    value = np.ldexp(kept.astype(F64), exponent - mantissa)
    largest = float(ml_dtypes.finfo(kind).max)
    byte = np.where(value > largest, 0, np.copysign(value, x)).astype(F32).astype(kind).view(U8)
    return np.where((value > largest) | ~np.isfinite(x), U8(0x80), byte).astype(U32)


def _widen(byte: Array, name: str) -> Array:
    return np.asarray((byte & U32(0xFF)).astype(U8).view(FP8[name][0]).astype(F32))


def _pack_bytes(name: str) -> Meaning:
    def run(x: Array, y: Array, old: Array, word: int) -> Array:
        made = _narrow(x, name) | _narrow(y, name) << U32(8)
        return _two(old, made) if word else _two(made, old >> U32(16))

    return run


def _put_byte(name: str) -> Meaning:
    def run(x: Array, random: Array, old: Array, byte: int) -> Array:
        return (old & ~U32(0xFF << 8 * byte)) | _narrow_random(x, random, name) << U32(8 * byte)

    return run


def _bytes() -> None:
    byte, word = Option("byte", 0, 3, 0), Option("word", 0, 1, 0, "i1")
    for name in FP8:
        one = f"llvm.amdgcn.cvt.f32.{name}"
        define(f"v_cvt_f32_{name}", "f32 = u32", _widen_byte(name), one, options=(byte,))
        both = f"llvm.amdgcn.cvt.pk.f32.{name}"
        define(f"v_cvt_pk_f32_{name}", "f32 f32 = u32", _widen_pair(name), both, options=(word,))
        pack = f"llvm.amdgcn.cvt.pk.{name}.f32"
        define(f"v_cvt_pk_{name}_f32", "u32 = f32 f32 u32", _pack_bytes(name), pack, "bits", options=(word,))
        put = f"llvm.amdgcn.cvt.sr.{name}.f32"
        define(f"v_cvt_sr_{name}_f32", "u32 = f32 u32 u32", _put_byte(name), put, "bits", options=(byte,))


def _widen_byte(name: str) -> Meaning:
    return lambda x, byte: _widen(x >> U32(8 * byte), name)


def _widen_pair(name: str) -> Meaning:
    return lambda x, word: (_widen(x >> U32(16 * word), name), _widen(x >> U32(16 * word + 8), name))


def enter() -> None:
    """Enter this section."""
    for section in (_integers, _floats, _bytes):
        section()

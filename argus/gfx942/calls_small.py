"""Callable instructions on parts of a register: bytes, nibbles, 16-bit integers, alone and in pairs.

    v_dot4_i32_i8(x, y, z)     z + four products of bytes
    v_pk_add_u16(x, y)         two elements of 16-bit tiles at once

Each meaning is on numpy arrays, entered into `calls.CALLS`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argus.gfx942.calls import Array, Meaning, define

U32, I32, U16, I16 = np.uint32, np.int32, np.uint16, np.int16


def _byte(x: Array, i: int) -> Array:
    return x >> U32(8 * i) & U32(0xFF)


def _absolute_difference(x: Array, y: Array) -> Array:
    return np.maximum(x, y) - np.minimum(x, y)


def _sad(x: Array, y: Array, z: Array) -> Array:
    return z + sum(_absolute_difference(_byte(x, i), _byte(y, i)) for i in range(4))


def _masked_sad(x: Array, y: Array, z: Array) -> Array:
    for i in range(4):
        near, reference = _byte(x, i), _byte(y, i)
        z = z + np.where(reference == 0, U32(0), _absolute_difference(near, reference))
    return z


def _sad_u16(x: Array, y: Array, z: Array) -> Array:
    low = _absolute_difference(x & U32(0xFFFF), y & U32(0xFFFF))
    return z + low + _absolute_difference(x >> U32(16), y >> U32(16))


def _lerp(x: Array, y: Array, z: Array) -> Array:
    parts: Any = [(_byte(x, i) + _byte(y, i) + (_byte(z, i) & U32(1)) >> U32(1)) << U32(8 * i) for i in range(4)]
    return np.asarray(np.bitwise_or.reduce(parts))


def _fields(x: Array, bits: int, signed: bool) -> list[Array]:
    fields = [x << U32(32 - bits * (i + 1)) for i in range(32 // bits)]
    if signed:
        return [(f.view(I32) >> I32(32 - bits)).view(U32) for f in fields]
    return [f >> U32(32 - bits) for f in fields]


def _dot(bits: int, signed: bool) -> Meaning:
    def run(x: Array, y: Array, z: Array) -> Array:
        pairs = zip(_fields(x, bits, signed), _fields(y, bits, signed), strict=True)
        return z + sum(p * q for p, q in pairs)

    return run


def _sums() -> None:
    three = "u32 = u32 u32 u32"
    define("v_sad_u8", three, _sad, "llvm.amdgcn.sad.u8")
    define("v_msad_u8", three, _masked_sad, "llvm.amdgcn.msad.u8")
    high = "llvm.amdgcn.sad.hi.u8"
    define("v_sad_hi_u8", three, lambda x, y, z: (_sad(x, y, np.zeros_like(z)) << U32(16)) + z, high)
    define("v_sad_u16", three, _sad_u16, "llvm.amdgcn.sad.u16")
    apart = (
        "a = call i32 @llvm.umax.i32(i32 {0}, i32 {1}); b = call i32 @llvm.umin.i32(i32 {0}, i32 {1}); "
        "d = sub i32 {a}, {b}; add i32 {d}, {2}"
    )
    define("v_sad_u32", three, lambda x, y, z: _absolute_difference(x, y) + z, apart)
    define("v_lerp_u8", three, _lerp, "llvm.amdgcn.lerp")
    for bits, count in ((16, 2), (8, 4), (4, 8)):
        for kind in "iu":
            name = f"{kind.replace('i', 's')}dot{count}"
            emit = f"call i32 @llvm.amdgcn.{name}(i32 {{0}}, i32 {{1}}, i32 {{2}}, i1 false)"
            if bits == 16:
                pairs = "x = bitcast i32 {0} to <2 x i16>; y = bitcast i32 {1} to <2 x i16>; "
                emit = f"{pairs}call i32 @llvm.amdgcn.{name}(<2 x i16> {{x}}, <2 x i16> {{y}}, i32 {{2}}, i1 false)"
            define(f"v_dot{count}_{kind}32_{kind}{bits}", three, _dot(bits, kind == "i"), emit)
            if kind == "i":
                define(f"v_dot{count}c_i32_i{bits}", "u32 = u32 u32 old:u32", _dot(bits, True), emit)


def _sixteen() -> None:
    four, count = U16(15), "n = and {t} {0}, {15}; "
    mad = "p = mul {t} {0}, {1}; add {t} {p}, {2}"
    rows: dict[str, tuple[str, Meaning, str, str]] = {
        "mul_lo_u16": ("u16 = u16 u16", np.multiply, "mul {t} {0}, {1}", "mul"),
        "lshlrev_b16": ("u16 = u16 u16", lambda n, x: x << (n & four), count + "shl {t} {1}, {n}", "bits"),
        "lshrrev_b16": ("u16 = u16 u16", lambda n, x: x >> (n & four), count + "lshr {t} {1}, {n}", "bits"),
        "ashrrev_i16": (
            "i16 = u16 i16", lambda n, x: x >> (n & four).astype(I16), count + "ashr {t} {1}, {n}", "bits",
        ),
        "mad_u16": ("u16 = u16 u16 u16", lambda x, y, z: x * y + z, mad, "fma"),
        "mad_i16": ("u16 = u16 u16 u16", lambda x, y, z: x * y + z, mad, "fma"),
        "add_u16": ("u16 = u16 u16", np.add, "add {t} {0}, {1}", "add"),
        "sub_u16": ("u16 = u16 u16", np.subtract, "sub {t} {0}, {1}", "sub"),
        "add_i16": ("u16 = u16 u16", np.add, "add {t} {0}, {1}", "add"),
        "sub_i16": ("u16 = u16 u16", np.subtract, "sub {t} {0}, {1}", "sub"),
        "min_u16": ("u16 = u16 u16", np.minimum, "llvm.umin.{s}", "other"),
        "max_u16": ("u16 = u16 u16", np.maximum, "llvm.umax.{s}", "other"),
        "min_i16": ("i16 = i16 i16", np.minimum, "llvm.smin.{s}", "other"),
        "max_i16": ("i16 = i16 i16", np.maximum, "llvm.smax.{s}", "other"),
    }  # fmt: skip
    for name, (signature, meaning, emit, transfer) in rows.items():
        twice = emit.replace("{15}", "<i16 15, i16 15>")
        define(f"v_pk_{name}", signature.replace("16", "16x2"), meaning, twice, transfer)
        if not name.startswith(("min", "max")):
            define(f"v_{name}", signature, meaning, emit.replace("{15}", "15"), transfer)
    define("v_subrev_u16", "u16 = u16 u16", lambda x, y: y - x, "sub i16 {1}, {0}")
    define("v_mad_legacy_u16 v_mad_legacy_i16", "u16 = u16 u16 u16", lambda x, y, z: x * y + z, mad, "fma")
    for kind, ext, wide in (("u", "zext", U32), ("i", "sext", I32)):
        define(
            f"v_mad_{kind}32_{kind}16",
            f"{kind}32 = {kind}16 {kind}16 {kind}32",
            lambda x, y, z, w=wide: x.astype(w) * y.astype(w) + z,
            f"a = freeze i16 {{0}}; b = freeze i16 {{1}}; x = {ext} i16 {{a}} to i32; y = {ext} i16 {{b}} to i32; "
            "p = mul i32 {x}, {y}; add i32 {p}, {2}",
        )


def enter() -> None:
    """Enter this section."""
    _sums()
    _sixteen()

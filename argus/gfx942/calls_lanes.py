"""Callable exchanges between lanes, and instructions that only take time.

    v_mov_b32_dpp(x, old, row_shr=1)     lane i takes x of lane i-1 of its row of 16; the first lane of a row keeps old
    ds_bpermute_b32(address, x)          lane i takes x of lane address/4
    ds_swizzle_b32(x, pattern=0x041F)    lane i takes x of lane i ^ 1
    s_sleep(2)                           about 128 clocks

Where the source lanes are static, `sources` lists them (-1: none, the value comes from `old` or is zero), so that the
checker can follow the data. All lanes of the wave must take part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.gfx942.calls import LANES, Array, Option, define

DPP: dict[str, tuple[int, int, int, Callable[[int, int], int]]] = {
    "quad_perm": (0, 255, 0x000, lambda i, n: (i & ~3) + (n >> 2 * (i & 3) & 3)),
    "row_shl": (1, 15, 0x100, lambda i, n: i + n if i % 16 + n < 16 else -1),
    "row_shr": (1, 15, 0x110, lambda i, n: i - n if i % 16 >= n else -1),
    "row_ror": (1, 15, 0x120, lambda i, n: i // 16 * 16 + (i - n) % 16),
    "wave_shl": (1, 1, 0x130, lambda i, n: i + 1 if i < LANES - 1 else -1),
    "wave_rol": (1, 1, 0x134, lambda i, n: (i + 1) % LANES),
    "wave_shr": (1, 1, 0x138, lambda i, n: i - 1),
    "wave_ror": (1, 1, 0x13C, lambda i, n: (i - 1) % LANES),
    "row_mirror": (0, 0, 0x140, lambda i, n: i // 16 * 16 + 15 - i % 16),
    "row_half_mirror": (0, 0, 0x141, lambda i, n: i // 8 * 8 + 7 - i % 8),
    "row_bcast15": (0, 0, 0x142, lambda i, n: i // 16 * 16 - 1),
    "row_bcast31": (0, 0, 0x143, lambda i, n: 31 if i >= 32 else -1),
    "row_newbcast": (0, 15, 0x150, lambda i, n: i // 16 * 16 + n),
}
"""Control -> least and largest number, code to which a choice adds, source lane. quad_perm packs four 2-bit lanes."""


def control_code(name: str, number: int) -> int:
    """The `dpp_ctrl` field of a control and its number."""
    low, high, code, _ = DPP[name]
    return code if low == high else code + number


def _control(ctrl: int) -> tuple[str, int]:
    for name, (low, high, _, _) in DPP.items():
        for number in range(low, high + 1):
            if control_code(name, number) == ctrl:
                return name, number
    raise ValueError(f"{ctrl:#x} is not a DPP control")


def dpp_sources(ctrl: int, row_mask: int, bank_mask: int, bound_ctrl: int) -> tuple[int, ...]:
    """The source lane of each lane; -1: none; -2: the lane is switched off by a mask and keeps `old`."""
    name, number = _control(ctrl)
    source = DPP[name][3]

    def at(i: int) -> int:
        enabled = row_mask >> i // 16 & 1 and bank_mask >> i // 4 % 4 & 1
        found = source(i, number)
        return -2 if not enabled else found if found >= 0 or bound_ctrl else -2

    return tuple(at(i) for i in range(LANES))


def swizzle_sources(pattern: int) -> tuple[int, ...]:
    """Quad permutation (bit 15), or and, or, xor masks within 32 lanes."""
    if pattern & 0x8000:
        return tuple((i & ~3) + (pattern >> 2 * (i & 3) & 3) for i in range(LANES))
    and_, or_, xor = pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31
    return tuple((i & 32) | ((i & and_ | or_) ^ xor) & 31 for i in range(LANES))


def _dpp(x: Array, old: Array, ctrl: int, row_mask: int, bank_mask: int, bound_ctrl: int) -> Array:
    sources = np.array(dpp_sources(ctrl, row_mask, bank_mask, bound_ctrl))
    moved = np.where(sources[:, None] >= 0, x[np.maximum(sources, 0)], np.zeros_like(x))
    return np.where(sources[:, None] == -2, old, moved)


def _push(address: Array, x: Array) -> Array:
    result = np.zeros_like(x)
    for lane in range(LANES):
        for e in range(x.shape[1]):
            result[int(address[lane, e]) // 4 % LANES, e] = x[lane, e]
    return result


def _pull(address: Array, x: Array) -> Array:
    return np.take_along_axis(x, (address // np.uint32(4) % np.uint32(LANES)).astype(np.int64), axis=0)


def _written(value: Array, old: Array, lane: int) -> Array:
    result = old.copy()
    result[lane] = value[0]
    return result


def _exchanges() -> None:
    define(
        "v_mov_b32_dpp",
        "b32 = b32 b32",
        _dpp,
        "call i32 @llvm.amdgcn.update.dpp.i32(i32 {1}, i32 {0}, i32 {ctrl}, i32 {row_mask}, i32 {bank_mask}, "
        "i1 {bound_ctrl})",
        "lanes",
        options=(
            Option("ctrl", 0, 0x15F),
            Option("row_mask", 0, 15, 15),
            Option("bank_mask", 0, 15, 15),
            Option("bound_ctrl", 0, 1, 0, "i1"),
        ),
        sources=dpp_sources,
    )
    define(
        "ds_swizzle_b32",
        "b32 = b32",
        lambda x, pattern: x[np.array(swizzle_sources(pattern))],
        "llvm.amdgcn.ds.swizzle",
        "lanes",
        options=(Option("pattern", 0, 0xBFFF),),
        sources=swizzle_sources,
    )
    define(
        "v_readlane_b32",
        "b32 = b32",
        lambda x, lane: np.broadcast_to(x[lane], x.shape).copy(),
        "llvm.amdgcn.readlane.i32",
        "lanes",
        options=(Option("lane", 0, 63),),
        sources=lambda lane: (lane,) * LANES,
    )
    define(
        "v_readfirstlane_b32",
        "b32 = b32",
        lambda x: np.broadcast_to(x[0], x.shape).copy(),
        "llvm.amdgcn.readfirstlane.i32",
        "lanes",
        sources=lambda: (0,) * LANES,
    )
    define(
        "v_writelane_b32",
        "b32 = b32 b32",
        _written,
        "call i32 @llvm.amdgcn.writelane.i32(i32 {0}, i32 {lane}, i32 {1})",
        "lanes",
        options=(Option("lane", 0, 63),),
        sources=lambda lane: tuple(0 if i == lane else -2 for i in range(LANES)),
    )
    define("ds_bpermute_b32", "b32 = u32 b32", _pull, "llvm.amdgcn.ds.bpermute", "lanes")
    define("ds_permute_b32", "b32 = u32 b32", _push, "llvm.amdgcn.ds.permute", "lanes")


def _waiting() -> None:
    define("s_sleep", "=", lambda: None, "llvm.amdgcn.s.sleep", options=(Option("value", 0, 127, 0),))
    define("s_nop", "=", lambda: None, "llvm.amdgcn.s.nop", options=(Option("value", 0, 15, 0, "i16"),))


def enter() -> None:
    """Enter this section."""
    for section in (_exchanges, _waiting):
        section()

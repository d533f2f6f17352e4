"""Lane crossing as data: which lane each lane reads.

    dpp_sources({"row_shr": 1})[17] == 16         dpp_sources({"row_shr": 1})[16] == -1     (no source)

DPP: lane i reads the first source operand of lane `dpp_sources(mods)[i]`. A source lane that does not exist or is
inactive is invalid: with `bound_ctrl` the value 0 is read, without it lane i is not written. Rows and banks outside
row_mask / bank_mask (`dpp_enabled`) are not written.

ds_swizzle reads 0 from inactive lanes; so does ds_bpermute. ds_permute pushes: active lanes send, a lane nobody sends
to gets 0, and of several senders the highest lane wins. v_readfirstlane reads lane 0 when exec is 0. v_readlane and
v_writelane take the lane number mod 64 and ignore exec. v_swap_b32 exchanges two registers in the active lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.gfx942.inst import Mod

LANES = 64
NO_LANE = -1

LANE_OPS = frozenset(
    {
        "v_readfirstlane_b32",
        "v_readlane_b32",
        "v_writelane_b32",
        "v_swap_b32",
        "ds_swizzle_b32",
        "ds_permute_b32",
        "ds_bpermute_b32",
    }
)


def _row(lane: int) -> int:
    return lane & ~15


def _within_row(lane: int, source: int) -> int:
    return source if source >= 0 and _row(source) == _row(lane) else NO_LANE


def _within_wave(source: int) -> int:
    return source if 0 <= source < LANES else NO_LANE


_CONTROLS: dict[str, Callable[[int, int], int]] = {
    "row_shl": lambda i, n: _within_row(i, i + n),
    "row_shr": lambda i, n: _within_row(i, i - n),
    "row_ror": lambda i, n: _row(i) + (i - n) % 16,
    "row_newbcast": lambda i, n: _row(i) + n,
    "row_share": lambda i, n: _row(i) + n,
    "row_mirror": lambda i, n: _row(i) + 15 - i % 16,
    "row_half_mirror": lambda i, n: (i & ~7) + 7 - i % 8,
    "wave_shl": lambda i, n: _within_wave(i + 1),
    "wave_shr": lambda i, n: _within_wave(i - 1),
    "wave_rol": lambda i, n: (i + 1) % LANES,
    "wave_ror": lambda i, n: (i - 1) % LANES,
}


def _row_bcast(lane: int, n: int) -> int:
    if n == 15:
        return _row(lane) - 1 if lane >= 16 else NO_LANE
    return 31 if lane >= 32 else NO_LANE


def number(mods: Mapping[str, Mod], name: str, default: int = 0) -> int:
    """A modifier whose value is a number."""
    value = mods.get(name, default)
    if not isinstance(value, int):
        raise ValueError(f"{name} is a number, not {value!r}")
    return int(value)


def dpp_sources(mods: Mapping[str, Mod]) -> tuple[int, ...]:
    """The source lane of each lane, or -1."""
    quad = mods.get("quad_perm")
    if isinstance(quad, tuple):
        return tuple((i & ~3) + quad[i & 3] for i in range(LANES))
    if "row_bcast" in mods:
        return tuple(_row_bcast(i, number(mods, "row_bcast")) for i in range(LANES))
    for name, source in _CONTROLS.items():
        if name in mods:
            return tuple(source(i, number(mods, name)) for i in range(LANES))
    raise ValueError(f"unknown DPP control {dict(mods)}")


def dpp_enabled(mods: Mapping[str, Mod]) -> tuple[bool, ...]:
    """Which lanes row_mask and bank_mask allow to be written."""
    rows, banks = number(mods, "row_mask", 15), number(mods, "bank_mask", 15)
    return tuple(bool(rows >> i // 16 & 1 and banks >> (i // 4) % 4 & 1) for i in range(LANES))


def swizzle_sources(offset: int) -> tuple[int, ...]:
    """The source lanes of ds_swizzle_b32: quad permute, rotate, or and/or/xor masks within 32 lanes."""
    if offset >= 0xE000:
        raise ValueError("the FFT mode of ds_swizzle_b32 is not supported")
    if offset >= 0xC000:
        keep, amount = offset & 31, (offset >> 5 & 31) * (-1 if offset >> 10 & 1 else 1)
        return tuple((i & 32) | (i & keep) | (i + amount & ~keep & 31) for i in range(LANES))
    if offset & 0x8000:
        return tuple((i & ~3) + (offset >> 2 * (i & 3) & 3) for i in range(LANES))
    and_, or_, xor = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return tuple((i & 32) | ((i & 31 & and_) | or_) ^ xor for i in range(LANES))

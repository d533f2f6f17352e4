"""Memory instructions as a kernel author meets them: widths per lane, offset fields, buffer resources, direct-to-LDS.

    BUFFER_LOAD[16]                          -> "buffer_load_dwordx4"
    offset_fits("global", -4096)             -> True   (13 bits, signed)
    offset_fits("buffer", 4096)              -> False  (12 bits, unsigned)
    buffer_resource(base=0x7f0000001000, num_records=4096)  -> (0x1000, 0x7f00, 0x1000, 0x27000)

A raw buffer resource is four scalar registers: 48-bit base with the stride above it, the size in bytes, and a constant.
Loads beyond `num_records` return 0 and stores beyond it are dropped, which is how tails are masked without branches.

Direct-to-LDS loads (`buffer_load_dword ... lds`, `global_load_lds_dword`) move 1, 2 or 4 bytes per lane to
M0 + offset + 4 * lane. Wider ones, and transposing LDS reads, exist only on gfx950.

Sources: LLVM 22 (offset fields are checked against its assembler in the tests), AMD composable_kernel for 0x27000.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Space = Literal["buffer", "global", "flat", "scratch", "ds", "ds2", "smem"]

OFFSET_BITS: Mapping[Space, tuple[int, bool]] = MappingProxyType(
    {
        "buffer": (12, False),
        "global": (13, True),
        "scratch": (13, True),
        "flat": (12, False),
        "ds": (16, False),
        "ds2": (8, False),
        "smem": (21, True),
    }
)
"""(bits, signed) of the immediate offset, in bytes; `ds2` offsets count elements (64 elements in the st64 forms)."""

_SUFFIX = {4: "dword", 8: "dwordx2", 12: "dwordx3", 16: "dwordx4"}
_DS = {1: "b8", 2: "b16", 4: "b32", 8: "b64", 12: "b96", 16: "b128"}


def _widths(prefix: str, narrow: Mapping[int, str], wide: Mapping[int, str]) -> Mapping[int, str]:
    return MappingProxyType({size: prefix + suffix for size, suffix in {**narrow, **wide}.items()})


_LOAD_NARROW = {1: "ubyte", 2: "ushort"}
_STORE_NARROW = {1: "byte", 2: "short"}

BUFFER_LOAD = _widths("buffer_load_", _LOAD_NARROW, _SUFFIX)
BUFFER_STORE = _widths("buffer_store_", _STORE_NARROW, _SUFFIX)
GLOBAL_LOAD = _widths("global_load_", _LOAD_NARROW, _SUFFIX)
GLOBAL_STORE = _widths("global_store_", _STORE_NARROW, _SUFFIX)
DS_READ = _widths("ds_read_", {1: "u8", 2: "u16"}, {size: _DS[size] for size in _SUFFIX})
DS_WRITE = _widths("ds_write_", {}, _DS)
BUFFER_LOAD_LDS = _widths("buffer_load_", _LOAD_NARROW, {4: "dword"})
GLOBAL_LOAD_LDS = _widths("global_load_lds_", _LOAD_NARROW, {4: "dword"})
"""Bytes per lane -> mnemonic. `BUFFER_LOAD_LDS` instructions carry the modifier `lds`."""

BUFFER_WORD3 = 0x0002_7000
"""Last word of a raw buffer resource: data format 32 bits, number format float, no swizzle, no index stride."""

BASE_BITS = 48
STRIDE_BITS = 14


def offset_range(space: Space) -> range:
    """Immediate offsets the encoding can hold."""
    bits, signed = OFFSET_BITS[space]
    return range(-(1 << bits - 1), 1 << bits - 1) if signed else range(1 << bits)


def offset_fits(space: Space, offset: int) -> bool:
    return offset in offset_range(space)


def buffer_resource(base: int, num_records: int, stride: int = 0) -> tuple[int, int, int, int]:
    """The four dwords of a raw buffer resource over `num_records` bytes from `base`."""
    if not 0 <= base < 1 << BASE_BITS:
        raise ValueError(f"a buffer base address has 48 bits: {base:#x}")
    if not 0 <= num_records < 1 << 32:
        raise ValueError(f"a buffer holds at most 2**32 - 1 bytes, not {num_records}")
    if not 0 <= stride < 1 << STRIDE_BITS:
        raise ValueError(f"a buffer stride is below 2**14 bytes, not {stride}")
    return base & 0xFFFF_FFFF, base >> 32 | stride << 16, num_records, BUFFER_WORD3

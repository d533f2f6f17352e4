"""The LDS of one compute unit: banks, the order in which lanes are served, and what a bank conflict costs.

The LDS is 32 banks of four bytes: bank = (byte address / 4) % 32. A wave access is served in *phases*, fixed groups of
lanes; inside a phase each bank delivers one dword per clock, and lanes that want the same dword share it. A phase whose
busiest bank is asked for n different dwords takes n clocks.

    rows of 128 bytes, lane l reads 16 bytes at row l:  addresses = 128 * lane
    conflict_cycles("read", 128, addresses)             -> 64   (8 phases x 8 ways; 8 would be conflict-free)
    conflict_cycles("read", 128, 128 * lane + 16 * (lane % 8))  -> 8

Why tables: the groups of ds_read_b128 are not consecutive lanes, and a swizzle that ignores that is only right by luck.

Sources: nod-ai empirical-lds (MI300X), an independent MI300 probe, AMD's lds-bank-conflict article: they agree on the
read groups of 32, 64 and 128 bits. The groups of 96-bit reads and of 64-bit writes were measured on gfx950 in 32-bank
behaviour and are assumed here; those of 96-bit writes are assumed equal to 128-bit writes. Ports: the pipeline
description of AMD's rocprofiler-compute.

Not known, and decided here: a phase without an active lane still takes its clock; several lanes writing one dword count
as one; an access whose address is not a multiple of its width is treated dword by dword.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["read", "write"]

BANKS = 32
BANK_BYTES = 4
SIZE_BYTES = 65536
ALLOC_GRANULE_BYTES = 512
ALL_LANES = (1 << 64) - 1


def _consecutive(size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(first, first + size)) for first in range(0, 64, size))


def _quad(q: int) -> tuple[int, ...]:
    return tuple(range(4 * q, 4 * q + 4))


def _wide_read() -> tuple[tuple[int, ...], ...]:
    """0-3 with 20-23, 32-35 with 52-55, 4-7 with 16-19, ...: quads q and q ^ 5 of one half wave, halves alternating."""
    return tuple(_quad(half + q) + _quad(half + (q ^ 5)) for q in range(4) for half in (0, 8))


PHASES: Mapping[tuple[Kind, int], tuple[tuple[int, ...], ...]] = MappingProxyType(
    {
        ("read", 32): _consecutive(32),
        ("read", 64): _consecutive(16),
        ("read", 96): _wide_read(),
        ("read", 128): _wide_read(),
        ("write", 32): _consecutive(32),
        ("write", 64): _consecutive(16),
        ("write", 96): _consecutive(8),
        ("write", 128): _consecutive(8),
    }
)
"""(kind, bits per lane) -> lane groups in the order of service. 8- and 16-bit accesses are served as 32-bit ones."""

PORT_CLOCKS: Mapping[tuple[Kind, int], int] = MappingProxyType(
    {
        ("read", 32): 4,
        ("read", 64): 8,
        ("read", 96): 12,
        ("read", 128): 16,
        ("write", 32): 8,
        ("write", 64): 12,
        ("write", 96): 16,
        ("write", 128): 20,
    }
)
"""Clocks one wave access holds the 64 B/clk port of its SIMD pair: data, plus four clocks of addresses for stores."""


def access_bits(bits: int) -> int:
    """The served width of an access of `bits` per lane: 8 and 16 count as 32."""
    served = max(bits, 32)
    if served not in (32, 64, 96, 128):
        raise ValueError(f"an LDS access moves 8, 16, 32, 64, 96 or 128 bits per lane, not {bits}")
    return served


def conflict_cycles(
    kind: Kind, bits: int, byte_addresses: npt.ArrayLike, exec_mask: int | npt.NDArray[np.uint64] = ALL_LANES
) -> int:
    """Clocks the banks are busy with one wave access; `len(PHASES[kind, bits])` means free of conflicts."""
    addresses = np.asarray(byte_addresses, dtype=np.int64).reshape(1, 64)
    return int(conflict_cycles_many(kind, bits, addresses, np.full(1, exec_mask, dtype=np.uint64))[0])


def conflict_cycles_many(
    kind: Kind, bits: int, byte_addresses: npt.NDArray[np.int64], exec_masks: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """The same for n accesses at once: addresses [n, 64], exec masks [n], clocks [n]."""
    served = access_bits(bits)
    count = len(byte_addresses)
    active = (exec_masks[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1) == 1
    first_dword = byte_addresses.astype(np.int64) // BANK_BYTES
    total = np.zeros(count, dtype=np.int64)
    row = np.arange(count)[:, None]
    for lanes in PHASES[kind, served]:
        group = list(lanes)
        dwords = (first_dword[:, group, None] + np.arange(served // 32)).reshape(count, -1)
        wanted = np.repeat(active[:, group], served // 32, axis=1)
        dwords = np.sort(np.where(wanted, dwords, -1), axis=1)
        fresh = dwords >= 0
        fresh[:, 1:] &= dwords[:, 1:] != dwords[:, :-1]
        slots = (row * BANKS + dwords % BANKS)[fresh]
        ways = np.bincount(slots, minlength=count * BANKS).reshape(count, BANKS).max(axis=1)
        total += np.maximum(ways, 1)
    return total


def conflict_free_cycles(kind: Kind, bits: int) -> int:
    """Bank clocks of an access without conflicts: one per phase."""
    return len(PHASES[kind, access_bits(bits)])


def allocated_bytes(size: int) -> int:
    """LDS taken by a workgroup that asks for `size` bytes."""
    return -(-size // ALLOC_GRANULE_BYTES) * ALLOC_GRANULE_BYTES

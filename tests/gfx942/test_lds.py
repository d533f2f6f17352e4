"""LDS phases against the published lane groups, and conflict counting against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.gfx942.lds import (
    PHASES,
    PORT_CLOCKS,
    Kind,
    access_bits,
    allocated_bytes,
    conflict_cycles,
    conflict_cycles_many,
    conflict_free_cycles,
)

LANE = np.arange(64)

PUBLISHED_B128_READ = (
    "0-3+20-23; 32-35+52-55; 4-7+16-19; 36-39+48-51; 8-11+28-31; 40-43+60-63; 12-15+24-27; 44-47+56-59"
)


def _lanes(text: str) -> tuple[int, ...]:
    spans = (tuple(map(int, part.split("-"))) for part in text.split("+"))
    return tuple(sorted(lane for first, last in spans for lane in range(first, last + 1)))


def test_wide_read_groups_are_the_published_ones() -> None:
    assert PHASES["read", 128] == tuple(_lanes(group) for group in PUBLISHED_B128_READ.split("; "))


@pytest.mark.parametrize("key", sorted(PHASES))
def test_phases_partition_the_wave(key: tuple[Kind, int]) -> None:
    assert sorted(lane for group in PHASES[key] for lane in group) == list(range(64))
    assert {len(group) for group in PHASES[key]} == {64 // len(PHASES[key])}


@pytest.mark.parametrize(("bits", "extra"), [(32, 62), (64, 60), (128, 56)])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_fully_conflicted_costs_the_measured_extra_clocks(kind: Kind, bits: int, extra: int) -> None:
    assert conflict_cycles(kind, bits, LANE * 128) - conflict_free_cycles(kind, bits) == extra


def _brute_force(kind: Kind, bits: int, addresses: list[int], mask: int) -> int:
    clocks = 0
    for group in PHASES[kind, bits]:
        asked: dict[int, set[int]] = {}
        for lane in group:
            if mask >> lane & 1:
                for dword in range(addresses[lane] // 4, addresses[lane] // 4 + bits // 32):
                    asked.setdefault(dword % 32, set()).add(dword)
        clocks += max([1, *(len(dwords) for dwords in asked.values())])
    return clocks


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(["read", "write"]),
    bits=st.sampled_from([32, 64, 96, 128]),
    stride=st.integers(0, 300),
    scatter=st.lists(st.integers(0, 4095), min_size=64, max_size=64),
    strided=st.booleans(),
    mask=st.one_of(st.just((1 << 64) - 1), st.integers(0, (1 << 64) - 1)),
)
def test_counting_is_brute_force(
    kind: Kind, bits: int, stride: int, scatter: list[int], strided: bool, mask: int
) -> None:
    addresses = [4 * stride * lane if strided else 4 * scatter[lane] for lane in range(64)]
    assert conflict_cycles(kind, bits, addresses, mask) == _brute_force(kind, bits, addresses, mask)


def test_many_is_each() -> None:
    rng = np.random.default_rng(7)
    addresses = rng.integers(0, 1024, (20, 64)) * 4
    masks = rng.integers(0, 1 << 63, 20, dtype=np.uint64)
    got = conflict_cycles_many("read", 64, addresses, masks)
    assert list(got) == [conflict_cycles("read", 64, a, int(m)) for a, m in zip(addresses, masks, strict=True)]


def test_broadcast_and_swizzle() -> None:
    assert conflict_cycles("read", 32, np.zeros(64)) == 2
    assert conflict_cycles("read", 128, LANE * 128) == 64
    assert conflict_cycles("read", 128, LANE * 128 + 16 * (LANE % 8)) == 8


def test_ports_and_granules() -> None:
    assert PORT_CLOCKS["write", 32] == 8
    assert PORT_CLOCKS["write", 128] == 20
    assert access_bits(16) == 32
    assert allocated_bytes(1) == 512
    assert allocated_bytes(0) == 0
    with pytest.raises(ValueError, match="not 256"):
        access_bits(256)

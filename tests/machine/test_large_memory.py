"""Memory of many GiB is mapped, and costs the pages that are touched."""

from __future__ import annotations

import pytest

from argus.machine.memory import Arena, OutOfBounds

GIB = 1 << 30


def test_what_was_written_stays_when_the_buffer_grows() -> None:
    arena = Arena()
    first = arena.allocate(1 << 26, "first")
    place = arena.offset(first.start + (1 << 25), 4)
    arena.buffer[place : place + 4] = 7
    second = arena.allocate(3 * GIB, "second")
    assert (arena.buffer[place : place + 4] == 7).all()
    assert arena.read(first).sum(dtype=int) == 28
    assert arena.offset(second.start + 3 * GIB - 4, 4) > 3 * GIB


def test_an_allocation_larger_than_the_host_has() -> None:
    arena = Arena()
    small, large = arena.allocate(4096, "small"), arena.allocate(64 * GIB, "large")
    for at in (0, 2 * GIB, 4 * GIB, 64 * GIB - 4):
        place = arena.offset(large.start + at, 4)
        assert not arena.buffer[place : place + 4].any()
        arena.buffer[place : place + 4] = at >> 30 & 0xFF
    assert [int(arena.buffer[arena.offset(large.start + at, 4)]) for at in (0, 2 * GIB, 4 * GIB)] == [0, 2, 4]
    assert not arena.read(small).any()
    with pytest.raises(OutOfBounds):
        arena.offset(large.start + 64 * GIB - 2, 4)

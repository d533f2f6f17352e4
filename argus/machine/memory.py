"""Device memory: one flat buffer with separated allocations, every access checked against them.

    arena = Arena()
    a = arena.allocate(4096, "x")            # Allocation(start=0x7f0000010000, size=4096)
    arena.offsets(addresses, size)           # byte offsets into arena.buffer, or OutOfBounds naming the first bad lane

The buffer is one NumPy byte array, so both executors address it as host base + (device address - `arena.base`).
Allocations are aligned to 256 bytes and separated by guard bands of at least 4 KiB; an access that does not lie wholly
inside one allocation is out of bounds, also when it falls into a neighbour by less than a guard band or into padding.
Null and wild pointers are therefore caught, and reading one array past its end is, too, except in its last dword: those
up to three bytes belong to the page of the array on any device, and hold garbage here that must not reach a result. A
store there is caught. What is not caught: an access that jumps over a whole guard band into another allocation.

Lanes of one access are checked together: the smallest and the largest address must lie in the same allocation, which
is two reductions; only if that fails the lanes are looked at one by one.
"""

from __future__ import annotations

import mmap
import sys
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BASE = 0x7F00_0000_0000
GUARD = 4096
ALIGN = 256
DWORD = 4
GARBAGE = 0xA5
"""What the rest of an array's last dword holds."""

RESERVED = 1 << 30
"""Up to so many bytes are asked for as usual; a larger buffer is mapped without reserving memory for it, since only the
pages that a launch touches are needed."""
COPIED = 1 << 24
"""Bytes that are moved at once when the buffer grows."""
NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""MAP_NORESERVE."""

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Allocation:
    """`size` bytes at device address `start`; `internal` ones hold what the launch needs, not the user's data."""

    start: int
    size: int
    name: str
    internal: bool = False

    @property
    def end(self) -> int:
        return self.start + self.size

    @property
    def readable(self) -> int:
        """Bytes that may be loaded: whole dwords."""
        return -(-self.size // DWORD) * DWORD


class OutOfBounds(Exception):
    """Lane number `lane` (an index into the given addresses) touches bytes outside every allocation."""

    def __init__(self, lane: int, address: int, size: int, nearest: Allocation | None) -> None:
        where = "no allocation is near"
        if nearest is not None:
            past = address + size - nearest.end
            gap = f"{past} bytes past the end" if past > 0 else f"{nearest.start - address} bytes before the start"
            where = f"{gap} of {nearest.name} ({nearest.size} bytes at {nearest.start:#x})"
        super().__init__(f"{size} bytes at {address:#x}: {where}")
        self.lane, self.address, self.size, self.nearest = lane, address, size, nearest


def zeroed(size: int) -> Bytes:
    """So many zeros; pages of a large buffer cost memory when they are touched."""
    if size <= RESERVED or sys.platform == "win32":
        return np.zeros(size, np.uint8)
    return np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE), np.uint8)


class Arena:
    """The device's memory for one launch."""

    def __init__(self, capacity: int = 1 << 16) -> None:
        self.base = BASE
        self.buffer: Bytes = np.zeros(max(capacity, GUARD), np.uint8)
        self._top = GUARD
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._readable: list[int] = []
        self.allocations: list[Allocation] = []
        self._view()

    def _view(self) -> None:
        self.words: NDArray[np.uint32] = self.buffer.view(np.uint32)
        self.halves: NDArray[np.uint16] = self.buffer.view(np.uint16)

    def allocate(self, size: int, name: str, internal: bool = False) -> Allocation:
        """Reserve `size` zeroed bytes; the buffer may move, device addresses do not."""
        start = -(-self._top // ALIGN) * ALIGN
        self._top = start + size + GUARD
        if self._top > len(self.buffer):
            grown = zeroed(-(-max(self._top, 2 * len(self.buffer)) // 4096) * 4096)
            for first in range(0, len(self.buffer), COPIED):
                part = self.buffer[first : first + COPIED]
                if part.any():  # what was never touched stays so
                    grown[first : first + len(part)] = part
            self.buffer = grown
            self._view()
        self._starts.append(start)
        allocation = Allocation(self.base + start, size, name, internal)
        self._ends.append(start + size)
        self._readable.append(start + allocation.readable)
        self.buffer[start + size : start + allocation.readable] = GARBAGE
        self.allocations.append(allocation)
        return allocation

    def overwritten(self) -> Allocation | None:
        """An allocation past whose end, in its last dword, something was stored."""
        for allocation in self.allocations:
            first = allocation.start - self.base
            if (self.buffer[first + allocation.size : first + allocation.readable] != GARBAGE).any():
                return allocation
        return None

    def write(self, allocation: Allocation, data: Bytes) -> None:
        offset = allocation.start - self.base
        self.buffer[offset : offset + len(data)] = data

    def read(self, allocation: Allocation) -> Bytes:
        offset = allocation.start - self.base
        return self.buffer[offset : offset + allocation.size]

    def find(self, address: int, size: int) -> Allocation | None:
        """The allocation holding all of `size` bytes at `address`."""
        offset = address - self.base
        k = bisect_right(self._starts, offset) - 1
        return self.allocations[k] if k >= 0 and offset + size <= self._ends[k] else None

    def nearest(self, address: int) -> Allocation | None:
        """The user's allocation whose guard band, or one megabyte around it, holds the address; for messages."""
        known = (a for a in self.allocations if not a.internal)
        best = min(known, key=lambda a: max(a.start - address, address - a.end), default=None)
        return best if best is not None and max(best.start - address, address - best.end) < 1 << 20 else None

    def offset(self, address: int, size: int) -> int:
        """Offset into the buffer of one checked access."""
        if self.find(address, size) is None:
            raise OutOfBounds(0, address, size, self.nearest(address))
        return address - self.base

    def offsets(self, addresses: NDArray[np.uint64], size: int, writes: bool = True) -> Offsets:
        """Offsets into the buffer of the lanes' accesses of `size` bytes each; at least one lane."""
        ends = self._ends if writes else self._readable
        offsets = (addresses - np.uint64(self.base)).view(np.int64)
        low, high = int(np.minimum.reduce(offsets)), int(np.maximum.reduce(offsets))
        k = bisect_right(self._starts, low) - 1
        if k < 0 or high + size > ends[k]:
            self._check_each(addresses, offsets, size, ends)
        return offsets

    def _check_each(self, addresses: NDArray[np.uint64], offsets: Offsets, size: int, ends: list[int]) -> None:
        for lane, offset in enumerate(offsets.tolist()):
            k = bisect_right(self._starts, offset) - 1
            if k < 0 or offset + size > ends[k]:
                address = int(addresses[lane])
                raise OutOfBounds(lane, address, size, self.nearest(address))


def gather(words: NDArray[np.uint32], buffer: Bytes, offsets: Any, size: int) -> Any:
    """Elements of `size` bytes at byte offsets (n,): (dwords, n) words; 1 and 2 bytes are zero-extended."""
    if size >= 4:
        count = size // 4
        if not np.bitwise_or.reduce(offsets) & 3:
            first = offsets >> 2
            if count == 1:
                return words[first][None, :]
            return words[first + np.arange(count)[:, None]]
        index = (offsets + 4 * np.arange(count)[:, None])[..., None] + np.arange(4)
        return np.ascontiguousarray(buffer[index]).view(np.uint32)[..., 0]
    if size == 2:
        low, high = (buffer[offsets + k].astype(np.uint32) for k in range(2))
        return (low | high << np.uint32(8))[None, :]
    return buffer[offsets].astype(np.uint32)[None, :]


def scatter(words: NDArray[np.uint32], buffer: Bytes, offsets: Any, size: int, data: NDArray[np.uint32]) -> None:
    """Store (dwords, n) words at byte offsets (n,); of lanes with the same address the last wins."""
    if size >= 4:
        count = size // 4
        if not np.bitwise_or.reduce(offsets) & 3:
            first = offsets >> 2
            for d in range(count):
                words[first + d] = data[d]
            return
        for d in range(count):
            for byte in range(4):
                buffer[offsets + 4 * d + byte] = (data[d] >> np.uint32(8 * byte)).astype(np.uint8)
        return
    for byte in range(size):
        buffer[offsets + byte] = (data[0] >> np.uint32(8 * byte)).astype(np.uint8)

"""The execution record: what each wave executed, as arrays. The clock reads it.

    record.waves[(0, 2)]           wave 2 of workgroup 0
      .pc        int32  [n]        byte offset in the code section of each executed instruction, in order
      .exec      uint64 [n]        exec mask when it was issued, bit i = lane i
      .addr      uint64 [m, 64]    byte address of each lane of each memory access; NO_ADDRESS: takes no part
      .addr_index int32 [m]        which executed instruction the access belongs to: a position in `pc`, non-decreasing
      .bytes     int32  [m]        bytes each lane moves
      .space     uint8  [m]        LDS, GLOBAL, SCRATCH or SCALAR
      .barriers  int32  [b]        positions in `pc` of the executed s_barrier

Example: two waves storing 64 consecutive dwords give one row each: `addr[0] == base + 4 * arange(64)`, `bytes[0] ==
4`, `space[0] == GLOBAL`. `ds_read2_b64` gives two rows with the same `addr_index` (first, then second element); a
direct-to-LDS load gives one GLOBAL and one LDS row; scalar memory uses column 0 only. LDS addresses start at 0 in
each workgroup, scratch addresses at 0 in each lane, global addresses are those of the device memory. Lanes outside a
buffer's range take no part.

Workgroups are numbered linearly, x fastest: x + gx * (y + gy * z). Both executors make this type; instructions a wave
skips (s_setvskip, an untaken side of a branch) do not appear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

LDS, GLOBAL, SCRATCH, SCALAR = 0, 1, 2, 3
NO_ADDRESS = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class WaveRecord:
    """One wave; the fields are described at the head of the module."""

    pc: NDArray[np.int32]
    exec: NDArray[np.uint64]
    addr: NDArray[np.uint64]
    addr_index: NDArray[np.int32]
    bytes: NDArray[np.int32]
    space: NDArray[np.uint8]
    barriers: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    """All recorded waves of a launch, by (linear workgroup number, wave number)."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    waves: Mapping[tuple[int, int], WaveRecord] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        """Wave instructions in the record."""
        return sum(len(w.pc) for w in self.waves.values())


class WaveRecorder:
    """Collects a wave's record while it runs."""

    __slots__ = ("_addr", "_addr_index", "_barriers", "_bytes", "_exec", "_pc", "_space")

    def __init__(self) -> None:
        self._pc: list[int] = []
        self._exec: list[int] = []
        self._addr: list[NDArray[np.uint64]] = []
        self._addr_index: list[int] = []
        self._bytes: list[int] = []
        self._space: list[int] = []
        self._barriers: list[int] = []

    def instruction(self, pc: int, exec_: int) -> None:
        self._pc.append(pc)
        self._exec.append(exec_)

    def barrier(self) -> None:
        """The instruction entered last is a barrier."""
        self._barriers.append(len(self._pc) - 1)

    def access(self, addr: NDArray[np.uint64], size: int, space: int) -> None:
        """A memory access of the instruction entered last; `addr` has 64 entries and is kept, not copied."""
        self._addr.append(addr)
        self._addr_index.append(len(self._pc) - 1)
        self._bytes.append(size)
        self._space.append(space)

    def finish(self) -> WaveRecord:
        addr = np.stack(self._addr) if self._addr else np.zeros((0, 64), np.uint64)
        return WaveRecord(
            pc=np.array(self._pc, np.int32),
            exec=np.array(self._exec, np.uint64),
            addr=addr,
            addr_index=np.array(self._addr_index, np.int32),
            bytes=np.array(self._bytes, np.int32),
            space=np.array(self._space, np.uint8),
            barriers=np.array(self._barriers, np.int32),
        )

"""Registers of a wave and the memory of a workgroup.

    w.v[5]            the 64 lanes of v5, a uint32 row; w.v[accum_offset + 3] is a3 (one register file)
    w.s[4]            s4, a Python int; vcc is s[106:107], m0 s[124]
    w.exec            the exec mask as an int; w.lanes the same as a bool row; w.full whether all 64 are set

Scalar registers are integers rather than an array because scalar code is a quarter of a kernel and Python integers are
its fastest arithmetic. `set_exec` keeps the three forms of exec together; s[126:127] always equals it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from argus.gfx942.inst import EXEC
from argus.machine.semantics.numpy_backend import ArithmeticMode, NumpyBuilder, numpy_builder

if TYPE_CHECKING:
    from argus.machine.checks.uninitialised import Defined
    from argus.machine.checks.waits import WaveQueues
    from argus.machine.record import WaveRecorder

LANES = 64
ALL = (1 << 64) - 1
REGISTERS = 512
SCALARS = 128
LDS_LIMIT = 65536
SHARED_BASE = 0x0001_0000_0000_0000
PRIVATE_BASE = 0x0002_0000_0000_0000

LaneMask = NDArray[np.bool_]


@lru_cache(maxsize=1 << 14)
def lanes_of(bits: int) -> LaneMask:
    """A 64-bit mask as a (read-only) bool row."""
    row = np.unpackbits(np.frombuffer(bits.to_bytes(8, "little"), np.uint8), bitorder="little").view(np.bool_)
    row.flags.writeable = False
    return row


def bits_of(row: LaneMask) -> int:
    """A bool row of 64 lanes as an int."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


class Wave:
    """One wave: registers, position, and what it waits for."""

    __slots__ = (
        "barriers",
        "builder",
        "defined",
        "dx10_clamp",
        "exec",
        "full",
        "group",
        "hwreg",
        "index",
        "index_mode",
        "lanes",
        "mode",
        "pc",
        "queues",
        "recorder",
        "registers",
        "s",
        "scc",
        "scratch",
        "skip",
        "state",
        "steps",
        "v",
    )

    def __init__(self, group: Workgroup, index: int, mode: ArithmeticMode) -> None:
        self.group = group
        self.index = index
        self.registers = np.zeros((REGISTERS, LANES), np.uint32)
        self.v: list[NDArray[np.uint32]] = list(self.registers)
        self.s: list[int] = [0] * (SCALARS + 16)
        self.scc = False
        self.pc = 0
        self.steps = 0
        self.barriers = 0
        self.state = "running"
        self.skip = False
        self.index_mode = 0
        self.mode = mode
        self.dx10_clamp = True
        self.hwreg: dict[int, int] = {}
        self.builder: NumpyBuilder = numpy_builder(mode)
        self.scratch: NDArray[np.uint8] = np.zeros((LANES, 0), np.uint8)
        self.recorder: WaveRecorder | None = None
        self.queues: WaveQueues | None = None
        self.defined: Defined
        self.exec = ALL
        self.lanes = lanes_of(ALL)
        self.full = True
        self.set_exec(ALL)

    def set_exec(self, bits: int) -> None:
        self.exec = bits
        self.full = bits == ALL
        self.lanes = lanes_of(bits)
        self.s[EXEC] = bits & 0xFFFFFFFF
        self.s[EXEC + 1] = bits >> 32

    def set_float_mode(self, mode: ArithmeticMode) -> None:
        self.mode = mode
        self.builder = numpy_builder(mode)

    def pair(self, n: int) -> int:
        return self.s[n] | self.s[n + 1] << 32

    def set_pair(self, n: int, value: int) -> None:
        if n == EXEC:
            self.set_exec(value)
        else:
            self.s[n] = value & 0xFFFFFFFF
            self.s[n + 1] = value >> 32

    def set_scalar(self, n: int, value: int) -> None:
        if n >= EXEC:
            self.set_exec(self.exec & 0xFFFFFFFF << 32 | value if n == EXEC else self.exec & 0xFFFFFFFF | value << 32)
        else:
            self.s[n] = value


class Workgroup:
    """One workgroup: its waves and its LDS."""

    __slots__ = ("id", "lds", "lds_bytes", "lds_words", "number", "waves")

    def __init__(self, identity: tuple[int, int, int], number: int, lds_bytes: int) -> None:
        self.id = identity
        self.number = number
        self.lds_bytes = lds_bytes
        self.lds = np.zeros(-(-max(lds_bytes, 4) // 4) * 4, np.uint8)
        self.lds_words: NDArray[np.uint32] = self.lds.view(np.uint32)
        self.waves: list[Wave] = []

"""An arena with known contents and a wave that addresses it: what the memory tests share."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from opcode_harness import LANES, put, wave

from argus.gfx942.inst import Inst, InstOperand, Mod
from argus.machine.interp_memory import compile_vector_memory
from argus.machine.interp_services import Services
from argus.machine.memory import Arena
from argus.machine.state import ALL

SIZE = 4096
LANE = list(range(LANES))


class Memory:
    """An arena with one allocation of known bytes, and a wave whose v[8:9] holds addresses into it."""

    def __init__(self, seed: int = 0, exec_: int = ALL) -> None:
        self.arena = Arena()
        self.allocation = self.arena.allocate(SIZE, "data")
        rng = np.random.default_rng(seed)
        self.initial = rng.integers(0, 256, SIZE).astype(np.uint8)
        self.arena.write(self.allocation, self.initial)
        self.services = Services(self.arena, 256, 0)
        self.wave = wave(exec_=exec_)

    @property
    def bytes(self) -> bytes:
        return self.arena.read(self.allocation).tobytes()

    def address(self, offsets: list[int]) -> None:
        put(self.wave, 8, [self.allocation.start + o for o in offsets], True)

    def run(self, op: str, operands: tuple[InstOperand, ...], **mods: Mod) -> None:
        with np.errstate(all="ignore"):
            compile_vector_memory(Inst(0, 8, op, "", operands, mods), self.services)(self.wave)


V4, ADDRESS, OFF = InstOperand("v", 4, 4), InstOperand("v", 8, 2), InstOperand("off")

LOADS: dict[str, Callable[[bytes, int], list[int]]] = {
    "ubyte": lambda m, a: [m[a]],
    "sbyte": lambda m, a: [int.from_bytes(m[a : a + 1], "little", signed=True) & 0xFFFFFFFF],
    "ushort": lambda m, a: [int.from_bytes(m[a : a + 2], "little")],
    "sshort": lambda m, a: [int.from_bytes(m[a : a + 2], "little", signed=True) & 0xFFFFFFFF],
    "dword": lambda m, a: list(struct.unpack_from("<1I", m, a)),
    "dwordx2": lambda m, a: list(struct.unpack_from("<2I", m, a)),
    "dwordx3": lambda m, a: list(struct.unpack_from("<3I", m, a)),
    "dwordx4": lambda m, a: list(struct.unpack_from("<4I", m, a)),
    "ubyte_d16": lambda m, a: [m[a]],
    "ubyte_d16_hi": lambda m, a: [m[a] << 16],
    "sbyte_d16": lambda m, a: [int.from_bytes(m[a : a + 1], "little", signed=True) & 0xFFFF],
    "sbyte_d16_hi": lambda m, a: [(int.from_bytes(m[a : a + 1], "little", signed=True) & 0xFFFF) << 16],
    "short_d16": lambda m, a: [int.from_bytes(m[a : a + 2], "little")],
    "short_d16_hi": lambda m, a: [int.from_bytes(m[a : a + 2], "little") << 16],
}

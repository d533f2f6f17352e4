"""The wait counters of a wave and the immediate of `s_waitcnt`.

Memory operations are counted when issued and uncounted when done; `s_waitcnt` holds the wave until each named counter
is at most the given number.

    encode(vm=15)          -> 0x0f7f, the other counters stay at "do not wait"
    decode(0xc07f)         -> Waits(vm=63, exp=7, lgkm=0)

    vm     6 bits, bits [15:14] and [3:0]   global/buffer/flat/scratch loads and stores, direct-to-LDS loads; in order
    exp    3 bits, bits [6:4]               exports; unused by compute kernels
    lgkm   4 bits, bits [11:8]              LDS (in order), scalar memory (out of order), messages; flat counts here too

A counter that is full stalls the issue of the next operation, so its maximum also bounds the operations in flight.
Source: LLVM AMDGPUBaseInfo.cpp, major version 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Counter = Literal["vm", "exp", "lgkm"]

VM_MAX = 63
EXP_MAX = 7
LGKM_MAX = 15


@dataclass(frozen=True, slots=True)
class Waits:
    """Upper bounds a wave waits for; the maximum of a counter means no wait on it."""

    vm: int = VM_MAX
    exp: int = EXP_MAX
    lgkm: int = LGKM_MAX

    def __post_init__(self) -> None:
        for name, value, top in (("vm", self.vm, VM_MAX), ("exp", self.exp, EXP_MAX), ("lgkm", self.lgkm, LGKM_MAX)):
            if not 0 <= value <= top:
                raise ValueError(f"{name}cnt is 0 to {top}, not {value}")


def encode(vm: int = VM_MAX, exp: int = EXP_MAX, lgkm: int = LGKM_MAX) -> int:
    """The 16-bit immediate of s_waitcnt."""
    waits = Waits(vm, exp, lgkm)
    return waits.vm & 15 | waits.exp << 4 | waits.lgkm << 8 | waits.vm >> 4 << 14


def decode(simm16: int) -> Waits:
    """The counters an s_waitcnt immediate names; its unused bits 7, 12 and 13 are ignored, as the hardware does."""
    return Waits(vm=simm16 & 15 | (simm16 >> 14 & 3) << 4, exp=simm16 >> 4 & 7, lgkm=simm16 >> 8 & 15)

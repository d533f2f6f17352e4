"""The registers a kernel has allocated, and instructions that name others.

    file = RegisterFile(vgprs=8, sgprs=16, accum_offset=8)
    file.beyond(decode("v_mov_b32 v200, 0"))        "names v200; the kernel has allocated 8 vector registers"

The descriptor states how many registers a wave gets. Hardware does not fault on others (by AMD's instruction set
document register 0 is read instead, and writes are dropped), so a kernel whose descriptor is too small computes
nonsense. Executing such an instruction is reported as ARG-M108 and ends the run, on both executors.

The limit of vector registers is the whole unified file, not the part below `accum_offset`: shipped kernels name
registers of the upper part as v and as a. Scalar registers are allocated by sixteens; vcc, m0, exec and the trap
registers are there in any case.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.gfx942.inst import FLAT_SCRATCH, Inst
from argus.machine.descriptor import Descriptor


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """How many vector (v and a together) and scalar registers a wave has, and which of the former is a0."""

    vgprs: int
    sgprs: int
    accum_offset: int

    @staticmethod
    def of(descriptor: Descriptor) -> RegisterFile:
        return RegisterFile(descriptor.vgprs, descriptor.sgprs, descriptor.accum_offset)

    def beyond(self, inst: Inst) -> str | None:
        """What to say about the first register the instruction names and the kernel does not have."""
        for operand in inst.operands:
            if operand.kind == "s" and operand.value < FLAT_SCRATCH:
                limit, first, what = self.sgprs, 0, "scalar"
            elif operand.kind in ("v", "a"):
                limit, first, what = self.vgprs, self.accum_offset if operand.kind == "a" else 0, "vector"
            else:
                continue
            last = operand.value + max(operand.count, 1) - 1
            if first + last >= limit:
                return f"names {operand.kind}{last}; the kernel has allocated {limit} {what} registers"
        return None

"""How many waves and workgroups share a compute unit: registers, LDS, slots and barriers.

    occupancy(vgprs=128, agprs=0, sgprs=40, lds_bytes=32768, workgroup_waves=4)
    -> Occupancy(waves_per_simd=2, workgroups_per_cu=2, limit="lds")

A SIMD has 512 vector registers per lane, shared by ArchVGPRs and AccVGPRs (at most 256 of each per wave). A wave's
share is rounded up to 8; when it uses AccVGPRs they start at the next multiple of 4 after its ArchVGPRs. Scalar
registers: 800 per SIMD in units of 16. A workgroup's waves may sit on any SIMD of one compute unit.

Sources: rocprofiler-compute (register file), LLVM AMDGPUBaseInfo.cpp (granules, barrier limit). Pages on the web that
give a granule of 16 vector registers are wrong for gfx942.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from argus.gfx942.chip import BARRIERS_PER_CU, MAX_WORKGROUP_THREADS, SIMDS_PER_CU, WAVE_LANES, WAVE_SLOTS_PER_SIMD
from argus.gfx942.lds import SIZE_BYTES, allocated_bytes

VECTOR_REGISTERS_PER_SIMD = 512
VECTOR_REGISTER_GRANULE = 8
ACCUM_OFFSET_GRANULE = 4
MAX_ARCH_REGISTERS = 256
MAX_ACC_REGISTERS = 256
SCALAR_REGISTERS_PER_SIMD = 800
SCALAR_REGISTER_GRANULE = 16
MAX_SCALAR_REGISTERS = 102

Limit = Literal["vector registers", "scalar registers", "lds", "wave slots", "barriers"]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Waves resident per SIMD (rounded up over the four), workgroups per compute unit, and what stops the next one."""

    waves_per_simd: int
    workgroups_per_cu: int
    limit: Limit


def round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


def vector_registers(vgprs: int, agprs: int) -> int:
    """Registers a wave takes from its SIMD's file of 512."""
    if not (0 <= vgprs <= MAX_ARCH_REGISTERS and 0 <= agprs <= MAX_ACC_REGISTERS):
        raise ValueError(f"a wave has at most 256 VGPRs and 256 AGPRs, not {vgprs} and {agprs}")
    used = round_up(vgprs, ACCUM_OFFSET_GRANULE) + agprs if agprs else vgprs
    return max(round_up(used, VECTOR_REGISTER_GRANULE), VECTOR_REGISTER_GRANULE)


def waves_by_vector_registers(vgprs: int, agprs: int = 0) -> int:
    """Waves per SIMD that the vector registers allow."""
    return min(WAVE_SLOTS_PER_SIMD, VECTOR_REGISTERS_PER_SIMD // vector_registers(vgprs, agprs))


def waves_by_scalar_registers(sgprs: int) -> int:
    """Waves per SIMD that the scalar registers (with VCC and friends) allow."""
    share = max(round_up(sgprs, SCALAR_REGISTER_GRANULE), SCALAR_REGISTER_GRANULE)
    return min(WAVE_SLOTS_PER_SIMD, SCALAR_REGISTERS_PER_SIMD // share)


def occupancy(vgprs: int, agprs: int, sgprs: int, lds_bytes: int, workgroup_waves: int) -> Occupancy:
    """What fits on one compute unit; ValueError when not even one workgroup does."""
    if not 1 <= workgroup_waves <= MAX_WORKGROUP_THREADS // WAVE_LANES:
        raise ValueError(f"a workgroup has 1 to 16 waves, not {workgroup_waves}")
    limits: list[tuple[int, Limit]] = [
        (SIMDS_PER_CU * waves_by_vector_registers(vgprs, agprs) // workgroup_waves, "vector registers"),
        (SIMDS_PER_CU * waves_by_scalar_registers(sgprs) // workgroup_waves, "scalar registers"),
        (SIMDS_PER_CU * WAVE_SLOTS_PER_SIMD // workgroup_waves, "wave slots"),
    ]
    if lds_bytes:
        limits.append((SIZE_BYTES // allocated_bytes(lds_bytes), "lds"))
    if workgroup_waves > 1:
        limits.append((BARRIERS_PER_CU, "barriers"))
    workgroups = min(number for number, _ in limits)
    tied = {limit for number, limit in limits if number == workgroups}
    limit = "wave slots" if "wave slots" in tied else next(name for number, name in limits if number == workgroups)
    if workgroups == 0:
        raise ValueError(f"one workgroup of {workgroup_waves} waves does not fit on a compute unit: {limit}")
    return Occupancy(-(-workgroups * workgroup_waves // SIMDS_PER_CU), workgroups, limit)

"""The kernel descriptor: 64 bytes that tell the hardware how to start a kernel.

    k = parse_descriptor(data)            # of symbol "my_kernel.kd"
    k.vgprs, k.accum_offset               # 256, 128: v0..v127 and a0..a127 of one file of 256
    k.user_sgprs                          # ("kernarg_segment_ptr",): s[0:1] hold the kernarg address

Field positions follow the AMDGPU user guide for gfx942 (GFX90A and later layout of COMPUTE_PGM_RSRC1..3). The unified
register file makes `vgprs` the total of VGPRs and AGPRs; a[k] is physical register accum_offset + k. Hand-written
objects often leave fields such as the kernarg size zero, so zero means "not stated" and nothing here depends on it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from argus.gfx942.elf import LoadError

DESCRIPTOR_SIZE = 64
PRELOAD_PROLOGUE = 256
"""Bytes at the entry that load the preloaded arguments where the firmware does not; skipped where it does."""

USER_SGPR_FEATURES: tuple[tuple[str, int], ...] = (
    ("private_segment_buffer", 4),
    ("dispatch_ptr", 2),
    ("queue_ptr", 2),
    ("kernarg_segment_ptr", 2),
    ("dispatch_id", 2),
    ("flat_scratch_init", 2),
    ("private_segment_size", 1),
)
"""User SGPRs in the order the hardware fills them, with their number of registers; property bit n enables the n-th."""


@dataclass(frozen=True, slots=True)
class FloatMode:
    """MODE at kernel start. Rounding 0 is to nearest even; denormals: bit 0 keeps inputs, bit 1 keeps outputs."""

    round_f32: int
    round_f16_f64: int
    denorm_f32: int
    denorm_f16_f64: int
    dx10_clamp: bool
    ieee: bool
    fp16_overflow: bool


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The decoded fields."""

    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_size: int
    entry_offset: int
    vgprs: int
    accum_offset: int
    sgprs: int
    float_mode: FloatMode
    enable_private_segment: bool
    user_sgpr_count: int
    user_sgprs: tuple[str, ...]
    workgroup_ids: tuple[bool, bool, bool]
    workgroup_info: bool
    workitem_id_mode: int
    kernarg_preload_length: int
    kernarg_preload_offset: int
    wavefront_size32: bool
    dynamic_stack: bool
    tg_split: bool
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int


def parse_descriptor(data: bytes) -> Descriptor:
    """Decode 64 bytes."""
    if len(data) != DESCRIPTOR_SIZE:
        raise LoadError(f"a kernel descriptor is {DESCRIPTOR_SIZE} bytes long, this one {len(data)}")
    group, private, kernarg, _, entry = struct.unpack_from("<IIIIq", data, 0)
    rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack_from("<IIIHH", data, 44)
    mode = FloatMode(
        round_f32=rsrc1 >> 12 & 3,
        round_f16_f64=rsrc1 >> 14 & 3,
        denorm_f32=rsrc1 >> 16 & 3,
        denorm_f16_f64=rsrc1 >> 18 & 3,
        dx10_clamp=bool(rsrc1 >> 21 & 1),
        ieee=bool(rsrc1 >> 23 & 1),
        fp16_overflow=bool(rsrc1 >> 26 & 1),
    )
    return Descriptor(
        group_segment_fixed_size=group,
        private_segment_fixed_size=private,
        kernarg_size=kernarg,
        entry_offset=entry,
        vgprs=((rsrc1 & 63) + 1) * 8,
        accum_offset=((rsrc3 & 63) + 1) * 4,
        sgprs=((rsrc1 >> 6 & 15) // 2 + 1) * 16,
        float_mode=mode,
        enable_private_segment=bool(rsrc2 & 1),
        user_sgpr_count=rsrc2 >> 1 & 31,
        user_sgprs=tuple(name for bit, (name, _) in enumerate(USER_SGPR_FEATURES) if properties >> bit & 1),
        workgroup_ids=(bool(rsrc2 >> 7 & 1), bool(rsrc2 >> 8 & 1), bool(rsrc2 >> 9 & 1)),
        workgroup_info=bool(rsrc2 >> 10 & 1),
        workitem_id_mode=rsrc2 >> 11 & 3,
        kernarg_preload_length=preload & 127,
        kernarg_preload_offset=preload >> 7,
        wavefront_size32=bool(properties >> 10 & 1),
        dynamic_stack=bool(properties >> 11 & 1),
        tg_split=bool(rsrc3 >> 16 & 1),
        rsrc1=rsrc1,
        rsrc2=rsrc2,
        rsrc3=rsrc3,
        properties=properties,
    )

"""The state the hardware hands a wave at kernel start, from the kernel descriptor.

    scalars = initial_scalars(kernel, packet, kernarg_address, kernarg_bytes, workgroup)     {register: value}

Order of the scalar registers: the user SGPRs the descriptor enables, then the preloaded kernel arguments, then the
enabled workgroup numbers (and workgroup info). v0 holds the work-item numbers packed as x | y << 10 | z << 20.
Kernels that preload arguments start behind the prologue that would load them (`KernelInfo.start`). Both executors
start waves through this module.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.machine.descriptor import USER_SGPR_FEATURES
from argus.machine.errors import LaunchError
from argus.machine.loader import KernelInfo
from argus.machine.semantics.numpy_backend import ArithmeticMode
from argus.machine.state import PRIVATE_BASE, SHARED_BASE

Triple = tuple[int, int, int]

_SIZES = dict(USER_SGPR_FEATURES)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What is the same for every wave of a launch. Addresses are device addresses."""

    kernel: KernelInfo
    grid: Triple
    block: Triple
    lds_bytes: int
    kernarg_address: int
    kernarg: bytes
    packet_address: int

    @property
    def waves(self) -> int:
        return -(-self.threads // 64)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def workgroups(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def workgroup(self, number: int) -> Triple:
        """(x, y, z) of a linear workgroup number."""
        return number % self.grid[0], number // self.grid[0] % self.grid[1], number // self.grid[0] // self.grid[1]


def dispatch_packet(grid: Triple, block: Triple, private: int, lds: int, kernarg_address: int) -> bytes:
    """The 64-byte AQL kernel dispatch packet (what dispatch_ptr points to)."""
    items = [g * b for g, b in zip(grid, block, strict=True)]
    return struct.pack("<HHHHHHIIIIIQQQQ", 2, 3, *block, 0, *items, private, lds, 0, kernarg_address, 0, 0)


def initial_scalars(dispatch: Dispatch, workgroup: Triple) -> dict[int, int]:
    """Scalar registers at kernel start."""
    descriptor = dispatch.kernel.descriptor
    wide = {
        "dispatch_ptr": dispatch.packet_address,
        "kernarg_segment_ptr": dispatch.kernarg_address,
        "queue_ptr": 0,
        "dispatch_id": 0,
        "flat_scratch_init": 0,
        "private_segment_buffer": 0,
        "private_segment_size": dispatch.kernel.private_segment_fixed_size,
    }
    scalars: dict[int, int] = {}
    at = 0
    for name in descriptor.user_sgprs:
        for k in range(_SIZES[name]):
            scalars[at + k] = wide[name] >> 32 * k & 0xFFFFFFFF
        at += _SIZES[name]
    for k in range(descriptor.kernarg_preload_length):
        offset = 4 * (descriptor.kernarg_preload_offset + k)
        word = dispatch.kernarg[offset : offset + 4].ljust(4, b"\0")
        scalars[at + k] = int.from_bytes(word, "little")
    at = descriptor.user_sgpr_count
    for axis, enabled in enumerate(descriptor.workgroup_ids):
        if enabled:
            scalars[at] = workgroup[axis]
            at += 1
    if descriptor.workgroup_info:
        scalars[at] = dispatch.waves
    return scalars


def initial_v0(dispatch: Dispatch, wave: int) -> tuple[NDArray[np.uint32], int]:
    """(packed work-item numbers, exec mask) of a wave; lanes beyond the block are off."""
    item = np.arange(64 * wave, 64 * wave + 64)
    x, y, _ = dispatch.block
    packed = (item % x | item // x % y << 10 | item // (x * y) << 20).astype(np.uint32)
    live = min(64, dispatch.threads - 64 * wave)
    return packed, (1 << live) - 1


def float_mode(kernel: KernelInfo) -> ArithmeticMode:
    """The float mode of the descriptor; rounding must be to nearest even."""
    mode = kernel.descriptor.float_mode
    if mode.round_f32 or mode.round_f16_f64:
        raise LaunchError(
            f"kernel {kernel.name} asks for a rounding mode other than to nearest even, which is not supported"
        )
    return ArithmeticMode(
        flush_f32=mode.denorm_f32 != 3,
        flush_f64_f16=mode.denorm_f16_f64 != 3,
        saturate_fp8=mode.fp16_overflow,
    )


def mode_register(kernel: KernelInfo) -> int:
    """The MODE register at kernel start."""
    mode = kernel.descriptor.float_mode
    bits = mode.round_f32 | mode.round_f16_f64 << 2 | mode.denorm_f32 << 4 | mode.denorm_f16_f64 << 6
    return bits | mode.dx10_clamp << 8 | mode.ieee << 9 | mode.fp16_overflow << 23


HIDDEN_APERTURES = {"hidden_private_base": PRIVATE_BASE >> 32, "hidden_shared_base": SHARED_BASE >> 32}


def hidden_argument(kind: str, grid: Triple, block: Triple, dynamic_lds: int) -> int:
    """The value of a hidden kernel argument of code object version 5; pointers the machine has no use for are 0."""
    axis = {"x": 0, "y": 1, "z": 2}.get(kind[-1], 0)
    if kind.startswith("hidden_block_count_"):
        return grid[axis]
    if kind.startswith("hidden_group_size_"):
        return block[axis]
    if kind == "hidden_grid_dims":
        return 3 if grid[2] * block[2] > 1 else 2 if grid[1] * block[1] > 1 else 1
    if kind == "hidden_dynamic_lds_size":
        return dynamic_lds
    return HIDDEN_APERTURES.get(kind, 0)

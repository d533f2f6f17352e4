"""Where a running kernel keeps its state in host memory.

A wave is one block of bytes, addressed by the pointers `wave` (vector registers) and `wave + SCALARS`:

    [0, 512*256)          vector registers, 64 lanes of 4 bytes each; v[k] is row k, a[k] is row accum_offset + k
    SPARE_ROWS            rows that no instruction names, for shuffled operands
    SCALARS + 4*r         scalar register r in the hardware numbering (vcc 106, m0 124, exec 126)
    SCALARS + SCC ...     scc, resume point, ... (`Scalar`)

A lane mask in a scalar register pair is 8 bytes; byte c is the mask of lanes 8c..8c+7, which is why code that works
on chunks of eight lanes loads and stores masks as single bytes.

A thread is one `context` block (`ContextFields`: arena, LDS, fault, budgets) followed by two address rows and the
staging area in which unpacked matrix operands wait. Nothing here is shared between threads, except the arena itself.
"""

from __future__ import annotations

from enum import IntEnum

LANES = 64
CHUNK = 8
CHUNKS = LANES // CHUNK
ROW = 4 * LANES
VECTOR_ROWS = 512
SPARE_ROWS = 8
SCALARS = (VECTOR_ROWS + SPARE_ROWS) * ROW


class Scalar(IntEnum):
    """Byte offsets from SCALARS of what is not an ordinary scalar register."""

    VCC = 4 * 106
    M0 = 4 * 124
    EXEC = 4 * 126
    SCC = 512
    RESUME = 516
    MODE = 524
    STATUS = 528
    STEPS = 536
    WAVE = 544
    LANE_MASKS = 552


SCALAR_BYTES = 640
WAVE_BYTES = SCALARS + SCALAR_BYTES + 64


class ArenaFields(IntEnum):
    """Byte offsets into the description of a memory: five fields of 8 bytes.

    HOST, BASE, SIZE   host address, device address, bytes
    SHADOW             for each 256 bytes a 16-bit number: which allocation they belong to
    BOUNDS             for each allocation its first byte (from BASE) and its size; number 0 is "none", of negative size
    """

    HOST = 0
    BASE = 8
    SIZE = 16
    SHADOW = 24
    BOUNDS = 32


GRANULE = 256


class ContextFields(IntEnum):
    """Byte offsets into a thread's context; every field is 8 bytes. It starts with the `ArenaFields` of the device
    memory."""

    LDS = 40
    LDS_SIZE = 48
    FAULT = 56
    FAULT_PC = 64
    FAULT_LANE = 72
    FAULT_ADDRESS = 80
    FAULT_WAVE = 88
    NOTE_PC = 96
    NOTE_LANE = 104
    NOTE_ADDRESS = 112
    NOTE_WAVE = 120
    STEPS = 128
    STEP_LIMIT = 136
    SLICE = 144
    STOP = 152
    TRACE = 160
    TRACE_END = 168
    FINISHED = 176
    CODE_BASE = 184
    SOFFSET_COUNTS = 192
    PRIVATE = 200
    NOTE_FINISHED = 240


ADDRESSES = 256
OFFSETS = ADDRESSES + 8 * LANES
STAGING = OFFSETS + 8 * LANES
STAGING_BYTES = 96 * 1024
CONTEXT_BYTES = STAGING + STAGING_BYTES


class LaunchFields(IntEnum):
    """Byte offsets into a launch block, which all threads read; every field is 8 bytes.

    The block ends with one template per wave of a workgroup: its scalars, then its first vector register.
    WORKGROUP_X, _Y, _Z are byte offsets from SCALARS of the registers that receive the workgroup's coordinates, or -1.
    """

    WAVES = 0
    GRID_X = 8
    GRID_Y = 16
    WORKGROUP_X = 24
    WORKGROUP_Y = 32
    WORKGROUP_Z = 40
    VECTOR_BYTES = 48
    QUANTUM = 56
    PRIVATE_BYTES = 64
    TEMPLATES = 128


TEMPLATE_BYTES = SCALAR_BYTES + ROW


class WaveStatus(IntEnum):
    """State words of a workgroup: how many waves live, how many wait, then one of these per wave."""

    READY = 0
    WAITING = 1
    DONE = 2


STATUS_LIVE, STATUS_WAITING, STATUS_WAVES = 0, 1, 2


class Exit(IntEnum):
    """What the translated function returns to the scheduler."""

    END = 0
    BARRIER = 1
    SLICE = 2
    FAULT = 3
    TRACE_FULL = 4
    STOPPED = 5


class Fault(IntEnum):
    """Why a wave was stopped (context field FAULT)."""

    NONE = 0
    OUT_OF_ARENA = 1
    MISALIGNED = 2
    STEP_LIMIT = 3
    TRAP = 4
    SWIZZLED = 5
    REGISTER = 6

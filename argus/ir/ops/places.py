"""Memories, where a thread touches them, and which bytes an access may touch.

    y[512*b].store(v, width=16)        Access: where and how many elements, as the author addressed them
                                       Footprint: the same as bytes, with what the hardware adds to them

A buffer access is checked against the tensor's size per dword, so a 2-byte store at the end of a tensor concerns the
dword it lies in. A direct copy of 1 or 2 bytes lands as a whole dword in LDS. Both are in the footprint, as `granule`
and `lane_stride`; what they mean for results is said by the semantics of the IR, not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from argus.ir.types import NOWHERE, DType, Span
from argus.layout.expr import Expr

Space = Literal["global", "lds"]
Counter = Literal["vm", "lgkm"]
BUFFER_GRANULE = 4
"""Bytes that a buffer's range check decides together."""
COPY_STRIDE = 4
"""Bytes between what neighboring lanes of a direct copy write to LDS, and bytes that each of them writes."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A kernel argument in global memory. `shape` and `strides` (in elements) are expressions over shape symbols.

    `written` says whether the kernel may store to it, `read` whether its first contents matter.
    """

    name: str
    dtype: DType
    axes: tuple[str, ...]
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    read: bool
    written: bool
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """A buffer in LDS at byte `base` of the workgroup's allocation; `layout` is its printed form, for reports."""

    name: str
    dtype: DType
    bytes: int
    base: int
    layout: str = ""
    span: Span = NOWHERE


Memory = Tensor | Shared


def space_of(memory: Memory) -> Space:
    """Which memory it lies in."""
    return "lds" if isinstance(memory, Shared) else "global"


@dataclass(frozen=True, slots=True)
class Access:
    """Where one thread touches memory: `count` consecutive elements.

    address   byte offset of element 0 from the start of `memory`, for the thread (lane, wave, block...)
    coords    coordinate of element 0 on every axis of a tensor; for LDS the logical coordinates it was addressed
              by, or empty. Element e has coords with `axis` advanced by e. What the checker's tags start from.
    guard     condition per thread: where it is false a load yields zeros and a store does nothing. Global accesses are
              *also* zero (dropped) where the byte offset leaves the tensor's buffer: that is what the hardware does.
    """

    memory: Memory
    address: Expr
    count: int
    coords: tuple[Expr, ...] = ()
    axis: int = -1
    guard: Expr | None = None

    @property
    def space(self) -> Space:
        return space_of(self.memory)

    @property
    def bytes(self) -> int:
        """Bytes of one thread's elements."""
        return self.count * self.memory.dtype.bytes

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What the machine computes to perform it."""
        return (self.address,) if self.guard is None else (self.address, self.guard)

    @property
    def guarded(self) -> bool:
        """Whether some thread may be excluded."""
        return self.guard is not None and not (self.guard.op == "const" and bool(self.guard.value))


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes that one op touches in one memory.

    address      byte offset in `memory` of the thread's first byte
    bytes        bytes from there on that the thread touches
    granule      bytes that the hardware decides together: an access concerns every granule it overlaps
    lane_stride  None: `address` is the thread's own. Else `address` is the wave's and lane i is `lane_stride * i` on
    """

    memory: Memory
    reads: bool
    writes: bool
    address: Expr
    bytes: int
    granule: int
    guard: Expr | None = None
    lane_stride: int | None = None

    @property
    def space(self) -> Space:
        return space_of(self.memory)

    def wave_bytes(self, lanes: int) -> int:
        """Bytes from `address` on that one wave may touch, where `address` is the wave's."""
        return self.bytes if self.lane_stride is None else self.lane_stride * (lanes - 1) + self.bytes


def footprint(access: Access, reads: bool, writes: bool) -> Footprint:
    """What an ordinary access touches."""
    granule = BUFFER_GRANULE if access.space == "global" else 1
    return Footprint(access.memory, reads, writes, access.address, access.bytes, granule, access.guard)

"""Kernel arguments: Python values to the bytes of the kernarg segment.

    pack_arguments(arena, info, (a, b, c, 3000), None, grid, block, 0).data

Pointers become device addresses of copies in the arena; `write_back` copies them back. Scalars are converted to the
size and kind the metadata states; without metadata (explicit offsets) they must carry their own size.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from argus.machine.errors import LaunchError
from argus.machine.interp_start import Triple, hidden_argument
from argus.machine.loader import KernelInfo
from argus.machine.memory import Allocation, Arena
from argus.machine.metadata import KernelArg

POINTER_KINDS = ("global_buffer", "dynamic_shared_pointer", "image", "pipe", "queue", "sampler")
POINTER_BYTES = 8
Bytes = NDArray[np.uint8]
Named = tuple[str, NDArray[Any]]


class _Buffers:
    """The arrays of a launch in device memory. Arrays that share bytes are one allocation: the same array given twice,
    or several read-only ones (views of one tensor). Allocations follow the order of the arguments.
    """

    def __init__(self, arena: Arena, arrays: Sequence[Named]) -> None:
        self.arena = arena
        self.taken = [_placed(arena, group) for group in sharing(arrays)]

    def address_of(self, array: NDArray[Any]) -> int:
        start, _ = byte_bounds(array)
        for group, first, allocation in self.taken:
            if any(_meet(array, other) for _, other in group):
                return allocation.start + start - first
        raise AssertionError("every array argument has been placed")

    def write_back(self) -> None:
        for group, _, allocation in self.taken:
            array = next((array for _, array in group if array.flags.writeable), None)
            if array is not None and array.size:
                array[...] = self.arena.read(allocation).view(array.dtype).reshape(array.shape)


def sharing(arrays: Sequence[Named]) -> list[list[Named]]:
    """Named arrays in groups that hang together through shared bytes, in the order of each group's first one."""
    groups: list[list[Named]] = []
    for named in arrays:
        touched = [group for group in groups if any(_meet(named[1], other) for _, other in group)]
        if touched:
            touched[0] += [named, *(other for group in touched[1:] for other in group)]
            groups = [group for group in groups if not any(group is other for other in touched[1:])]
        else:
            groups.append([named])
    return groups


def _meet(a: NDArray[Any], b: NDArray[Any]) -> bool:
    (start, end), (other, last) = byte_bounds(a), byte_bounds(b)
    return (start, end) == (other, last) or (start < last and other < end)


def _placed(arena: Arena, group: list[Named]) -> tuple[list[Named], int, Allocation]:
    """A group, its first host address, and its allocation with the bytes in it."""
    spans = [byte_bounds(array) for _, array in group]
    first = min(start for start, _ in spans)
    order = {() if array.flags.c_contiguous else array.strides for _, array in group}
    one = len(set(spans)) == 1 and len(order) == 1
    for name, array in reversed(group):
        if not one and (array.flags.writeable or not array.flags.c_contiguous):
            raise LaunchError(
                f"argument {name} partly overlaps another array argument in memory; only contiguous arrays that are "
                "not writeable may"
            )
    size = group[0][1].nbytes if one else max(end for _, end in spans) - first
    allocation = arena.allocate(size, group[0][0])
    for (_, array), (start, _) in zip(group, spans, strict=True):
        at = allocation.start + start - first - arena.base
        arena.buffer[at : at + array.nbytes] = _bytes_of(array)
    return group, first, allocation


def _bytes_of(array: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


@dataclass(frozen=True, slots=True)
class PackedArguments:
    """The kernarg bytes, and how to get the arrays back."""

    data: bytes
    write_back: Callable[[], None]


def pack_arguments(
    arena: Arena,
    info: KernelInfo,
    args: Sequence[Any],
    offsets: Sequence[int] | None,
    grid: Triple,
    block: Triple,
    dynamic_lds: int,
) -> PackedArguments:
    """Lay out the arguments of a launch."""
    if offsets is not None:
        return _explicit(arena, args, offsets, info)
    visible = [a for a in info.args if not a.hidden]
    if not info.args and args:
        raise LaunchError(f"kernel {info.name} has no argument metadata; pass offsets=[...] with the arguments")
    if len(args) != len(visible):
        names = ", ".join(a.name or "?" for a in visible)
        raise LaunchError(f"kernel {info.name} takes {len(visible)} arguments ({names}), {len(args)} given")
    size = max([info.kernarg_size, *(a.offset + a.size for a in info.args)], default=0)
    data = bytearray(size)
    pointers = [
        (_name(arg), as_array(v)) for arg, v in zip(visible, args, strict=True) if arg.value_kind in POINTER_KINDS
    ]
    buffers = _Buffers(arena, [(name, array) for name, array in pointers if array is not None])
    for arg, value in zip(visible, args, strict=True):
        data[arg.offset : arg.offset + arg.size] = _encode(arg, value, buffers)
    for arg in info.args:
        if arg.hidden:
            hidden = hidden_argument(arg.value_kind, grid, block, dynamic_lds)
            data[arg.offset : arg.offset + arg.size] = (hidden & (1 << 8 * arg.size) - 1).to_bytes(arg.size, "little")
    return PackedArguments(bytes(data), buffers.write_back)


def as_array(value: Any) -> NDArray[Any] | None:
    """The value as a NumPy array sharing its memory, or None if it is not one."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return None


def _name(arg: KernelArg) -> str:
    return arg.name or f"at offset {arg.offset}"


def _encode(arg: KernelArg, value: Any, buffers: _Buffers) -> bytes:
    name = _name(arg)
    array = as_array(value)
    if arg.value_kind in POINTER_KINDS:
        if value is None:
            return bytes(arg.size)
        if array is None:
            raise LaunchError(f"argument {name} is a pointer: pass an array or None, not {type(value).__name__}")
        if arg.size < POINTER_BYTES:
            raise LaunchError(f"argument {name} is a pointer of {arg.size} bytes; an address needs {POINTER_BYTES}")
        return buffers.address_of(array).to_bytes(arg.size, "little")
    if array is not None and array.ndim:
        raise LaunchError(f"argument {name} is a value of {arg.size} bytes, not a pointer; an array was given")
    return _scalar(value, arg.size, name)


def _scalar(value: Any, size: int, name: str) -> bytes:
    if isinstance(value, np.generic | np.ndarray):
        raw = value.tobytes()
        if len(raw) != size:
            if isinstance(value, np.integer):
                return _scalar(int(value), size, name)
            raise LaunchError(f"argument {name} has {size} bytes, {value.dtype} has {len(raw)}")
        return raw
    if isinstance(value, bool | int):
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise LaunchError(f"argument {name}: {value} does not fit in {size} bytes")
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    if isinstance(value, float) and size in (2, 4, 8):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    if isinstance(value, bytes) and len(value) == size:
        return value
    if value is None:
        return bytes(size)
    raise LaunchError(f"argument {name}: cannot pass {type(value).__name__} as a value of {size} bytes")


def _explicit(arena: Arena, args: Sequence[Any], offsets: Sequence[int], info: KernelInfo) -> PackedArguments:
    if len(args) != len(offsets):
        raise LaunchError(f"{len(args)} arguments but {len(offsets)} offsets")
    arrays = [None if isinstance(value, np.generic) else as_array(value) for value in args]
    buffers = _Buffers(arena, [(f"argument {k}", a) for k, a in enumerate(arrays) if a is not None and a.ndim])
    pieces: list[tuple[int, bytes]] = []
    for k, (value, array, offset) in enumerate(zip(args, arrays, offsets, strict=True)):
        if value is None:
            raw = bytes(8)
        elif array is not None and array.ndim:
            raw = buffers.address_of(array).to_bytes(8, "little")
        elif isinstance(value, np.generic | bytes):
            raw = bytes(value) if isinstance(value, bytes) else value.tobytes()
        else:
            raise LaunchError(f"argument {k} at offset {offset} needs a size: np.int32(...), np.float32(...), bytes")
        pieces.append((offset, raw))
    size = max([info.kernarg_size, *(offset + len(raw) for offset, raw in pieces)])
    data = bytearray(size)
    for offset, raw in pieces:
        data[offset : offset + len(raw)] = raw
    return PackedArguments(bytes(data), buffers.write_back)

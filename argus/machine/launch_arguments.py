"""Kernel arguments: Python values to the bytes of the kernarg segment.

    pack_arguments(arena, info, (a, b, c, 3000), None, grid, block, 0).data

Pointers become device addresses of copies in the arena; `write_back` copies them back. Scalars are converted to the
size and kind the metadata states; without metadata (explicit offsets) they must carry their own size.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.machine.errors import LaunchError
from argus.machine.interp_start import Triple, hidden_argument
from argus.machine.loader import KernelInfo
from argus.machine.memory import Allocation, Arena
from argus.machine.metadata import KernelArg

POINTER_KINDS = ("global_buffer", "dynamic_shared_pointer", "image", "pipe", "queue", "sampler")
POINTER_BYTES = 8
Bytes = NDArray[np.uint8]


@dataclass(slots=True)
class _Buffers:
    """Arrays already copied to the device, by host address and size."""

    arena: Arena
    taken: list[tuple[int, int, Allocation, NDArray[Any]]] = field(default_factory=list)

    def address_of(self, array: NDArray[Any], name: str) -> int:
        host = array.__array_interface__["data"][0]
        for start, size, allocation, _ in self.taken:
            if start == host and size == array.nbytes:
                return allocation.start
            if start < host + array.nbytes and host < start + size and size and array.nbytes:
                raise LaunchError(f"argument {name} partly overlaps another array argument in memory")
        allocation = self.arena.allocate(array.nbytes, name)
        self.arena.write(allocation, _bytes_of(array))
        self.taken.append((host, array.nbytes, allocation, array))
        return allocation.start

    def write_back(self) -> None:
        for _, _, allocation, array in self.taken:
            if array.flags.writeable:
                data = self.arena.read(allocation)
                array[...] = data.view(array.dtype).reshape(array.shape) if array.size else array


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
    buffers = _Buffers(arena)
    if offsets is not None:
        return PackedArguments(_explicit(args, offsets, buffers, info), buffers.write_back)
    visible = [a for a in info.args if not a.hidden]
    if not info.args and args:
        raise LaunchError(f"kernel {info.name} has no argument metadata; pass offsets=[...] with the arguments")
    if len(args) != len(visible):
        names = ", ".join(a.name or "?" for a in visible)
        raise LaunchError(f"kernel {info.name} takes {len(visible)} arguments ({names}), {len(args)} given")
    size = max([info.kernarg_size, *(a.offset + a.size for a in info.args)], default=0)
    data = bytearray(size)
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


def _encode(arg: KernelArg, value: Any, buffers: _Buffers) -> bytes:
    name = arg.name or f"at offset {arg.offset}"
    array = as_array(value)
    if arg.value_kind in POINTER_KINDS:
        if value is None:
            return bytes(arg.size)
        if array is None:
            raise LaunchError(f"argument {name} is a pointer: pass an array or None, not {type(value).__name__}")
        if arg.size < POINTER_BYTES:
            raise LaunchError(f"argument {name} is a pointer of {arg.size} bytes; an address needs {POINTER_BYTES}")
        return buffers.address_of(array, name).to_bytes(arg.size, "little")
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


def _explicit(args: Sequence[Any], offsets: Sequence[int], buffers: _Buffers, info: KernelInfo) -> bytes:
    if len(args) != len(offsets):
        raise LaunchError(f"{len(args)} arguments but {len(offsets)} offsets")
    pieces: list[tuple[int, bytes]] = []
    for k, (value, offset) in enumerate(zip(args, offsets, strict=True)):
        array = as_array(value)
        if value is None:
            raw = bytes(8)
        elif array is not None and not isinstance(value, np.generic) and array.ndim:
            raw = buffers.address_of(array, f"argument {k}").to_bytes(8, "little")
        elif isinstance(value, np.generic | bytes):
            raw = bytes(value) if isinstance(value, bytes) else value.tobytes()
        else:
            raise LaunchError(f"argument {k} at offset {offset} needs a size: np.int32(...), np.float32(...), bytes")
        pieces.append((offset, raw))
    size = max([info.kernarg_size, *(offset + len(raw) for offset, raw in pieces)])
    data = bytearray(size)
    for offset, raw in pieces:
        data[offset : offset + len(raw)] = raw
    return bytes(data)

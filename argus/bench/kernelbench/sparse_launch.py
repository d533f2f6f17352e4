"""A launch on device memory of which only what is needed holds data.

    launch = SparseLaunch(kernel, code, sizes, scalars, {"A": BufferSpan("x", first=0, elements=1 << 31), ...})
    launch.put("A", places, values)         elements of the buffer by their place in it
    launch.run([0, 17])
    launch.get("C", places)

The memory of all buffers is one allocation that costs nothing before it is touched. A place that gets data lies in a
granule of 256 bytes; it and its two neighbors hold ones in every bit (NaN, or -1) where no data were put, as outputs do
before the run: who reads beside its inputs computes NaN, and what was written can be told from what was not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argus import machine
from argus.device.guards import launch_grid, numpy_dtype
from argus.device.launch import scalar_values
from argus.ir.kernel import Kernel
from argus.machine.jit.executor import execute
from argus.machine.launch import PreparedLaunch

Places = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
GRANULE = 256
APART = 1 << 16
"""Bytes between buffers, at least, and before the first."""
ONES = 0xFF
POINTER = 8
MANY = 1 << 18
"""Numbers that are sorted; more are marked."""


@dataclass(frozen=True, slots=True)
class BufferSpan:
    """Where an argument lies: from element `first` of a buffer on, which starts at a multiple of 256 bytes."""

    buffer: str
    first: int
    elements: int


class SparseLaunch:
    """A launch whose memory is filled place by place."""

    def __init__(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        scalars: Mapping[str, float],
        spans: Mapping[str, BufferSpan],
    ) -> None:
        self._buffer = {name: span.buffer for name, span in spans.items()}
        self._dtype = {spans[t.name].buffer: numpy_dtype(t.dtype) for t in kernel.tensors}
        loaded = machine.load(code).kernel(kernel.name)
        stands = [np.zeros(1, np.uint8) for _ in kernel.tensors]
        values = [*stands, *scalar_values(kernel, sizes, scalars)]
        grid = launch_grid(kernel, sizes)
        prepared = loaded.prepare(grid, kernel.threads, values, 0, None, machine.Options())
        self._rows: dict[str, Array] = {}
        self._base: dict[str, int] = {}
        self._prepared = self._placed(prepared, [t.name for t in kernel.tensors], spans)
        self._filled = {name: np.zeros(len(rows), np.bool_) for name, rows in self._rows.items()}

    def _placed(
        self, prepared: PreparedLaunch, names: Sequence[str], spans: Mapping[str, BufferSpan]
    ) -> PreparedLaunch:
        """Memory for every buffer, from its first element that is used to its last, and the arguments' addresses."""
        starts: dict[str, int] = {}
        end = APART
        for buffer, dtype in self._dtype.items():
            used = [span for span in spans.values() if span.buffer == buffer]
            low = min(span.first for span in used) * dtype.itemsize // GRANULE
            high = -(-max(span.first + span.elements for span in used) * dtype.itemsize // GRANULE)
            starts[buffer], self._base[buffer] = end, low * GRANULE
            end += (high - low) * GRANULE
            end = -(-end // APART) * APART + APART
        arena, dispatch = prepared.arena, prepared.dispatch
        region = arena.allocate(end, "tensors")
        bounds = [*list(starts.values())[1:], end]
        for (buffer, start), following in zip(starts.items(), bounds, strict=True):
            first = region.start - arena.base + start - GRANULE
            rows = (following - start - APART // 2) // GRANULE
            memory = arena.buffer[first : first + rows * GRANULE]
            self._rows[buffer] = memory.reshape(-1, GRANULE)
        kernarg = bytearray(dispatch.kernarg)
        for name, argument in zip(names, dispatch.kernel.args, strict=False):
            span = spans[name]
            inside = span.first * self._dtype[span.buffer].itemsize - self._base[span.buffer]
            address = region.start + starts[span.buffer] + inside
            kernarg[argument.offset : argument.offset + POINTER] = address.to_bytes(POINTER, "little")
        arena.write(next(a for a in arena.allocations if a.start == dispatch.kernarg_address), _bytes(kernarg))
        return replace(prepared, dispatch=replace(dispatch, kernarg=bytes(kernarg)))

    def put(self, name: str, places: Places, values: Array) -> None:
        """Data of an argument, by places in its buffer; what is around them and has no data gets ones."""
        buffer = self._buffer[name]
        flat, local = self._local(buffer, places)
        self.surround(name, places)
        flat[local] = values

    def surround(self, name: str, places: Places) -> Places:
        """Ones in the granules of these places and next to them, where nothing was put; the numbers of all of them."""
        buffer = self._buffer[name]
        rows, filled = self._rows[buffer], self._filled[buffer]
        _, local = self._local(buffer, places)
        middle = _distinct(local.reshape(-1) * self._dtype[buffer].itemsize // GRANULE, len(rows))
        found = np.unique(np.concatenate([middle - 1, middle, middle + 1]))
        rows[found[~filled[found]]] = ONES
        filled[found] = True
        return found

    def granules(self, name: str, numbers: Places) -> npt.NDArray[np.uint8]:
        """A copy of granules of an argument's buffer, a row each."""
        made: npt.NDArray[np.uint8] = self._rows[self._buffer[name]][numbers].copy()
        return made

    def bytes_of(self, name: str, places: Places) -> tuple[Places, int]:
        """The first byte of places, counted from the first granule, and the bytes of an element."""
        buffer = self._buffer[name]
        size = self._dtype[buffer].itemsize
        return self._local(buffer, places)[1] * size, size

    def get(self, name: str, places: Places) -> Array:
        """Elements of an argument's buffer."""
        flat, local = self._local(self._buffer[name], places)
        return flat[local]

    def _local(self, buffer: str, places: Places) -> tuple[Array, Places]:
        """The buffer's memory as elements, and the places in it; one granule lies before the first element."""
        dtype = self._dtype[buffer]
        flat = self._rows[buffer].reshape(-1).view(dtype)
        return flat, places + (GRANULE - self._base[buffer]) // dtype.itemsize

    def run(self, workgroups: Sequence[int]) -> int:
        """Executes these workgroups; wave instructions. Raises `MachineError` where the machine finds a fault."""
        options = machine.Options(workgroups=list(workgroups))
        return execute(replace(self._prepared, options=options)).instructions


def _distinct(numbers: Places, most: int) -> Places:
    """Numbers below `most`, in order, each once."""
    if numbers.size < MANY:
        return np.unique(numbers)
    there = np.zeros(most, np.bool_)
    there[numbers] = True
    return np.flatnonzero(there)


def _bytes(data: bytearray) -> npt.NDArray[np.uint8]:
    return np.frombuffer(bytes(data), np.uint8)

"""A plan on a GPU: memory for its buffers, and all its launches as one HIP graph.

    with PlanOnGpu(PreparedPlan(plan), parameters) as there:        objects loaded, parameters copied, launches captured
        outputs = there.run({"x": x})                               inputs copied, one graph launch, outputs copied back

Buffers are allocated once, temporaries in one arena at their places. The launches are captured on a stream of their
own and instantiated as a graph, so that a run costs the host one call. Inputs and outputs are numpy arrays here; what
lies on the GPU already can be written to `pointer(name)` by who has it there.

Here, without a GPU, this is tested against a stub of `HipCalls`. It has not been run on hardware. A launch has the
guards of every other, among them that arguments start at multiples of 16 bytes: a plan with views that do not (the
inside of a padded array, phases of a transposed convolution along columns) is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.device.guards import TORCH_TYPES, numpy_dtype
from argus.device.hip import DLPACK_ROCM, HipDevice, current, find_gfx942
from argus.device.hip_calls import HipCalls, load
from argus.ir.types import DTYPES
from argus.plan.plan import Plan, PlanBuffer
from argus.plan.runner import PreparedPlan, checked_input
from argus.plan.views import View

Arrays = Mapping[str, npt.NDArray[Any]]
NAMES = {ours: theirs for theirs, ours in TORCH_TYPES.items()}


@dataclass(frozen=True, slots=True)
class ViewOnGpu:
    """A view of a buffer on a GPU, as a launch asks for it: shape, strides, element type and address."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    pointer: int
    gpu: int

    def data_ptr(self) -> int:
        return self.pointer

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_ROCM, self.gpu


class PlanOnGpu:
    """A plan whose launches are one graph on the first gfx942, or on `device`."""

    def __init__(
        self, ready: PreparedPlan, parameters: Arrays, calls: HipCalls | None = None, device: int | None = None
    ) -> None:
        self.plan: Plan = ready.plan
        self._calls = calls if calls is not None else load()
        self._gpu = find_gfx942(self._calls, device)
        self._owned: list[int] = []
        self._pointers: dict[str, int] = {}
        self._graph = self._stream = 0
        try:
            with current(self._calls, self._gpu):
                self._allocate(parameters)
                self._stream = self._calls.stream_create()
                self._capture(ready)
        except BaseException:
            self.close()
            raise

    def pointer(self, name: str) -> int:
        """Where a buffer starts on the GPU."""
        return self._pointers[name]

    def run(self, inputs: Arrays) -> dict[str, npt.NDArray[Any]]:
        """The outputs by name."""
        with current(self._calls, self._gpu):
            for buffer in self.plan.buffers.values():
                if buffer.kind == "input":
                    self._calls.copy_in(self._pointers[buffer.name], checked_input(buffer, inputs).tobytes())
            self._calls.graph_launch(self._graph, self._stream)
            self._calls.synchronize(self._stream)
            return {name: self._read(view) for name, view in self.plan.outputs.items()}

    def _allocate(self, parameters: Arrays) -> None:
        arena = self._new(self.plan.arena)
        for buffer in self.plan.buffers.values():
            if buffer.kind == "temporary":
                self._pointers[buffer.name] = arena + buffer.place
                continue
            self._pointers[buffer.name] = self._new(buffer.bytes)
            if buffer.kind == "parameter":
                self._calls.copy_in(self._pointers[buffer.name], checked_input(buffer, parameters).tobytes())
            elif buffer.fill is not None:
                filled = np.full(buffer.elements, buffer.fill, numpy_dtype(DTYPES[buffer.dtype]))
                self._calls.copy_in(self._pointers[buffer.name], filled.tobytes())

    def _new(self, size: int) -> int:
        self._owned.append(self._calls.malloc(max(size, 1)))
        return self._owned[-1]

    def _capture(self, ready: PreparedPlan) -> None:
        device = HipDevice(self._calls, self._gpu, self._stream)
        for known in ready.kernels.values():
            device.prepare(known.kernel, known.code)
        self._calls.capture_begin(self._stream)
        try:
            for launch in self.plan.launches:
                known = ready.kernels[launch.key]
                views = {name: self._view(view) for name, view in launch.arguments.items()}
                device.launch(known.kernel, known.code, launch.sizes, views, launch.scalars)
        finally:
            self._graph = self._calls.capture_end(self._stream)

    def _view(self, view: View) -> ViewOnGpu:
        buffer = self.plan.buffers[view.buffer]
        start = self._pointers[buffer.name] + view.offset * DTYPES[buffer.dtype].bytes
        return ViewOnGpu(view.shape, view.strides, f"torch.{NAMES[buffer.dtype]}", start, self._gpu)

    def _read(self, view: View) -> npt.NDArray[Any]:
        """An output, which is a buffer of its own in row-major order."""
        buffer: PlanBuffer = self.plan.buffers[view.buffer]
        data = self._calls.copy_out(self._pointers[buffer.name], buffer.bytes)
        return np.frombuffer(data, numpy_dtype(DTYPES[buffer.dtype])).reshape(view.shape)

    def close(self) -> None:
        """Give back everything that lies on the GPU; the objects stay loaded."""
        with current(self._calls, self._gpu):
            if self._graph:
                self._calls.graph_destroy(self._graph)
            if self._stream:
                self._calls.stream_destroy(self._stream)
            for pointer in self._owned:
                self._calls.free(pointer)
        self._graph = self._stream = 0
        self._owned.clear()

    def __enter__(self) -> PlanOnGpu:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

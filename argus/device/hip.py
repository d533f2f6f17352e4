"""Launching on a real MI300X through HIP: the same code object, the same guards, the same outcome.

    outcome = HipDevice().launch(kernel, compiled.object, sizes, arrays)      # arrays: numpy, or tensors on the GPU

A numpy array is copied to the device and, if the kernel writes it, back. A tensor that already lies on the GPU (it has
`data_ptr()` and is on a ROCm device, as torch's are) is passed by its address and nothing is copied. The time is that
of HIP events around the launch on `stream`; it is a measurement of one launch, caches as they were.

Here, without a GPU, this file is tested against a stub of `HipCalls` that checks the sequence of calls and forwards the
launch to the simulated machine. It has not been run on hardware.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus import machine
from argus.device.guards import LaunchError, check_arrays, check_sizes, launch_grid
from argus.device.hip_calls import HipCalls, HipError, load
from argus.device.launch import Outcome, scalar_values
from argus.ir.kernel import Kernel
from argus.machine.loader import KernelInfo

TARGET = "gfx942"
DLPACK_ROCM = 10


class HipDevice:
    """One gfx942 GPU. `stream` is a raw HIP stream handle; 0 is the default stream."""

    def __init__(self, calls: HipCalls | None = None, device: int | None = None, stream: int = 0) -> None:
        self._calls = calls if calls is not None else load()
        self._device = _find(self._calls, device)
        self._stream = stream
        self.name = f"hip device {self._device} ({self._calls.architecture(self._device)})"

    def launch(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any],
        scalars: Mapping[str, float] | None = None,
    ) -> Outcome:
        check_sizes(kernel, sizes)
        check_arrays(kernel, sizes, arrays)
        grid = launch_grid(kernel, sizes)
        if 0 in grid:
            return Outcome(self.name, 0.0, grid, 0, 0, [], None)
        info = machine.load(code).kernel(kernel.name).info
        calls = self._calls
        calls.set_device(self._device)
        owned: list[int] = []
        module = calls.module_load(code)
        try:
            pointers: dict[str, int] = {}
            for tensor in kernel.tensors:
                array = arrays[tensor.name]
                if isinstance(array, np.ndarray):
                    pointers[tensor.name] = calls.malloc(max(array.nbytes, 1))
                    owned.append(pointers[tensor.name])
                    calls.copy_in(pointers[tensor.name], array.tobytes())
                else:
                    pointers[tensor.name] = device_pointer(tensor.name, array)
            values = [
                *(np.uint64(pointers[t.name]) for t in kernel.tensors),
                *scalar_values(kernel, sizes, scalars or {}),
            ]
            seconds = self._timed(calls.module_function(module, kernel.name), kernel, grid, _pack(info, values))
            for tensor in kernel.tensors:
                array = arrays[tensor.name]
                if tensor.written and isinstance(array, np.ndarray):
                    data = calls.copy_out(pointers[tensor.name], array.nbytes)
                    array[...] = np.frombuffer(data, array.dtype).reshape(array.shape)
        finally:
            for pointer in owned:
                calls.free(pointer)
            calls.module_unload(module)
        return Outcome(self.name, seconds, grid, int(np.prod(grid)), 0, [], None)

    def _timed(self, function: int, kernel: Kernel, grid: tuple[int, int, int], arguments: bytes) -> float:
        calls, stream = self._calls, self._stream
        start, stop = calls.event_create(), calls.event_create()
        try:
            calls.event_record(start, stream)
            calls.launch(function, grid, (kernel.threads, 1, 1), 0, stream, arguments)
            calls.event_record(stop, stream)
            calls.synchronize(stream)
            return calls.event_milliseconds(start, stop) * 1e-3
        finally:
            calls.event_destroy(start)
            calls.event_destroy(stop)


def available(calls: HipCalls | None = None) -> bool:
    """Whether a HIP runtime with a gfx942 device is there."""
    try:
        _find(calls if calls is not None else load(), None)
    except HipError:
        return False
    return True


def device_pointer(name: str, tensor: Any) -> int:
    """The address of a tensor that lies on a ROCm device."""
    kind = int(tensor.__dlpack_device__()[0])
    if kind != DLPACK_ROCM:
        raise LaunchError(f"{name} does not lie on a ROCm device (DLPack device type {kind}); move it there first")
    return int(tensor.data_ptr())


def _find(calls: HipCalls, device: int | None) -> int:
    count = calls.device_count()
    candidates = range(count) if device is None else (device,)
    for number in candidates:
        if number < count and calls.architecture(number).split(":")[0] == TARGET:
            return number
    found = ", ".join(calls.architecture(n) or "unknown" for n in range(count)) or "none"
    raise HipError(f"no {TARGET} device among the HIP devices of this machine: {found}")


def _pack(info: KernelInfo, values: list[np.generic]) -> bytes:
    """The explicit arguments at the offsets the object's metadata gives; the runtime adds hidden ones itself."""
    visible = [arg for arg in info.args if not arg.hidden]
    data = bytearray(max((arg.offset + arg.size for arg in visible), default=0))
    for arg, value in zip(visible, values, strict=True):
        data[arg.offset : arg.offset + arg.size] = value.tobytes()
    return bytes(data)

"""Launching on a real MI300X through HIP: the same code object, the same guards, the same outcome.

    outcome = HipDevice().launch(kernel, compiled.object, sizes, arrays)      # arrays: numpy, or tensors on the GPU

A numpy array is copied to the device and, if the kernel writes it, back. A tensor that already lies on the GPU (it has
`data_ptr()` and is on a ROCm device, as torch's are) is passed by its address and nothing is copied. The time is that
of HIP events around the launch; it is a measurement of one launch, caches as they were.

A launch goes where its tensors are, on the stream that torch is working on there, so that it comes after what made
them; tensors on different GPUs are refused. Without tensors it goes to the first gfx942, on the default stream. Both
can be fixed when the device is made. The thread's current GPU is afterwards what it was.

Here, without a GPU, this file is tested against a stub of `HipCalls` that checks the sequence of calls and forwards the
launch to the simulated machine. It has not been run on hardware.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from argus import machine
from argus.device.guards import LaunchRefused, check_arrays, check_sizes, launch_grid
from argus.device.hip_calls import HipCalls, HipError, load
from argus.device.launch import LaunchOutcome, flat, scalar_values
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.machine.loader import KernelInfo

TARGET = "gfx942"
DLPACK_ROCM = 10


class HipDevice:
    """The gfx942 GPUs of this machine, or only `device`; `stream` is a raw HIP stream handle, 0 the default stream."""

    def __init__(self, calls: HipCalls | None = None, device: int | None = None, stream: int | None = None) -> None:
        self._calls = calls if calls is not None else load()
        self._fixed = device
        self._first = _find(self._calls, device)
        self._stream = stream
        self.name = self._named(self._first)

    def _named(self, device: int) -> str:
        return f"hip device {device} ({self._calls.architecture(device)})"

    def launch(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any],
        scalars: Mapping[str, float] | None = None,
    ) -> LaunchOutcome:
        check_sizes(kernel, sizes)
        check_arrays(kernel, sizes, arrays)
        device = self._place(kernel, arrays)
        grid = launch_grid(kernel, sizes)
        if 0 in grid:
            return LaunchOutcome(self._named(device), 0.0, grid, 0, 0, [], None)
        before = self._calls.current_device()
        self._calls.set_device(device)
        try:
            stream = self._stream_of(kernel, arrays, device)
            seconds = self._run(kernel, code, sizes, arrays, scalars or {}, grid, stream)
        finally:
            self._calls.set_device(before)
        return LaunchOutcome(self._named(device), seconds, grid, int(np.prod(grid)), 0, [], None)

    def _place(self, kernel: Kernel, arrays: Mapping[str, Any]) -> int:
        """The GPU that has the tensors, or the first one where there are none."""
        where = {t.name: gpu_of(t.name, arrays[t.name]) for t in _on_gpu(kernel, arrays)}
        if len(set(where.values())) > 1:
            found = ", ".join(f"{name} on {device}" for name, device in where.items())
            raise LaunchRefused(f"the tensors of {kernel.name} are on different GPUs: {found}; move them to one")
        device = next(iter(where.values()), self._first)
        if self._fixed is not None and device != self._fixed:
            raise LaunchRefused(f"the tensors of {kernel.name} are on GPU {device}, the launch is for {self._fixed}")
        return _find(self._calls, device)

    def _stream_of(self, kernel: Kernel, arrays: Mapping[str, Any], device: int) -> int:
        """The stream asked for, or torch's current one for tensors on the GPU, or the default one."""
        torch = sys.modules.get("torch")
        if self._stream is not None or torch is None or not _on_gpu(kernel, arrays):
            return self._stream or 0
        return int(torch.cuda.current_stream(device).cuda_stream)

    def _run(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any],
        scalars: Mapping[str, float],
        grid: tuple[int, int, int],
        stream: int,
    ) -> float:
        """Seconds of the launch; numpy arrays are copied there and back."""
        info = machine.load(code).kernel(kernel.name).info
        calls = self._calls
        owned: list[int] = []
        module = calls.module_load(code)
        try:
            pointers: dict[str, int] = {}
            for tensor in kernel.tensors:
                array = arrays[tensor.name]
                if isinstance(array, np.ndarray):
                    memory = flat(array, tensor.written)
                    pointers[tensor.name] = calls.malloc(max(memory.nbytes, 1))
                    owned.append(pointers[tensor.name])
                    calls.copy_in(pointers[tensor.name], memory.tobytes())
                else:
                    pointers[tensor.name] = int(array.data_ptr())
            values = [
                *(np.uint64(pointers[t.name]) for t in kernel.tensors),
                *scalar_values(kernel, sizes, scalars),
            ]
            function = calls.module_function(module, kernel.name)
            seconds = self._timed(function, kernel, grid, _pack(info, values), stream)
            for tensor in kernel.tensors:
                array = arrays[tensor.name]
                if tensor.written and isinstance(array, np.ndarray):
                    memory = flat(array)
                    data = calls.copy_out(pointers[tensor.name], memory.nbytes)
                    memory[...] = np.frombuffer(data, array.dtype).reshape(memory.shape)
        finally:
            for pointer in owned:
                calls.free(pointer)
            calls.module_unload(module)
        return seconds

    def _timed(self, function: int, kernel: Kernel, grid: tuple[int, int, int], arguments: bytes, stream: int) -> float:
        calls = self._calls
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


def gpu_of(name: str, tensor: Any) -> int:
    """The number of the ROCm device that a tensor lies on."""
    kind, number = tensor.__dlpack_device__()
    if int(kind) != DLPACK_ROCM:
        raise LaunchRefused(
            f"{name} does not lie on a ROCm device (DLPack device type {int(kind)}); move it there first"
        )
    return int(number)


def _on_gpu(kernel: Kernel, arrays: Mapping[str, Any]) -> list[Tensor]:
    """The kernel's arguments that are not copied."""
    return [t for t in kernel.tensors if not isinstance(arrays[t.name], np.ndarray)]


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

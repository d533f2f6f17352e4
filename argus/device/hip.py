"""Launching on a real MI300X through HIP: the same code object, the same guards, the same outcome.

    outcome = HipDevice().launch(kernel, compiled.object, sizes, arrays)      # arrays: numpy, or tensors on the GPU

A tensor that already lies on the GPU (it has `data_ptr()` and is on a ROCm device, as torch's are) is passed by its
address. If all of them are, the launch is one asynchronous call on a stream: nothing is allocated, copied or waited
for, so it may be captured in a graph once the object is loaded (`prepare`, or a first launch), and no time is known.
A numpy array is copied to the device and, if the kernel writes it, back; the launch is then waited for, and its time is
that of HIP events around it: one launch, caches as they were.

A launch goes where its tensors are, on the stream that torch is working on there, so that it comes after what made
them; tensors on different GPUs are refused. Without tensors it goes to the first gfx942, on the default stream. Both
can be fixed when the device is made. The thread's current GPU is afterwards what it was.

Here, without a GPU, this file is tested against a stub of `HipCalls` that checks the sequence of calls and forwards the
launch to the simulated machine. It has not been run on hardware.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from argus.compile.export.conditions import ALIGNMENT
from argus.device.guards import LaunchRefused, check_arrays, check_sizes, launch_grid
from argus.device.hip_calls import HipCalls, HipError, load
from argus.device.hip_modules import KernelOnGpu, modules_of
from argus.device.launch import LaunchOutcome, flat, scalar_values
from argus.ir.kernel import Kernel

TARGET = "gfx942"
DLPACK_ROCM = 10
KEPT_SIZES = 4096


class HipDevice:
    """The gfx942 GPUs of this machine, or only `device`; `stream` is a raw HIP stream handle, 0 the default stream."""

    def __init__(self, calls: HipCalls | None = None, device: int | None = None, stream: int | None = None) -> None:
        self._calls = calls if calls is not None else load()
        self._modules = modules_of(self._calls)
        self._fixed = device
        self._first = find_gfx942(self._calls, device)
        self._stream = stream
        self._names: dict[int, str] = {}
        self.name = self._named(self._first)

    def _named(self, device: int) -> str:
        """What the GPU is called; asked for once, since HIP takes its time. Another architecture is an error."""
        if device not in self._names:
            number = find_gfx942(self._calls, device)
            self._names[device] = f"hip device {number} ({self._calls.architecture(number)})"
        return self._names[device]

    def prepare(self, kernel: Kernel, code: bytes) -> None:
        """Load the object on the first gfx942, or on the one this device is for, so that no launch has to."""
        with current(self._calls, self._first):
            self._modules.kernel(self._first, code, kernel.name, self._stream or 0)

    def launch(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Any],
        scalars: Mapping[str, float] | None = None,
    ) -> LaunchOutcome:
        grid = admitted_grid(kernel, tuple(sizes.items()))
        check_arrays(kernel, sizes, arrays)
        tensors = {t.name: arrays[t.name] for t in kernel.tensors if not isinstance(arrays[t.name], np.ndarray)}
        device = self._place(kernel, tensors)
        name = self._named(device)
        if 0 in grid:
            return LaunchOutcome(name, 0.0, grid, 0, 0, [], None)
        others = scalar_values(kernel, sizes, scalars or {})
        seconds = None
        with current(self._calls, device):
            stream = self._stream_on(device, bool(tensors))
            loaded = self._modules.kernel(device, code, kernel.name, stream)
            if len(tensors) == len(kernel.tensors):
                packed = loaded.packed([*(np.uint64(tensor.data_ptr()) for tensor in tensors.values()), *others])
                self._calls.launch(loaded.handle, grid, (kernel.threads, 1, 1), 0, stream, packed)
            else:
                seconds = self._copied(kernel, loaded, arrays, others, grid, stream)
        return LaunchOutcome(name, seconds, grid, grid[0] * grid[1] * grid[2], 0, [], None)

    def _place(self, kernel: Kernel, tensors: Mapping[str, Any]) -> int:
        """The GPU that has the tensors, or the first one where there are none."""
        where = {name: gpu_of(name, tensor) for name, tensor in tensors.items()}
        if len(set(where.values())) > 1:
            found = ", ".join(f"{name} on {device}" for name, device in where.items())
            told = f"the tensors of {kernel.name} are on different GPUs: {found}"
            raise LaunchRefused(f"{told}; move them to one", "ARG-D106")
        device = next(iter(where.values()), self._first)
        if self._fixed is not None and device != self._fixed:
            told = f"the tensors of {kernel.name} are on GPU {device}, the launch is for {self._fixed}"
            raise LaunchRefused(told, "ARG-D106")
        return device

    def _stream_on(self, device: int, for_tensors: bool) -> int:
        """The stream asked for, or torch's current one for tensors on the GPU, or the default one."""
        torch = sys.modules.get("torch")
        if self._stream is not None or torch is None or not for_tensors or not torch.cuda.is_initialized():
            return self._stream or 0
        return int(torch.cuda.current_stream(device).cuda_stream)

    def _copied(
        self,
        kernel: Kernel,
        loaded: KernelOnGpu,
        arrays: Mapping[str, Any],
        others: list[np.generic],
        grid: tuple[int, int, int],
        stream: int,
    ) -> float:
        """Seconds of the launch; numpy arrays are copied there, with everything between their elements, and back."""
        calls = self._calls
        if calls.capturing(stream):
            told = "numpy arrays are copied, which a graph cannot capture"
            raise HipError(f"{told}; pass {kernel.name} tensors on the GPU", "ARG-D204")
        owned: dict[str, int] = {}
        try:
            pointers: list[np.generic] = []
            for tensor in kernel.tensors:
                array = arrays[tensor.name]
                if isinstance(array, np.ndarray):
                    memory = flat(array, tensor.written)
                    owned[tensor.name] = calls.malloc(max(memory.nbytes, 1))
                    calls.copy_in(owned[tensor.name], memory.tobytes())
                pointers.append(np.uint64(owned.get(tensor.name) or array.data_ptr()))
            seconds = self._timed(loaded, kernel.threads, grid, loaded.packed([*pointers, *others]), stream)
            for tensor in kernel.tensors:
                if tensor.written and tensor.name in owned:
                    memory = flat(arrays[tensor.name])
                    data = calls.copy_out(owned[tensor.name], memory.nbytes)
                    memory[...] = np.frombuffer(data, memory.dtype).reshape(memory.shape)
        finally:
            for pointer in owned.values():
                calls.free(pointer)
        return seconds

    def _timed(
        self, loaded: KernelOnGpu, threads: int, grid: tuple[int, int, int], arguments: bytes, stream: int
    ) -> float:
        calls = self._calls
        start, stop = calls.event_create(), calls.event_create()
        try:
            calls.event_record(start, stream)
            calls.launch(loaded.handle, grid, (threads, 1, 1), 0, stream, arguments)
            calls.event_record(stop, stream)
            calls.synchronize(stream)
            return calls.event_milliseconds(start, stop) * 1e-3
        finally:
            calls.event_destroy(start)
            calls.event_destroy(stop)


def gpu_of(name: str, tensor: Any) -> int:
    """The number of the ROCm device that a tensor lies on."""
    if not hasattr(tensor, "__dlpack_device__"):
        told = f"{name} is a {type(tensor).__name__} that does not say where it lies (__dlpack_device__)"
        raise LaunchRefused(f"{told}; pass a numpy array or a tensor on the GPU", "ARG-D106")
    kind, number = tensor.__dlpack_device__()
    if int(kind) != DLPACK_ROCM:
        told = f"{name} does not lie on a ROCm device (DLPack device type {int(kind)})"
        raise LaunchRefused(f"{told}; move it there first", "ARG-D106")
    if int(tensor.data_ptr()) % ALIGNMENT:
        raise LaunchRefused(f"{name} must start at a multiple of {ALIGNMENT} bytes", "ARG-D104")
    return int(number)


@contextmanager
def current(calls: HipCalls, device: int) -> Iterator[None]:
    """The thread's current GPU is `device` inside, and what it was afterwards."""
    before = calls.current_device()
    if before == device:
        yield
        return
    calls.set_device(device)
    try:
        yield
    finally:
        calls.set_device(before)


@lru_cache(maxsize=KEPT_SIZES)
def admitted_grid(kernel: Kernel, sizes: tuple[tuple[str, int], ...]) -> tuple[int, int, int]:
    """Workgroups of a launch whose sizes were checked; remembered, since the conditions are formulas of sizes only."""
    check_sizes(kernel, dict(sizes))
    return launch_grid(kernel, dict(sizes))


def find_gfx942(calls: HipCalls, device: int | None = None) -> int:
    """The first gfx942, or `device` if it is one."""
    count = calls.device_count()
    candidates = range(count) if device is None else (device,)
    for number in candidates:
        if 0 <= number < count and calls.architecture(number).split(":")[0] == TARGET:
            return number
    found = ", ".join(calls.architecture(n) or "unknown" for n in range(count)) or "none"
    raise HipError(f"no {TARGET} device among the HIP devices of this machine: {found}", "ARG-D202")

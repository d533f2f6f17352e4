"""The HIP path against a stub of the call table, which checks the sequence and runs the object on the machine."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.compile import compile_kernel
from argus.device.choose import choose
from argus.device.guards import LaunchRefused
from argus.device.hip import HipDevice, available
from argus.device.hip_calls import HipError, load
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"


class StubHip:
    """A HIP runtime of numbers: memory is bytes, a launch is executed by the machine, misuse is an assertion."""

    def __init__(self, architectures: Sequence[str] = ("gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-")) -> None:
        self.architectures = list(architectures)
        self.memory: dict[int, bytearray] = {}
        self.modules: dict[int, bytes] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        self.events: set[int] = set()
        self.recorded: list[int] = []
        self.device = 0
        self.launched: list[tuple[int, int]] = []
        self.log: list[str] = []
        self._next = 0x1000

    def _new(self) -> int:
        self._next += 0x10000
        return self._next

    def device_count(self) -> int:
        return len(self.architectures)

    def architecture(self, device: int) -> str:
        return self.architectures[device]

    def current_device(self) -> int:
        return self.device

    def set_device(self, device: int) -> None:
        self.device = device
        self.log.append("set_device")

    def malloc(self, size: int) -> int:
        pointer = self._new()
        self.memory[pointer] = bytearray(b"\xa5" * size)
        self.log.append("malloc")
        return pointer

    def free(self, pointer: int) -> None:
        del self.memory[pointer]

    def copy_in(self, pointer: int, data: bytes) -> None:
        assert len(data) <= len(self.memory[pointer])
        self.memory[pointer][: len(data)] = data

    def copy_out(self, pointer: int, size: int) -> bytes:
        assert "synchronize" in self.log, "results were read before the stream was synchronised"
        return bytes(self.memory[pointer][:size])

    def module_load(self, image: bytes) -> int:
        handle = self._new()
        self.modules[handle] = image
        return handle

    def module_unload(self, module: int) -> None:
        del self.modules[module]

    def module_function(self, module: int, name: str) -> int:
        handle = self._new()
        self.functions[handle] = (module, name)
        return handle

    def launch(
        self, function: int, grid: Sequence[int], block: Sequence[int], lds: int, stream: int, arguments: bytes
    ) -> None:
        assert "gfx942" in self.architectures[self.device], "the launch must go to a gfx942, not to the first device"
        self.launched.append((self.device, stream))
        module, name = self.functions[function]
        kernel = machine.load(self.modules[module]).kernel(name)
        visible = [a for a in kernel.info.args if not a.hidden]
        values: list[object] = []
        arrays: list[tuple[int, np.ndarray]] = []
        for arg in visible:
            raw = arguments[arg.offset : arg.offset + arg.size]
            if arg.value_kind == "global_buffer":
                (pointer,) = struct.unpack("<Q", raw)
                array = np.frombuffer(bytes(self.memory[pointer]), np.uint8).copy()
                arrays.append((pointer, array))
                values.append(array)
            else:
                values.append(raw)
        kernel(tuple(grid), tuple(block), *values, lds=lds)
        for pointer, array in arrays:
            self.memory[pointer][:] = array.tobytes()
        self.log.append("launch")

    def event_create(self) -> int:
        event = self._new()
        self.events.add(event)
        return event

    def event_record(self, event: int, stream: int) -> None:
        assert event in self.events
        self.recorded.append(event)
        self.log.append("record")

    def event_milliseconds(self, start: int, stop: int) -> float:
        assert self.recorded == [start, stop]
        return 1.25

    def event_destroy(self, event: int) -> None:
        self.events.remove(event)

    def synchronize(self, stream: int) -> None:
        self.log.append("synchronize")


def test_gemm_through_the_call_table() -> None:
    kernel = read(KERNELS / "gemm.py")
    stub = StubHip()
    device = HipDevice(stub)
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((128, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((128, 128), ml_dtypes.bfloat16)
    outcome = device.launch(
        kernel, compile_kernel(scheduled(kernel)).object, {"M": 128, "N": 128, "K": 64}, {"A": a, "B": b, "C": c}
    )
    np.testing.assert_allclose(
        c.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64).T, rtol=2**-8, atol=1e-5
    )
    assert outcome.seconds == pytest.approx(1.25e-3)
    assert "gfx942" in outcome.device
    assert stub.log == ["set_device", *["malloc"] * 3, "record", "launch", "record", "synchronize", "set_device"]
    assert stub.launched == [(1, 0)]
    assert stub.device == 0
    assert not stub.memory
    assert not stub.modules
    assert not stub.events


def test_nothing_leaks_when_the_launch_fails() -> None:
    kernel = read(KERNELS / "vadd.py")
    stub = StubHip()

    def fail(*_: object) -> None:
        raise HipError("hipModuleLaunchKernel: out of memory (2)")

    stub.launch = fail  # type: ignore[method-assign]
    arrays = {name: np.zeros(1024, np.float32) for name in "xyz"}
    with pytest.raises(HipError, match="out of memory"):
        HipDevice(stub).launch(kernel, compile_kernel(scheduled(kernel)).object, {"N": 1024}, arrays)
    assert not stub.memory
    assert not stub.modules
    assert not stub.events


def test_guards_come_before_the_first_call() -> None:
    kernel = read(KERNELS / "gemm.py")
    stub = StubHip()
    arrays = {name: np.zeros((128, 128), ml_dtypes.bfloat16) for name in "ABC"}
    with pytest.raises(LaunchRefused, match="requires"):
        HipDevice(stub).launch(kernel, b"", {"M": 128, "N": 128, "K": 100}, arrays)
    shared = {**arrays, "C": arrays["A"]}
    with pytest.raises(LaunchRefused, match="overlaps"):
        HipDevice(stub).launch(kernel, b"", {"M": 128, "N": 128, "K": 128}, shared)
    assert stub.log == []


class DeviceTensor:
    """What a torch tensor on a ROCm device answers."""

    def __init__(
        self, pointer: int, kind: int = 10, contiguous: bool = True, dtype: str = "torch.float32", gpu: int = 1
    ) -> None:
        self._pointer, self._kind, self._contiguous, self._gpu = pointer, kind, contiguous, gpu
        self.shape = (1024,)
        self.dtype = dtype

    def data_ptr(self) -> int:
        return self._pointer

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._kind, self._gpu

    def is_contiguous(self) -> bool:
        return self._contiguous


def test_tensors_on_the_device_are_passed_by_address() -> None:
    kernel = read(KERNELS / "vadd.py")
    stub = StubHip()
    device = HipDevice(stub)
    x = np.arange(1024, dtype=np.float32)
    pointers = {}
    for name, data in (("x", x), ("y", x * 2), ("z", x * 0)):
        pointers[name] = stub.malloc(4096)
        stub.copy_in(pointers[name], data.tobytes())
    stub.log.clear()
    code = compile_kernel(scheduled(kernel)).object
    device.launch(kernel, code, {"N": 1024}, {name: DeviceTensor(p) for name, p in pointers.items()})
    assert "malloc" not in stub.log
    np.testing.assert_array_equal(np.frombuffer(stub.memory[pointers["z"]], np.float32), 3 * x)
    fine = {name: DeviceTensor(p) for name, p in pointers.items()}
    for bad, words in (
        (DeviceTensor(1 << 40, kind=1), "ROCm"),
        (DeviceTensor(1 << 40, contiguous=False), "contiguous"),
        (DeviceTensor(1 << 40, dtype="torch.float16"), "f16"),
        (DeviceTensor(pointers["z"] + 64), "overlaps"),
        ([], "list"),
    ):
        with pytest.raises(LaunchRefused, match=words):
            device.launch(kernel, code, {"N": 1024}, {**fine, "x": bad})
    assert not stub.modules


def vectors(stub: StubHip, gpus: Sequence[int]) -> dict[str, DeviceTensor]:
    """Operands of vadd on these GPUs."""
    return {name: DeviceTensor(stub.malloc(4096), gpu=gpu) for name, gpu in zip("xyz", gpus, strict=True)}


def test_a_launch_goes_to_the_gpu_and_the_stream_of_its_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = read(KERNELS / "vadd.py")
    code = compile_kernel(scheduled(kernel)).object
    stub = StubHip(["gfx942", "gfx90a", "gfx942"])
    device = HipDevice(stub)
    stub.device = 1
    outcome = device.launch(kernel, code, {"N": 1024}, vectors(stub, (2, 2, 2)))
    assert outcome.device == "hip device 2 (gfx942)"
    streams = SimpleNamespace(current_stream=lambda gpu: SimpleNamespace(cuda_stream=0x700 + gpu))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
    stub.recorded.clear()
    device.launch(kernel, code, {"N": 1024}, vectors(stub, (2, 2, 2)))
    stub.recorded.clear()
    HipDevice(stub, stream=5).launch(kernel, code, {"N": 1024}, vectors(stub, (0, 0, 0)))
    stub.recorded.clear()
    device.launch(kernel, code, {"N": 1024}, {name: np.zeros(1024, np.float32) for name in "xyz"})
    assert stub.launched == [(2, 0), (2, 0x702), (0, 5), (0, 0)]
    assert stub.device == 1, "the caller's current device is left as it was"


def test_tensors_apart_or_on_another_gpu_are_refused() -> None:
    kernel = read(KERNELS / "vadd.py")
    stub = StubHip(["gfx942", "gfx90a", "gfx942"])
    for device, gpus, error, words in (
        (HipDevice(stub), (0, 2, 2), LaunchRefused, "x on 0, y on 2, z on 2"),
        (HipDevice(stub, device=0), (2, 2, 2), LaunchRefused, "on GPU 2, the launch is for 0"),
        (HipDevice(stub), (1, 1, 1), HipError, "no gfx942"),
    ):
        with pytest.raises(error, match=words):
            device.launch(kernel, b"", {"N": 1024}, vectors(stub, gpus))
    assert stub.launched == []


def test_no_gfx942_is_an_error_not_a_fall_back() -> None:
    stub = StubHip(["gfx90a"])
    assert not available(stub)
    with pytest.raises(HipError, match="gfx90a"):
        HipDevice(stub)
    with pytest.raises(HipError, match="none"):
        HipDevice(StubHip([]))


def test_no_library_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_HIP_LIBRARY", "libnothere.so")
    with pytest.raises(HipError, match="libnothere"):
        load()
    with pytest.raises(HipError, match="libnothere"):
        choose("hip")
    assert choose("auto").name.startswith("simulated")

"""The HIP path against a stub of the call table, which checks the sequence and runs the object on the machine."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.device import choose as choosing
from argus.device.choose import SimulatedWarning, choose
from argus.device.guards import LaunchRefused
from argus.device.hip import HipDevice
from argus.device.hip_calls import HipError, load
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.inputs import make_arrays
from tests.device.stub_hip import StubHip

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"


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
    timed = ["record", "launch", "record", "synchronize"]
    assert stub.log == ["set_device", "module_load", *["malloc"] * 3, *timed, "set_device"]
    assert stub.launched == [(1, 0)]
    assert stub.device == 0
    assert not stub.memory
    assert len(stub.modules) == 1, "the object stays loaded"
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
    assert stub.log == ["set_device", "module_load", "launch", "set_device"]
    np.testing.assert_array_equal(np.frombuffer(stub.memory[pointers["z"]], np.float32), 3 * x)
    fine = {name: DeviceTensor(p) for name, p in pointers.items()}
    for bad, words in (
        (DeviceTensor(1 << 40, kind=1), "ROCm"),
        (DeviceTensor(1 << 40, contiguous=False), "contiguous"),
        (DeviceTensor(1 << 40, dtype="torch.float16"), "f16"),
        (DeviceTensor(pointers["z"] + 64), "overlaps"),
        (DeviceTensor(pointers["x"] + 4), "multiple of 16"),
        (SimpleNamespace(data_ptr=lambda: 64, shape=(1024,), dtype="float32", is_contiguous=lambda: True), "where it"),
        ([], "list"),
    ):
        with pytest.raises(LaunchRefused, match=words):
            device.launch(kernel, code, {"N": 1024}, {**fine, "x": bad})
    assert len(stub.launched) == 1


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
    streams = SimpleNamespace(
        is_initialized=lambda: True, current_stream=lambda gpu: SimpleNamespace(cuda_stream=0x700 + gpu)
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
    device.launch(kernel, code, {"N": 1024}, vectors(stub, (2, 2, 2)))
    HipDevice(stub, stream=5).launch(kernel, code, {"N": 1024}, vectors(stub, (0, 0, 0)))
    device.launch(kernel, code, {"N": 1024}, {name: np.zeros(1024, np.float32) for name in "xyz"})
    assert stub.launched == [(2, 0), (2, 0x702), (0, 5), (0, 0)]
    assert stub.device == 1, "the caller's current device is left as it was"


def test_a_torch_that_has_no_gpu_has_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of another library, with a torch for the CPU in the process."""
    kernel = read(KERNELS / "vadd.py")
    stub = StubHip(["gfx942"])
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: False)))
    HipDevice(stub).launch(kernel, compile_kernel(scheduled(kernel)).object, {"N": 1024}, vectors(stub, (0, 0, 0)))
    assert stub.launched == [(0, 0)]


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


def test_a_launch_on_tensors_waits_for_nothing_and_loads_once() -> None:
    kernel = read(KERNELS / "vadd.py")
    code = compile_kernel(scheduled(kernel)).object
    stub = StubHip(["gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"])
    device = HipDevice(stub)
    for gpus in ((0, 0, 0), (1, 1, 1), (0, 0, 0), (1, 1, 1)):
        outcome = device.launch(kernel, code, {"N": 1024}, vectors(stub, gpus))
        assert outcome.seconds is None
    HipDevice(stub).launch(kernel, bytes(bytearray(code)), {"N": 1024}, vectors(stub, (0, 0, 0)))
    assert stub.log.count("module_load") == 2, "once per device and digest, whoever launches"
    assert not {"record", "synchronize"} & set(stub.log)


def test_a_launch_can_be_captured_once_the_object_is_loaded() -> None:
    kernel = read(KERNELS / "vadd.py")
    code = compile_kernel(scheduled(kernel)).object
    stub = StubHip(["gfx942"])
    device = HipDevice(stub, stream=7)
    tensors = vectors(stub, (0, 0, 0))
    stub.captured = {7}
    with pytest.raises(HipError, match="while a graph is captured") as early:
        device.launch(kernel, code, {"N": 1024}, tensors)
    assert early.value.code == "ARG-D204"
    stub.captured = set()
    device.prepare(kernel, code)
    stub.captured = {7}
    stub.log.clear()
    device.launch(kernel, code, {"N": 1024}, tensors)
    assert stub.log == ["launch"]
    with pytest.raises(HipError, match="a graph cannot capture"):
        device.launch(kernel, code, {"N": 1024}, {name: np.zeros(1024, np.float32) for name in "xyz"})
    assert stub.log == ["launch"]


STRIDED = """
import argus as ag
from argus import f32

PART = ag.Owner(t=64, n="t")

@ag.kernel(threads=64, requires="N >= 1", computes="Y[m, n] = X[m, n] + 1", example=dict(M=3, N=70, ld=80))
def strided(X: ag.In["M N", f32, "ld 1"], Y: ag.Out["M N", f32, "ld 1"]):
    m, at = ag.grid(M, ag.cdiv(N, 64))
    x = X[m, 64 * at].load(PART, width=4, guard="shape")
    Y[m, 64 * at].store(x + 1.0, width=4, guard="shape")
"""


def test_a_strided_array_is_copied_with_its_whole_extent() -> None:
    """Gaps between rows belong to the caller: they are there on the GPU, and come back as they were."""
    program = scheduled(read(STRIDED))
    sizes = {"M": 3, "N": 70, "ld": 80}
    arrays = make_arrays(program.kernel, sizes, 0)
    whole = np.arange(3 * 80, dtype=np.float32)
    arrays["Y"] = np.lib.stride_tricks.as_strided(whole, (3, 70), (320, 4))
    assert arrays["X"].strides == (320, 4)
    stub = StubHip(["gfx942"])
    HipDevice(stub).launch(program.kernel, compile_kernel(program).object, sizes, arrays)
    np.testing.assert_array_equal(arrays["Y"], arrays["X"] + 1)
    gaps = np.arange(3 * 80).reshape(3, 80)[:, 70:]
    np.testing.assert_array_equal(whole.reshape(3, 80)[:, 70:], gaps)
    assert stub.sizes == [4 * (2 * 80 + 70)] * 2


def test_an_array_strided_by_parts_of_its_elements_is_refused() -> None:
    program = scheduled(read(KERNELS / "vadd.py"))
    packed = np.zeros(64, np.dtype([("tag", np.int16), ("x", np.float32)]))["x"]
    assert packed.strides == (6,)
    arrays = {"x": packed, "y": np.zeros(64, np.float32), "z": np.zeros(64, np.float32)}
    with pytest.raises(LaunchRefused, match="strided by") as refused:
        HipDevice(StubHip()).launch(program.kernel, b"", {"N": 64}, arrays)
    assert refused.value.code == "ARG-D104"


def test_an_object_of_another_xnack_mode_is_refused_by_name() -> None:
    kernel = read(KERNELS / "vadd.py")
    code = bytearray(compile_kernel(scheduled(kernel)).object)
    at = 48  # e_flags of ELF64
    for stated, mode, fits in ((2, "-", True), (3, "+", True), (1, "+", True), (1, "-", True), (2, "+", False)):
        code[at + 1] = code[at + 1] & ~3 | stated
        stub = StubHip([f"gfx942:sramecc+:xnack{mode}"])
        tensors = vectors(stub, (0, 0, 0))
        if fits:
            HipDevice(stub).launch(kernel, bytes(code), {"N": 1024}, tensors)
            continue
        with pytest.raises(HipError, match="HSA_XNACK=0") as other:
            HipDevice(stub).launch(kernel, bytes(code), {"N": 1024}, tensors)
        assert other.value.code == "ARG-D205"
        assert not stub.modules


def test_no_gfx942_is_an_error_not_a_fall_back() -> None:
    stub = StubHip(["gfx90a"])
    with pytest.raises(HipError, match="gfx90a"):
        HipDevice(stub)
    with pytest.raises(HipError, match="none"):
        HipDevice(StubHip([]))


def test_no_library_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_HIP_LIBRARY", "libnothere.so")
    choosing._missing.cache_clear()
    with pytest.raises(HipError, match="libnothere") as missing:
        load()
    assert missing.value.code == "ARG-D201"
    with pytest.raises(HipError, match="libnothere"):
        choose("hip")


def test_auto_says_once_that_it_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_HIP_LIBRARY", "libneither.so")
    choosing._missing.cache_clear()
    with pytest.warns(SimulatedWarning, match=r"simulated gfx942: no HIP runtime: tried libneither\.so"):
        assert choose("auto").name.startswith("simulated")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose("auto", simulated="checking").name.endswith("checking interpreter")
        choose("jit")
    choosing._missing.cache_clear()


def test_the_simulated_chip_takes_no_tensor_of_a_gpu() -> None:
    kernel = read(KERNELS / "vadd.py")
    with pytest.raises(LaunchRefused, match="needs device='hip'") as refused:
        choose("jit").launch(kernel, b"", {"N": 1024}, vectors(StubHip(), (0, 0, 0)))  # type: ignore[arg-type]
    assert refused.value.code == "ARG-D106"

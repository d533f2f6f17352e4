"""The exported files stand alone: launchers run on a stub of HIP that forwards to the machine; bad launches refused."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import subprocess
from functools import cache
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.compile import compile_kernel
from argus.compile.export import export, hip_library
from argus.device.guards import LaunchRefused
from argus.device.simulated import CheckingDevice
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.compile.oracles import tool
from tests.ir import samples


@cache
def exported(directory: Path) -> dict[str, Path]:
    kernel = samples.gemm()
    return {
        path.name: path
        for path in export(scheduled(kernel), compile_kernel(scheduled(kernel)), directory, {"verdicts": []})
    }


@pytest.fixture
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return exported(tmp_path_factory.getbasetemp() / "export")


class Array:
    """As much of a torch tensor as the launcher looks at."""

    def __init__(self, data: np.ndarray, offset: int = 0) -> None:
        self.data, self.shape, self.offset = data, data.shape, offset
        self.dtype = "torch." + {"bfloat16": "bfloat16", "float32": "float32"}[data.dtype.name]

    def data_ptr(self) -> int:
        return self.data.ctypes.data + self.offset

    def is_contiguous(self) -> bool:
        return bool(self.data.flags.c_contiguous)


class Hip:
    """The call table: checks the sequence of calls and runs launches on the machine."""

    def __init__(self, kernel: Kernel, arrays: list[np.ndarray]) -> None:
        self.kernel, self.arrays, self.calls = kernel, arrays, []

    def hipModuleLoadData(self, module: object, image: bytes) -> int:
        self.calls.append("load")
        self.module = machine.load(image)
        module._obj.value = 17  # type: ignore[attr-defined]
        return 0

    def hipModuleGetFunction(self, function: object, module: ctypes.c_void_p, name: bytes) -> int:
        assert module.value == 17
        self.calls.append("function")
        self.function = self.module.kernel(name.decode())
        function._obj.value = 18  # type: ignore[attr-defined]
        return 0

    def hipModuleLaunchKernel(self, function: ctypes.c_void_p, *rest: object) -> int:
        assert function.value == 18
        self.calls.append("launch")
        gx, gy, gz, bx, by, bz, lds, _, pointers, extra = rest
        assert (lds, extra, by, bz) == (0, None, 1, 1)
        args: list[object] = []
        for n, array in enumerate(self.arrays):
            assert ctypes.c_void_p.from_address(pointers[n]).value == array.ctypes.data  # type: ignore[index]
            args.append(array)
        for n in range(len(self.kernel.shapes)):
            args.append(ctypes.c_int32.from_address(pointers[len(self.arrays) + n]).value)  # type: ignore[index]
        self.function((gx, gy, gz), (bx, by, bz), *args)
        return 0

    def hipModuleUnload(self, module: ctypes.c_void_p) -> int:
        self.calls.append("unload")
        return 0


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def matrices(m: int, n: int, k: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (n, k))]
    return [*made, np.zeros((m, n), ml_dtypes.bfloat16)]


def test_python_launcher_runs(files: dict[str, Path]) -> None:
    launcher = load(files["gemm_launch.py"])
    a, b, c = matrices(128, 256, 64)
    hip = Hip(samples.gemm(), [a, b, c])
    kernel = launcher.Gemm(str(files["gemm.hsaco"]), library=hip)
    kernel(Array(a), Array(b), Array(c))
    kernel.unload()
    assert hip.calls == ["load", "function", "launch", "unload"]
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c.astype(np.float64), exact, rtol=2.0**-8, atol=1e-3)


def test_python_launcher_finds_the_library_as_argus_does(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = load(files["gemm_launch.py"])
    for module in (launcher, hip_library):
        monkeypatch.setattr(module, "MAPS", tmp_path / "maps")
        monkeypatch.setattr(module, "LAST", tmp_path / "opt")
        monkeypatch.setattr(module, "PACKAGES", ())
    monkeypatch.delenv("ARGUS_HIP_LIBRARY", raising=False)
    monkeypatch.delenv("HIP_PATH", raising=False)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libamdhip64.so.6").write_text("no library")
    found = [tuple(place) for place in launcher.places()]
    assert found == [tuple(place) for place in hip_library.places()]
    assert found[0] == ("ROCM_PATH", str(tmp_path / "lib" / "libamdhip64.so.6"))
    with pytest.raises(
        OSError, match=r"^no HIP runtime: tried .*libamdhip64.so.6, libamdhip64.so, .*ARGUS_HIP_LIBRARY"
    ):
        launcher.Gemm(str(files["gemm.hsaco"]))


def test_python_launcher_refuses(files: dict[str, Path]) -> None:
    launcher = load(files["gemm_launch.py"])
    a, b, c = matrices(128, 128, 64)
    hip = Hip(samples.gemm(), [a, b, c])
    kernel = launcher.Gemm(str(files["gemm.hsaco"]), library=hip)
    cases = {
        "M%128": (Array(a[:64]), Array(b), Array(c[:64])),
        "shape": (Array(a), Array(b), Array(c[:, :64])),
        "bf16": (Array(a.astype(np.float32)), Array(b), Array(c)),
        "contiguous": (Array(a), Array(np.asfortranarray(b)), Array(c)),
        "multiple of 16": (Array(a, offset=2), Array(b), Array(c)),
        "overlaps": (Array(np.zeros((128, 128), ml_dtypes.bfloat16)), Array(c), Array(c)),
        "axes": (Array(a[0]), Array(b), Array(c)),
    }
    for words, arguments in cases.items():
        with pytest.raises(launcher.LaunchRefused, match=words):
            kernel(*arguments)
    empty = np.zeros((0, 64), ml_dtypes.bfloat16)
    kernel(Array(empty), Array(b), Array(np.zeros((0, 128), ml_dtypes.bfloat16)))
    assert "launch" not in hip.calls


SCALED = """
import argus as ag
from argus import f32

PART = ag.Owner(t=64, e=1, i="t + e*0")


@ag.kernel(threads=64, requires="scale > 0")
def scaled(x: ag.In["N=64", f32], y: ag.Out["N=64", f32], scale: f32):
    ag.grid(1)
    y.store(x.load(PART, width=4) * scale, width=4)
"""


def test_a_scalar_that_must_be_positive_is_refused_by_every_launcher(tmp_path: Path) -> None:
    """Also one that is positive only before it is rounded to f32."""
    (tmp_path / "scaled.py").write_text(SCALED)
    kernel = read(tmp_path / "scaled.py")
    compiled = compile_kernel(scheduled(kernel))
    made = {path.name: path for path in export(scheduled(kernel), compiled, tmp_path / "out")}
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    module = load(made["scaled_launch.py"])
    hip = Hip(kernel, [x, y])
    launch = module.Scaled(made["scaled.hsaco"], library=hip)
    for wrong in (0.0, -1.0, float("nan"), 1e-60):
        with pytest.raises(module.LaunchRefused, match="scale > 0"):
            launch(Array(x), Array(y), wrong)
        with pytest.raises(LaunchRefused, match="scale > 0"):
            CheckingDevice().launch(kernel, compiled.object, {}, {"x": x, "y": y}, {"scale": wrong})
    assert 'refuse_unless(scale > 0, "the kernel requires scale > 0");' in made["scaled.hpp"].read_text()
    CheckingDevice().launch(kernel, compiled.object, {}, {"x": x, "y": y}, {"scale": 2.5})
    assert (y == 2.5).all()


def test_manifest_names_every_file_with_its_hash(files: dict[str, Path]) -> None:
    manifest = json.loads(files["gemm.manifest.json"].read_text())
    assert set(manifest["files"]) == set(files) - {"gemm.manifest.json"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == digest
    assert manifest["requires"] == ["M%128 == 0", "N%128 == 0", "K%64 == 0"]


STUB = """
#pragma once
#include <cstdio>
typedef int hipError_t; typedef void* hipStream_t; typedef void* hipModule_t; typedef void* hipFunction_t;
constexpr hipError_t hipSuccess = 0;
inline hipError_t hipModuleLoad(hipModule_t* m, const char*) { *m = (void*)1; return 0; }
inline hipError_t hipModuleGetFunction(hipFunction_t* f, hipModule_t, const char* n) {
  *f = (void*)2; std::puts(n); return 0;
}
inline hipError_t hipModuleUnload(hipModule_t) { return 0; }
inline hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
    unsigned bz, unsigned lds, hipStream_t, void** a, void**) {
  std::printf("launch %u %u %u %u %u %u %u %p %d\\n", x, y, z, bx, by, bz, lds, *(void**)a[2], *(int*)a[5]);
  return 0;
}
"""

PROGRAM = """
#include "gemm.hpp"
int main() {
  argus::gemm kernel("gemm.hsaco");
  void* c = (void*)0x30000000;
  kernel.launch(nullptr, (void*)0x10000000, (void*)0x20000000, c, 256, 128, 64);
  kernel.launch(nullptr, (void*)0x10000000, (void*)0x20000000, c, 0, 128, 64);
  const int bad[][3] = {{100, 128, 64}, {128, 128, 63}, {1 << 20, 128, 1 << 20}};
  for (auto& s : bad) {
    try { kernel.launch(nullptr, (void*)0x10000000, (void*)0x20000000, c, s[0], s[1], s[2]); std::puts("no"); }
    catch (const std::invalid_argument& e) { std::puts(e.what()); }
  }
  try { kernel.launch(nullptr, (void*)0x30000010, (void*)0x20000000, c, 128, 128, 64); std::puts("no"); }
  catch (const std::invalid_argument& e) { std::puts(e.what()); }
  try { kernel.launch(nullptr, (void*)0x10000002, (void*)0x20000000, c, 128, 128, 64); std::puts("no"); }
  catch (const std::invalid_argument& e) { std::puts(e.what()); }
}
"""


def test_cpp_launcher_compiles_and_guards(files: dict[str, Path], tmp_path: Path) -> None:
    compiler = tool("g++", "clang++")
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "hip_runtime.h").write_text(STUB)
    (tmp_path / "main.cpp").write_text(PROGRAM)
    command = [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", f"-I{files['gemm.hpp'].parent}"]
    subprocess.run([*command, str(tmp_path / "main.cpp"), "-o", str(tmp_path / "main")], check=True, timeout=120)
    out = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True, timeout=20).stdout
    assert out.splitlines() == [
        "gemm",
        "launch 1 2 1 256 1 1 0 0x30000000 64",
        "the kernel requires M%128 == 0",
        "the kernel requires K%64 == 0",
        "A must be smaller than 2**31 bytes",
        "C overlaps A",
        "A must start at a multiple of 16 bytes",
    ]

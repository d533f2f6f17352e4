"""The search for the HIP runtime, and the ctypes table on a library compiled here that checks what it is handed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.compile.export import hip_library
from argus.compile.export.hip_library import OWN, mapped, places
from argus.device.hip import HipDevice
from argus.device.hip_calls import HipError, load
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.compile.oracles import tool

VADD = Path(__file__).parents[2] / "argus" / "kernels" / "vadd.py"

LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
static int device = 0, events = 0, launches = 0;
static unsigned char kernel_arguments[64];
int hipInit(unsigned flags) { return flags ? 1 : 0; }
const char *hipGetErrorString(int code) { return code == 2 ? "out of memory" : "no words"; }
int hipRuntimeGetVersion(int *v) { *v = 60342133; return 0; }
int hipGetDeviceCount(int *n) { *n = 2; return 0; }
int hipGetDevice(int *n) { *n = device; return 0; }
int hipSetDevice(int n) { device = n; return 0; }
int hipGetDevicePropertiesR0600(char *p, int n) {
    memset(p, 0, 1472);
    strcpy(p, "AMD Instinct MI300X");
    strcpy(p + 1160, n ? "gfx942:sramecc+:xnack-" : "gfx90a:sramecc+:xnack-");
    return 0;
}
int hipDeviceGetName(char *p, int size, int n) { snprintf(p, size, "GPU %d", n); return 0; }
int hipDeviceTotalMem(size_t *size, int n) { *size = (size_t)192 << 30; return 0; }
int hipMalloc(void **p, size_t n) {
    if (n > (size_t)1 << 40) return 2;
    *p = aligned_alloc(256, (n + 255) / 256 * 256);
    return 0;
}
int hipFree(void *p) { free(p); return 0; }
int hipMemcpyHtoD(void *d, const void *s, size_t n) { memcpy(d, s, n); return 0; }
int hipMemcpyDtoH(void *d, const void *s, size_t n) { memcpy(d, s, n); return 0; }
int hipModuleLoadData(void **m, const unsigned char *image) {
    *m = (void *)0x7700000000077;
    return memcmp(image, "\177ELF", 4) ? 209 : 0;
}
int hipModuleGetFunction(void **f, void *m, const char *name) {
    *f = (void *)0x7700000000088;
    return m == (void *)0x7700000000077 && !strcmp(name, "vadd") ? 0 : 500;
}
int hipModuleUnload(void *m) { return 0; }
int hipEventCreate(void **e) { *e = (void *)(0x7700000001000 + ++events); return 0; }
int hipEventDestroy(void *e) { events--; return 0; }
int hipEventRecord(void *e, void *stream) { return (uintptr_t)e >> 44 ? 0 : 400; }
int hipEventSynchronize(void *e) { return 0; }
int hipEventElapsedTime(float *ms, void *a, void *b) { *ms = 2.5f; return a < b ? 0 : 33; }
int hipStreamSynchronize(void *s) { return 0; }
int hipStreamIsCapturing(void *s, int *status) { *status = s == (void *)0x5500000000055; return 0; }
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned lds, void *stream, void **params, void **extra) {
    if (f != (void *)0x7700000000088 || params || lds || gy != 1 || gz != 1 || by != 1 || bz != 1) return 1;
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3) return 1;
    size_t size = *(size_t *)extra[3];
    if (size > sizeof kernel_arguments) return 1;
    memcpy(kernel_arguments, extra[1], size);
    float **tensors = (float **)kernel_arguments, *x = tensors[0], *y = tensors[1], *z = tensors[2];
    int n = *(int *)(kernel_arguments + 24);
    for (int i = 0; i < n; i++) z[i] = x[i] + y[i];
    launches++;
    return device == 1 && gx * bx > 0 ? 0 : 98;
}
int launched(void) { return launches; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rocm") / "lib"
    folder.mkdir()
    (folder / "hip.c").write_text(LIBRARY)
    made = folder / hip_library.NAME
    command = [tool("cc", "gcc", "clang", "clang-19"), "-shared", "-fPIC", "-O1", "-o", made, folder / "hip.c"]
    subprocess.run(command, check=True, timeout=60)
    return made


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine on which no rule finds a file."""
    for name in (OWN, "ROCM_PATH", "HIP_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hip_library, "MAPS", tmp_path / "maps")
    monkeypatch.setattr(hip_library, "LAST", tmp_path / "opt")
    monkeypatch.setattr(hip_library, "PACKAGES", (("a_torch_that_is_not_there", "torch's own"),))
    return monkeypatch


def test_the_table_on_a_library(library: Path) -> None:
    """In a process of its own: a HIP runtime that is loaded is the one that every later launch would take."""
    env = {**os.environ, "ROCM_PATH": str(library.parents[1])}
    env.pop(OWN, None)
    command = [sys.executable, "-c", "from tests.device.test_hip_library import session; session()"]
    done = subprocess.run(command, env=env, cwd=VADD.parents[2], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def session() -> None:
    """Every argument arrives as the C side declares it: 64-bit handles, the argument block, the stream."""
    hip_library.PACKAGES = ()
    calls = load()
    assert calls.library().how == "ROCM_PATH"
    first = next(places())
    assert (first.how, first.file) == ("already loaded", calls.library().file)
    assert (calls.device_count(), calls.runtime_version(), calls.device_bytes(1)) == (2, 60342133, 192 << 30)
    assert (calls.architecture(1), calls.device_name(1)) == ("gfx942:sramecc+:xnack-", "GPU 1")
    assert (calls.capturing(0), calls.capturing(0x5500000000055)) == (False, True)
    with pytest.raises(HipError, match=r"hipMalloc: out of memory \(2\)") as full:
        calls.malloc(1 << 41)
    assert full.value.code == "ARG-D203"
    kernel = read(VADD)
    x = np.arange(1000, dtype=np.float32)
    arrays = {"x": x, "y": 2 * x, "z": np.zeros(1000, np.float32)}
    outcome = HipDevice(calls).launch(kernel, compile_kernel(scheduled(kernel)).object, {"N": 1000}, arrays)
    np.testing.assert_array_equal(arrays["z"], 3 * x)
    assert outcome.seconds == pytest.approx(2.5e-3)
    assert calls.current_device() == 0
    with pytest.raises(HipError, match=r"hipModuleLoadData: no words \(209\)"):
        calls.module_load(b"no object")


def test_the_order_of_the_search(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def lay(*parts: str) -> str:
        file = tmp_path.joinpath(*parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
        return str(file)

    loaded = lay("used", "libamdhip64.so.6")
    lines = [f"7f00-7f01 {mode} 00000000 08:01 12 {loaded}\n" for mode in ("r-xp", "r--p")]
    (tmp_path / "maps").write_text("".join(lines))
    torch = lay("torch", "lib", "libamdhip64.so")
    wheel = lay("sdk", "lib", "libamdhip64.so.7")
    rocm, hip = lay("rocm", "lib", "libamdhip64.so"), lay("hip", "lib", "libamdhip64.so")
    last = lay("opt", "lib", "libamdhip64.so")
    nowhere.setattr(hip_library, "PACKAGES", (("torch", "torch's own"), ("_rocm_sdk_core", "ROCm's wheels")))
    for name, folder in (("torch", "torch"), ("_rocm_sdk_core", "sdk")):
        nowhere.setitem(sys.modules, name, SimpleNamespace(__path__=[str(tmp_path / folder)]))
    nowhere.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    nowhere.setenv("HIP_PATH", str(tmp_path / "hip"))
    system = [("system", name) for name in hip_library.SONAMES]
    assert [(place.how, place.file) for place in places()] == [
        ("already loaded", loaded), ("torch's own", torch), ("ROCm's wheels", wheel), ("ROCM_PATH", rocm),
        ("HIP_PATH", hip), *system, (str(tmp_path / "opt"), last),
    ]  # fmt: skip
    nowhere.setenv(OWN, "mine.so")
    assert [place.file for place in places()] == ["mine.so"]


def test_a_machine_without_maps_or_packages(nowhere: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert mapped(tmp_path / "nothing") == []
    assert {place.how for place in places()} == {"system"}

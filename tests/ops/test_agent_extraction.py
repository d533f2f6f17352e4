"""What is taken out of other people's files: the device part of HIP C++, Triton's functions, expressions, solutions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argus import machine
from argus.bench.agents import hip_compile, solutions
from argus.bench.agents.expressions import whole_number
from argus.bench.agents.hip_compile import Clang, ClangMissing, clang
from argus.bench.agents.hip_text import ExtractionError, device_text
from argus.bench.agents.launching import Compilers, built
from argus.bench.agents.problem import BF16
from argus.bench.agents.refusal import SolutionRefused
from argus.bench.agents.solutions import AgentSolution, AgentVariant
from argus.bench.agents.triton_source import triton_job, triton_text

HIP = """
#include "sizes.h"
#include <torch/extension.h>
// a comment with a brace {
#define TWICE(x) \\
  ((x) * 2)
namespace {
constexpr int ROWS = 4;
using pair = float __attribute__((ext_vector_type(2)));
struct Box { int a; };
__device__ __constant__ float table[4];
__host__ inline float on_host(int n) { if (n) { return 1.0f; } return 0.0f; }
__device__ __forceinline__ float half(float x) { return x * 0.5f; }
template <int N>
__global__ __launch_bounds__(64) void scaled(const float* x, float* y, int n) {
  const char* text = "}";
  y[threadIdx.x] = half(x[threadIdx.x]) * N * table[0];
}
}  // namespace
torch::Tensor forward(torch::Tensor x) { scaled<2><<<1, 64>>>(x, x, 1); return x; }
torch::Tensor forward(torch::Tensor x);
"""
PYTHON = """
import torch
raise RuntimeError("this file is not executed")
other = "__global__"
source = r'''{text}'''
"""
TRITON = """
import torch
import triton
import triton.language as tl
BLOCK = 64
print("not kept")

@triton.autotune(configs=[], key=["n"])
@triton.jit
def copy(x, y, n, stride, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(y + at * stride, tl.load(x + at * stride, mask=at < n), mask=at < n)

def wrapper(x):
    return copy[1](x)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.cu").write_text(HIP)
    (tmp_path / "sizes.h").write_text("#include <cstdint>\nconstexpr int WIDE = 8;\n")
    (tmp_path / "model.py").write_text(PYTHON.format(text=HIP))
    return tmp_path


@pytest.mark.parametrize("name", ["kernel.cu", "model.py"])
def test_the_device_part_is_kept_and_the_host_part_dropped(folder: Path, name: str) -> None:
    text = device_text(folder / name, {"ROWS": 16}, {"table": [0.5, -1, "NAN", 0]})
    for kept in ("constexpr int WIDE = 8;", "constexpr int ROWS = 16;", "void scaled(", "float half(", "((x) * 2)"):
        assert kept in text
    assert "table[4] = {0.5f, -1.0f, NAN, 0.0f};" in text
    assert "struct Box { int a; };" in text
    for dropped in ("torch", "on_host", "forward", "#include", "namespace", "comment"):
        assert dropped not in text


def test_what_is_no_kernel_is_said(folder: Path) -> None:
    for text, why in (("int x;", "no kernel"), ("__global__ void k() {", "not closed")):
        (folder / "bad.cu").write_text(text)
        with pytest.raises(ExtractionError, match=why):
            device_text(folder / "bad.cu")
    (folder / "bad.py").write_text("x = 'nothing'")
    with pytest.raises(ExtractionError, match="no string with a kernel"):
        device_text(folder / "bad.py")
    with pytest.raises(ExtractionError, match="no constexpr DEEP"):
        device_text(folder / "kernel.cu", {"DEEP": 1})
    with pytest.raises(ExtractionError, match="cannot be read"):
        device_text(folder / "nothing.cu")


def test_a_triton_function_comes_without_its_tuner_and_its_wrapper() -> None:
    text = triton_text(TRITON, "copy")
    assert "BLOCK = 64" in text
    assert "@triton.jit\ndef copy(" in text
    for dropped in ("torch", "autotune", "wrapper", "print"):
        assert dropped not in text
    with pytest.raises(ExtractionError, match="no Triton function wrapper"):
        triton_text(TRITON, "wrapper")


def test_whole_numbers_are_specialised_as_the_launcher_does() -> None:
    given: dict[str, str | int] = {"x": "*bf16", "y": "*bf16", "n": 4096, "stride": 1}
    job = triton_job(TRITON, "copy", given, {"SIZE": 64}, {"num_warps": 4})
    assert job.types == {"x": "*bf16", "y": "*bf16", "n": "i32"}
    assert job.fixed == {"stride": 1, "SIZE": 64}
    assert job.aligned == (0, 1, 2)
    assert triton_job(TRITON, "copy", {**given, "n": 100}, {}, {}).aligned == (0, 1)


def test_expressions_are_whole_numbers_of_the_sizes() -> None:
    sizes = {"M": 100, "N": 64}
    assert whole_number("cdiv(M, 64) * max(N // 32, 1) - -M % 7", sizes) == 2 * 2 - (-100 % 7)
    for bad in ("K", "M / 2", "__import__('os')", "M.real", "(", "M // 0", "cdiv(M)", "1.5"):
        with pytest.raises(SolutionRefused):
            whole_number(bad, sizes)


def entry(**changes: Any) -> dict[str, Any]:
    known = {"system": "S", "problem": "gemm", "language": "hip", "file": "kernel.cu", "kernel": "k"}
    return {**known, "grid": ["1"], "arguments": {"c": "C"}, **changes}


def test_the_file_of_solutions_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "solutions.json"
    file.write_text(json.dumps({"source": "us", "solutions": [entry()]}))
    (found,) = solutions.read(file).solutions
    with pytest.raises(SolutionRefused, match=r"there is no kernel\.cu"):
        found.path(tmp_path)
    for wrong in ({"problem": "sort"}, {"unknown": 1}, {"grid": "1"}):
        file.write_text(json.dumps({"source": "us", "solutions": [entry(**wrong)]}))
        with pytest.raises(ValueError, match="solutions"):
            solutions.read(file)


def test_a_solution_leads_nowhere_else(tmp_path: Path) -> None:
    solution = AgentSolution(**entry(file="../outside.cu", grid=("1",)))
    with pytest.raises(SolutionRefused, match="out of the folder"):
        solution.path(tmp_path)
    with pytest.raises(SolutionRefused, match="-fplugin"):
        AgentSolution(**entry(flags=("-O3", "-fplugin=evil.so"))).checked_flags()


def test_a_missing_compiler_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ClangMissing, match="apt-get install clang-19 lld-19"):
        clang(None, names=("no-such-clang",))
    with pytest.raises(ClangMissing, match="no-such-clang"):
        clang("no-such-clang")
    old = tmp_path / "clang-old"
    old.write_text("#!/bin/sh\necho 'Debian clang version 14.0.6'\n")
    old.chmod(0o755)
    with pytest.raises(ClangMissing, match="no clang 17"):
        clang(str(old))


def test_the_first_error_of_the_compiler_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_CACHE", str(tmp_path / "cache"))
    fake = tmp_path / "clang-fake"
    fake.write_text("#!/bin/sh\nprintf 'k.hip:1:2: error: unknown name\\n    1 | using wmma;\\n' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(SolutionRefused, match=r"does not compile: unknown name \(`using wmma;`\)"):
        hip_compile.compiled("text", ("-O3",), Clang(str(fake), "19.0"))


OURS = """
constexpr int WAVE = 64;
struct Sum { float value; };
template <int KEEP>
__global__ __launch_bounds__(WAVE) void summed(const hip_bfloat16* __restrict__ x, float* __restrict__ y, int n) {
  extern __shared__ float staged[];
  staged[threadIdx.x] = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += WAVE) staged[threadIdx.x] += expf((float)x[i]);
  __syncthreads();
  float sum = staged[threadIdx.x ^ 1], shared = __shfl(threadIdx.x == 0 ? 0.1f : 0.7f, 0);
  for (int by = 32; by > 0; by >>= 1) sum += __shfl_down(sum, by);
  if (threadIdx.x == 0) atomicAdd(y, sum);
  if (threadIdx.x == 1) y[KEEP] = (float)hip_bfloat16(shared);
}
"""


def test_our_declarations_compile_a_kernel_of_our_own(tmp_path: Path) -> None:
    """Beside the rows with assembled objects (test_agent_rows.py), where there is a clang."""
    try:
        clang(None)
    except ClangMissing:
        pytest.skip("no clang")
    (tmp_path / "sum.cu").write_text(OURS)
    arguments = {"x": "A", "y": "C", "n": "N"}
    solution = AgentSolution(**entry(file="sum.cu", kernel="summed<2>", arguments=arguments, block=(64,), lds="256"))
    x = np.linspace(-2.0, 2.0, 256).astype(np.float32).astype(BF16)
    y = np.zeros(3, np.float32)
    ready = built(solution, AgentVariant(), {"N": 256}, {"A": x, "C": y}, tmp_path, Compilers())
    ready.launch()
    assert y[0] == pytest.approx(np.exp(x.astype(np.float64)).sum(), rel=1e-5)
    assert y[2] == np.float32(0.1).astype(x.dtype).astype(np.float32)
    assert machine.load(ready.code).names == [ready.kernel.info.name]

"""A solution made ready to launch at some sizes: compiled, its arguments in order, its grid.

    ready = built(solution, variant, sizes, values, root, Compilers(clang=None, run_python=True))
    ready.work("K-Search")                    a `Work` for the clock
    ready.launch()                            on the machine, where `values` are arrays

`values` are the problem's operands or arrays by name; what is not among them is an expression of the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from argus import machine
from argus.bench import triton_compile
from argus.bench.agents import hip_compile
from argus.bench.agents.expressions import whole_number
from argus.bench.agents.hip_text import ExtractionError, device_text, file_text
from argus.bench.agents.refusal import SolutionRefused
from argus.bench.agents.solutions import AgentSolution, AgentVariant
from argus.bench.agents.triton_source import triton_job
from argus.bench.triton_compile import TritonError
from argus.clock.sampled import Work
from argus.gfx942.lds import SIZE_BYTES as LDS_BYTES
from argus.machine.launch import LaunchResult, LoadedKernel

POINTERS = {"bfloat16": "*bf16", "float8_e4m3fnuz": "*fp8e4b8", "float32": "*fp32", "int32": "*i32"}
WAVE = 64
PADDING = 16
"""Bytes behind the arguments. LLVM loads three dwords with an instruction of four and leaves the last one unused; HIP
takes arguments from a pool that goes on behind them."""


@dataclass(frozen=True, slots=True)
class Compilers:
    """What this machine may use. `clang`: a name or path (None: the first that is there)."""

    clang: str | None = None
    run_python: bool = False
    """Whether other people's Triton sources may be imported, in a worker."""


@dataclass(frozen=True, slots=True)
class ReadySolution:
    """A kernel and how it is launched; `code` is its object."""

    code: bytes
    kernel: LoadedKernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    lds: int
    args: tuple[Any, ...]
    offsets: tuple[int, ...] | None = None

    def work(self, name: str) -> Work:
        return Work(name, self.kernel, self.grid, self.block, self.args, lds=self.lds, offsets=self.offsets)

    def launch(self) -> LaunchResult:
        """Executes all workgroups; the arguments are arrays."""
        return self.kernel(
            self.grid, self.block, *self.args, lds=self.lds, offsets=self.offsets, executor="jit"
        )  # fmt: skip


def built(
    solution: AgentSolution,
    variant: AgentVariant,
    sizes: Mapping[str, int],
    values: Mapping[str, Any],
    root: Path,
    compilers: Compilers,
) -> ReadySolution:
    """Ready to launch; SolutionRefused says why it cannot be."""
    known = variant.known(sizes)
    args = {
        name: values[text] if text in values else np.int32(whole_number(text, known))
        for name, text in solution.arguments.items()
    }
    grid = tuple(whole_number(text, known) for text in solution.grid)
    try:
        if solution.language == "triton":
            return _triton(solution, variant, grid, args, root, compilers)
        return _hip(solution, grid, args, known, root, compilers)
    except (ExtractionError, TritonError, machine.LoadError, machine.LaunchError) as error:
        raise SolutionRefused(str(error).splitlines()[0]) from error


def _hip(
    solution: AgentSolution,
    grid: tuple[int, ...],
    args: Mapping[str, Any],
    known: Mapping[str, int],
    root: Path,
    compilers: Compilers,
) -> ReadySolution:
    constants = {name: whole_number(text, known) for name, text in solution.constants.items()}
    text = device_text(solution.path(root), constants, solution.presets)
    name, template, _ = solution.kernel.partition("<")
    if template:
        text += f"\ntemplate __global__ decltype({solution.kernel}) {solution.kernel};\n"
    code = hip_compile.compiled(text, solution.checked_flags(), hip_compile.clang(compilers.clang))
    loaded = machine.load(code)
    found = [symbol for symbol in loaded.names if f"{len(name)}{name}" in symbol or symbol == name]
    if len(found) != 1:
        raise SolutionRefused(f"the object has {len(found)} kernels {name}")
    if not solution.block:
        raise SolutionRefused("a HIP kernel needs the threads of its workgroup (`block`)")
    kernel = loaded.kernel(found[0])
    passed, offsets = _padded(kernel, tuple(args.values()))
    return ReadySolution(code, kernel, grid, solution.block, whole_number(solution.lds, known), passed, offsets)


def _padded(kernel: LoadedKernel, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
    """The arguments with PADDING zero bytes behind them; kernels with hidden arguments need none."""
    info = kernel.info
    if any(arg.hidden for arg in info.args) or len(args) != len(info.args):
        return args, None
    return (*args, bytes(PADDING)), (*(arg.offset for arg in info.args), info.kernarg_size)


def _triton(
    solution: AgentSolution,
    variant: AgentVariant,
    grid: tuple[int, ...],
    args: Mapping[str, Any],
    root: Path,
    compilers: Compilers,
) -> ReadySolution:
    path = solution.path(root)
    text = file_text(path)
    if not compilers.run_python:
        raise SolutionRefused("a Triton source is Python and would be executed; say --run-python if it may")
    given = {name: _type(name, value) for name, value in args.items()}
    job = triton_job(text, solution.kernel, given, variant.fixed, variant.options)
    code, lds = triton_compile.compiled(job, f"{solution.system} {variant.name}".strip())
    if lds > LDS_BYTES:
        raise SolutionRefused(f"{lds} bytes of LDS")
    kernel = machine.load(code).kernel(solution.kernel)
    passed = tuple(value for name, value in args.items() if name in job.types)
    block = (WAVE * variant.options.get("num_warps", 4),)
    return ReadySolution(code, kernel, grid, block, lds - kernel.info.group_segment_fixed_size, (*passed, None, None))


def _type(name: str, value: Any) -> str | int:
    if isinstance(value, np.int32):
        return int(value)
    if isinstance(value, np.float32):
        return "fp32"
    kind = np.dtype(value.dtype).name
    if kind not in POINTERS:
        raise SolutionRefused(f"argument {name} has the type {kind}")
    return POINTERS[kind]

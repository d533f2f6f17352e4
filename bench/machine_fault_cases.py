"""What bench/machine_faults.py plants faults in: Triton's kernels and our compiler's, each with one launch.

    for make in subjects():            # (origin, name, how to make it); compiled only when asked for
        subject = make.build()
        subject.run(subject.object, checks="all")       -> LaunchResult
        subject.outputs()                               what that launch wrote

Our kernels are GEMMs and row kernels of argus/kernels ("library-softmax") and the programs of tests/lang/programs with
the sizes of their examples, one workgroup of each; Triton's are the cases of tests/machine/triton_cases.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "machine"))
import triton_cases

from argus.compile import compile_kernel
from argus.device.guards import numpy_dtype
from argus.ir.interp import extents
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.machine import LaunchResult, load

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = (
    "depthwise",
    "moe",
    "paged",
    "quantise",
    "rmsnorm",
    "rotary",
    "routing",
    "scan",
    "softmax",
    "splitk",
    "transpose",
)
OWN = (
    "argus/kernels/gemm",
    *(f"tests/lang/programs/{name}" for name in (*PROGRAMS, "attention")),
    "argus/kernels/gemm_pipelined",
)
LIBRARY = ("softmax", "rmsnorm", "layernorm", "matmul")
"""Files of argus/kernels with several kernels; the one of the same name is taken."""


class Subject(Protocol):
    """A kernel with a launch that can be repeated with another code object."""

    object: bytes
    kernel: str

    def run(self, code: bytes, **options: Any) -> LaunchResult: ...

    def outputs(self) -> list[Any]: ...


@dataclass(frozen=True)
class Make:
    origin: str
    name: str
    build: Callable[[], Subject]


class TritonSubject:
    def __init__(self, case: triton_cases.Case) -> None:
        self._case = case
        self.object, self.kernel = case.compiled.hsaco, case.compiled.name

    def run(self, code: bytes, **options: Any) -> LaunchResult:
        return self._case.run(code, **options)

    def outputs(self) -> list[Any]:
        return self._case.outputs()


class OwnSubject:
    """Inputs: floats in [-1, 1], integers 0 or 1 (they may be indices); outputs empty."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        kernel = read(str(path), None, None, name)
        sizes = {s.name: kernel.example[s.name] for s in kernel.shapes}
        rng = np.random.default_rng(0)
        self.object, self.kernel, self._threads = compile_kernel(scheduled(kernel)).object, kernel.name, kernel.threads
        self._initial: list[Any] = []
        for t in kernel.tensors:
            shape, dtype = extents(t, sizes), numpy_dtype(t.dtype)
            if not t.read:
                self._initial.append(np.zeros(shape, dtype))
            elif t.dtype.kind == "float":
                self._initial.append(rng.uniform(-1, 1, shape).astype(np.float32).astype(dtype))
            else:
                self._initial.append(rng.integers(0, 2, shape).astype(dtype))
        self._written = [k for k, t in enumerate(kernel.tensors) if t.written]
        scalars = [numpy_dtype(s.dtype).type(0.125 if s.dtype.kind == "float" else 1) for s in kernel.scalars]
        self._values = [*scalars, *(np.int32(sizes[s.name]) for s in kernel.shapes)]
        self._arrays = [a.copy() for a in self._initial]

    def run(self, code: bytes, **options: Any) -> LaunchResult:
        for now, initial in zip(self._arrays, self._initial, strict=True):
            now[...] = initial
        return load(code).kernel(self.kernel)(1, self._threads, *self._arrays, *self._values, **options)

    def outputs(self) -> list[Any]:
        return [self._arrays[k].copy() for k in self._written]


def subjects() -> Iterator[Make]:
    """All of them."""
    for name, case in triton_cases.CASES.items():
        yield Make("triton", name, lambda case=case: TritonSubject(case()))
    for name in OWN:
        yield Make("own", name.split("/")[-1], lambda name=name: OwnSubject(ROOT / f"{name}.py"))
    for name in LIBRARY:
        yield Make("own", f"library-{name}", lambda name=name: OwnSubject(ROOT / f"argus/kernels/{name}.py", name))

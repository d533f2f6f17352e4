"""Kernel files as ordinary Python modules: `from argus.kernels.gemm import gemm` gives a handle on the kernel.

The tools never import a kernel file. A person may: for that, every name the language has exists in Python too. Knobs
are their defaults, layouts and owners are the real ones, and a function under `@ag.kernel` becomes a `KernelHandle`
that knows its file and reads the kernel from there:

    from argus.kernels.gemm import gemm
    gemm.read(BM=64)            -> argus.ir.kernel.Kernel
    gemm(a, b, c, BM=64)        proved, compiled, launched; c is written in place

The body of a kernel has no meaning as Python; calling one of its functions (`ag.barrier()`) outside is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argus.ir.types import DTYPES
from argus.layout.layout import Layout
from argus.layout.owner import Owner

if TYPE_CHECKING:
    from argus.ir.kernel import Kernel, KnobValue


@dataclass(frozen=True, slots=True)
class KernelHandle:
    """A kernel by file and name."""

    name: str
    file: str

    def read(self, **settings: KnobValue) -> Kernel:
        """The kernel with the given knob settings, read from its file."""
        from argus.lang.reader import read

        return read(self.file, settings=settings, kernel=self.name)

    def __call__(self, *args: Any, device: str = "auto", **named: Any) -> Any:
        """Prove, compile and launch on arrays; `argus.ops.call` says how arguments are given."""
        from argus.ops.call import call

        return call(self.file, self.name, args, device, named)


class _Annotation:
    """`ag.In["M K", bf16]` and the like; only the reader gives them a meaning."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, item: Any) -> _Annotation:
        return self


def knob(default: Any, *, legal: Any = None, why: str = "") -> Any:
    """A typed parameter of a kernel file; in Python, its default."""
    return default


def kernel(**stated: Any) -> Callable[[Any], KernelHandle]:
    """Marks a function as a kernel."""

    def mark(function: Any) -> KernelHandle:
        return KernelHandle(function.__name__, function.__code__.co_filename)

    return mark


class _OnlyInKernels:
    """A function of the language that has no meaning outside a kernel."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _OnlyInKernels:
        if name.startswith("__"):
            raise AttributeError(name)
        return _OnlyInKernels(f"{self._name}.{name}")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"{self._name}() has a meaning only inside a kernel, which is read and not executed")


NAMES: dict[str, Any] = {
    **DTYPES,
    "Layout": Layout,
    "Owner": Owner,
    "knob": knob,
    "kernel": kernel,
    "inf": math.inf,
    "LOG2E": math.log2(math.e),
    **{name: _Annotation(name) for name in ("In", "Out", "InOut", "const")},
}


def lookup(name: str) -> Any:
    """A name of the language as a Python object; AttributeError when there is none."""
    if name in NAMES:
        return NAMES[name]
    from argus.gfx942.fragments import matrix
    from argus.lang import members

    found = matrix(name)
    if found is not None:
        return found
    if name in members.names_of("argus"):
        return _OnlyInKernels(f"ag.{name}")
    raise AttributeError(f"module 'argus' has no attribute {name!r}")

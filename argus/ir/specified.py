"""The specification of a kernel, read against its own arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from argus.ir.kernel import Kernel, ScalarArg
from argus.ir.ops import Tensor
from argus.layout.expr import Expr
from argus.spec import ResultSpec, SpecArguments, Specification, TensorArgument, read_specification, spec_text

WHOLE = ("int", "uint")


def spec_arguments(tensors: Iterable[Tensor], scalars: Iterable[ScalarArg], shapes: Iterable[Expr]) -> SpecArguments:
    """What a specification of a kernel with these arguments may name."""
    return SpecArguments(
        {t.name: TensorArgument(t.shape, t.dtype.kind in WHOLE, t.read, t.written) for t in tensors},
        frozenset(size.name for size in shapes),
        {s.name: s.dtype.kind in WHOLE for s in scalars},
    )


def specified(kernel: Kernel, text: str) -> Specification:
    """The text as a specification of this kernel. Raises `SpecError`."""
    return read_specification(text, spec_arguments(kernel.tensors, kernel.scalars, kernel.shapes))


def restated(kernel: Kernel, text: str) -> Kernel:
    """The kernel with another specification. Raises `SpecError`."""
    return replace(kernel, computes=specified(kernel, text))


def stating(kernel: Kernel, statement: ResultSpec) -> Kernel:
    """The kernel with one of its specification's statements as the only one."""
    return replace(kernel, computes=Specification(spec_text(statement), (statement,)))

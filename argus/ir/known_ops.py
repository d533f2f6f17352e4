"""Ops that no pass knows are found before any pass looks at the kernel.

Passes dispatch on the closed union `argus.ir.ops.Op`, so mypy lists what a new op class lacks. A kernel made by other
code may still hold an object of a class outside the union. The compiler refuses such a kernel (C120); the checker
calls it unknown.
"""

from __future__ import annotations

from typing import get_args

from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.ops import Op, walk

CLASSES: frozenset[type] = frozenset(get_args(Op))


def unknown_ops(kernel: Kernel) -> list[Op]:
    """The ops, in program order, whose class is not one of the union's."""
    return [op for op in walk(kernel.body) if type(op) not in CLASSES]


def refuse_unknown_ops(kernel: Kernel) -> None:
    """Raise `CompileError` at the first op that no pass knows."""
    for op in unknown_ops(kernel):
        raise CompileError("C120", f"there is no meaning and no code for the op {type(op).__name__}", op.span)

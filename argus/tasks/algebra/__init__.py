"""Exact-algebra execution of kernels: the object's values against its specification, or another object's, without a
tolerance. The machine's side is `argus.machine.algebra`."""

from argus.tasks.algebra.approximations import fitted
from argus.tasks.algebra.comparison import AlgebraComparison, compare_numbers
from argus.tasks.algebra.execution import compare_kernel, compare_objects, compare_part, compare_specified

__all__ = [
    "AlgebraComparison",
    "compare_kernel",
    "compare_numbers",
    "compare_objects",
    "compare_part",
    "compare_specified",
    "fitted",
]

"""Which specifications small whole numbers make exact: no rounding, whatever the order of the sum.

    C[m, n] = maximum(sum(A[m, k] * B[n, k], k) + U[n], 0)          with inputs from -2 to 2: at most 4 K + 2
    C[m, n] = sum(A[m, k] * B[n, k], k) / N                         not: a quotient is rounded

The error bound of a long sum allows for n roundings, and so for terms that are missing: of 4096 products in f32 one may
be dropped. f32 has every whole number up to 2^24, so that sums and products of small ones are exact; a result then is
the specified one but for the rounding of its own type, and no term may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.spec.extents import reduction_extent
from argus.spec.tree import (
    Arithmetic,
    ConditionalValue,
    FunctionCall,
    IndexReduction,
    Negation,
    NumberLiteral,
    ResultSpec,
    SpecNode,
    TensorElement,
)
from argus.spec.walk import walk

EXACT_F32 = 1 << 24
MANY = 4
"""Additions that are a sum written out: the taps of a depthwise convolution."""
FUNCTIONS = ("maximum", "minimum", "abs")

Shapes = Mapping[str, tuple[int, ...]]


def exactly_summed(result: ResultSpec, shapes: Shapes, symbols: Mapping[str, float], largest: int) -> bool:
    """Whether it has a sum, and is exact in f32 for whole numbers up to `largest`."""
    nodes = list(walk(result.expression))
    summed = any(isinstance(node, IndexReduction) and node.kind == "sum" for node in nodes)
    added = sum(isinstance(node, Arithmetic) and node.op == "+" for node in nodes)
    if not summed and added < MANY:
        return False
    size = _size(result.expression, shapes, symbols, largest)
    return size is not None and size <= EXACT_F32


def _size(node: SpecNode, shapes: Shapes, symbols: Mapping[str, float], largest: int) -> int | None:
    """The largest magnitude of anything on the way; None where something is rounded, or may be."""

    def of(*parts: SpecNode) -> list[int] | None:
        found = [_size(part, shapes, symbols, largest) for part in parts]
        return None if None in found else [size for size in found if size is not None]

    match node:
        case TensorElement(whole=False):
            return largest
        case NumberLiteral(int() as value):
            return value
        case Negation(operand):
            return _size(operand, shapes, symbols, largest)
        case Arithmetic("+" | "-", left, right):
            sizes = of(left, right)
            return None if sizes is None else sum(sizes)
        case Arithmetic("*", left, right):
            sizes = of(left, right)
            return None if sizes is None else max(sizes[0], 1) * max(sizes[1], 1)
        case FunctionCall(name, args) if name in FUNCTIONS:
            sizes = of(*args)
            return None if sizes is None else max(sizes)
        case ConditionalValue(_, yes, no):
            sizes = of(yes, no)
            return None if sizes is None else max(sizes)
        case IndexReduction("sum" | "max" | "min" as kind, body):
            size = _size(body, shapes, symbols, largest)
            if size is None:
                return None
            return size * max(reduction_extent(node, shapes, symbols), 1) if kind == "sum" else size
        case _:
            return None

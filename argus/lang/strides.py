"""Strides of a tensor argument that is not simply row-major.

    A: ag.In["M K", bf16, "sM 1"]        rows sM elements apart: a part of a wider matrix
    B: ag.In["K N", bf16, "1 sN"]        a transposed matrix: neighbours along K lie next to each other
    C: ag.In["B M K", bf16, "K sM 1"]    any words: numbers, sizes, or new symbols, one per axis

A new word is a size of the launch like those of the axes: a name in the kernel, an argument of the machine code, given
by `--shape sM=…`, and `requires` may speak of it (`sM % 8 == 0`). A written tensor must not overlap itself, or two
threads would write one element: its axes, the one of stride 1 first and then from the last to the first, must be
nested, each stride as long as what lies inside (`sM >= K`, and `sB >= (M - 1) * sM + K`); these conditions are added to
`requires`. Inputs may overlap.
"""

from __future__ import annotations

import ast
import itertools

from argus.ir.types import Span
from argus.lang.context import ReadContext
from argus.layout.expr import Expr, const

Word = str | int


def words(ctx: ReadContext, arg: ast.arg, text: str, axes: int) -> list[Word]:
    """The words of the third part of a tensor's type; none for a row-major tensor."""
    found = text.split()
    if found and len(found) != axes:
        raise ctx.error("AG215", arg, problem=f"{len(found)} strides are given for {axes} axes")
    for word in found:
        if not (word.isidentifier() or (word.isdecimal() and 1 <= int(word) < 1 << 31)):
            raise ctx.error("AG215", arg, problem=f"`{word}` is neither a number nor a name")
    return [int(word) if word.isdecimal() else word for word in found]


def row_major(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    strides: list[Expr] = [const(1)]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return tuple(strides)


def resolved(given: list[Word], symbols: dict[str, Expr], shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The strides in elements."""
    if not given:
        return row_major(shape)
    return tuple(const(word) if isinstance(word, int) else symbols[word] for word in given)


def no_overlap(ctx: ReadContext, span: Span, shape: tuple[Expr, ...], strides: tuple[Expr, ...]) -> list[Expr]:
    """Conditions under which different coordinates are different elements."""
    order = sorted(range(len(shape)), key=lambda axis: (strides[axis] is not const(1), -axis))
    made: list[Expr] = []
    wanted: Expr = const(1)  # elements from the first to the last of the axes so far
    for inner, outer in itertools.pairwise(order):
        wanted = wanted + (shape[inner] - 1) * strides[inner]
        if strides[outer] is strides[inner] * shape[inner]:
            continue
        condition = wanted.le(strides[outer])
        if condition.op != "const":
            made.append(condition)
        elif not condition.value:
            raise ctx.error(
                "AG215", span, problem=f"a stride of {strides[outer]} is less than the {wanted} elements inside"
            )
    return made

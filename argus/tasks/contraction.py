"""Sums of products with computed factors, without the intermediate over all indices.

    sum(where(k <= q, exp(S[q, k]), 0) * V[k, d], k)        factors over (q, k) and (k, d): 256 x 4096 and 4096 x 128
    sum(A[m, k] * SA[m, k // 128] * B[n, k] * SB[n // 128, k // 128], k)            two over (m, k), two over (n, k)

Multiplied out, this is an array over (q, k, d), a thousand times larger than either factor. Each factor is evaluated by
itself, with its error bound, and the sum over the index is a contraction of values, of magnitudes and of errors:

    value = Σ x y        error = Σ (|x| e(y) + |y| e(x) + e(x) e(y)) + (n + 1) u Σ |x y|

the same bound the sum of the products would have. If each factor has an index of its own, the sum is a matrix product,
and a matrix instruction takes both operands in one format: a computed factor beside a tensor of bf16 or f16 may be
rounded to that format first, by half a unit in the last place.
"""

from __future__ import annotations

import ast

import ml_dtypes
import numpy as np

from argus.tasks.evaluation import UNIT_F32, Array, Bounded, Evaluator, parts

HALF_BYTES = 2
TWO = 2


class Contracting(Evaluator):
    """Evaluates as `Evaluator`, but contracts sums of products whose factors fall into two sets of indices."""

    def _reduce(self, name: str, args: list[ast.expr]) -> Bounded:
        if name == "sum" and len(args) == 2 and isinstance(args[1], ast.Name) and self._factors(args[0]) is None:
            index = args[1].id
            sides = self._sides(args[0])
            if len(sides) == TWO and all(index in side.indices for side, _ in sides):
                (x, of_x), (y, of_y) = sides
                return _contracted(self._rounded(x, y, of_y), self._rounded(y, x, of_x), index)
        return super()._reduce(name, args)

    def _sides(self, body: ast.expr) -> list[tuple[Bounded, ast.expr]]:
        """The factors of a product, multiplied together where one's indices hold the other's, largest first."""
        factors = [(self.visit(factor), factor) for factor in _multiplied(body)]
        if len(factors) < TWO:
            return []
        factors.sort(key=lambda pair: -len(pair[0].indices))
        sides: list[tuple[Bounded, ast.expr]] = []
        for made, factor in factors:
            for at, (side, first) in enumerate(sides):
                if set(made.indices) <= set(side.indices):
                    sides[at] = self._times(side, made), ast.Tuple([first, factor], ast.Load())
                    break
            else:
                sides.append((made, factor))
        return sides

    def _times(self, a: Bounded, b: Bounded) -> Bounded:
        x, y = self._align(a, b)
        value = x.value * y.value
        error = np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
        return Bounded(x.indices, value, error + UNIT_F32 * np.abs(value))

    def _rounded(self, mine: Bounded, other: Bounded, beside: ast.expr) -> Bounded:
        """A computed operand of a matrix product as its instruction takes it."""
        apart = set(mine.indices) - set(other.indices) and set(other.indices) - set(mine.indices)
        if not apart or not isinstance(beside, ast.Subscript) or not mine.error.any():
            return mine
        dtype = self._tensors[parts(beside)[0]].dtype
        if dtype.itemsize != HALF_BYTES or dtype.kind in "iu":
            return mine
        unit = 2.0 ** -(int(ml_dtypes.finfo(dtype).nmant) + 1)
        return Bounded(mine.indices, mine.value, mine.error + unit * (np.abs(mine.value) + mine.error))


def _multiplied(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_multiplied(node.left), *_multiplied(node.right)]
    return [node]


def _contracted(x: Bounded, y: Bounded, index: str) -> Bounded:
    union = (*x.indices, *(i for i in y.indices if i not in x.indices))
    letter = {name: chr(ord("a") + number) for number, name in enumerate(union)}
    rest = tuple(i for i in union if i != index)
    formula = ",".join("".join(letter[i] for i in b.indices) for b in (x, y)) + "->" + "".join(letter[i] for i in rest)

    def total(a: Array, b: Array) -> Array:
        made: Array = np.einsum(formula, a, b, optimize=True)
        return made

    terms = x.value.shape[x.indices.index(index)]
    size_x, size_y = np.abs(x.value), np.abs(y.value)
    error = total(size_x + x.error, size_y + y.error) - total(size_x, size_y)
    return Bounded(rest, total(x.value, y.value), error + (terms + 1) * UNIT_F32 * total(size_x, size_y))

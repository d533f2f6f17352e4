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

import ml_dtypes
import numpy as np

from argus.spec.evaluator import Evaluator, einsum_formula
from argus.spec.functions import UNIT_F32, Array
from argus.spec.tree import IndexReduction, SpecNode, TensorElement
from argus.spec.values import Bounded, arithmetic
from argus.spec.walk import factors, product_of_elements

HALF_BYTES = 2
TWO = 2


class ContractingEvaluator(Evaluator):
    """Evaluates as `Evaluator`, but contracts sums of products whose factors fall into two sets of indices."""

    def _reduced(self, node: IndexReduction) -> Bounded:
        if node.kind == "sum" and product_of_elements(node.body) is None and not self._result_is_whole:
            sides = self._sides(node.body)
            if len(sides) == TWO and all(node.index in side.indices for side, _ in sides):
                (x, of_x), (y, of_y) = sides
                return self._contracted(self._rounded(x, y, of_y), self._rounded(y, x, of_x), node.index)
        return super()._reduced(node)

    def _sides(self, body: SpecNode) -> list[tuple[Bounded, SpecNode | None]]:
        """The factors of a product, multiplied together where one's indices hold the other's, largest first; beside
        each, the factor itself if it is a single one."""
        if len(factors(body)) < TWO:
            return []
        found = [(self.visit(factor), factor) for factor in factors(body)]
        found.sort(key=lambda pair: -len(pair[0].indices))
        sides: list[tuple[Bounded, SpecNode | None]] = []
        for made, factor in found:
            for at, (side, _) in enumerate(sides):
                if set(made.indices) <= set(side.indices):
                    sides[at] = arithmetic("*", *self._aligned(side, made)), None
                    break
            else:
                sides.append((made, factor))
        return sides

    def _rounded(self, mine: Bounded, other: Bounded, beside: SpecNode | None) -> Bounded:
        """A computed operand of a matrix product as its instruction takes it."""
        disjoint = set(mine.indices) - set(other.indices) and set(other.indices) - set(mine.indices)
        if not disjoint or not isinstance(beside, TensorElement) or not mine.error.any():
            return mine
        dtype = self._tensors[beside.tensor].dtype
        if dtype.itemsize != HALF_BYTES or dtype.kind in "iu":
            return mine
        unit = 2.0 ** -(int(ml_dtypes.finfo(dtype).nmant) + 1)
        return Bounded(mine.indices, mine.value, mine.error + unit * (np.abs(mine.value) + mine.error))

    def _contracted(self, x: Bounded, y: Bounded, index: str) -> Bounded:
        union = (*x.indices, *(i for i in y.indices if i not in x.indices))
        rest = tuple(i for i in union if i != index)
        self._affordable(rest)
        formula = einsum_formula([x.indices, y.indices], rest)

        def total(a: Array, b: Array) -> Array:
            made: Array = np.einsum(formula, a, b, optimize=True)
            return made

        terms = x.value.shape[x.indices.index(index)]
        size_x, size_y = np.abs(x.value), np.abs(y.value)
        error = total(size_x + x.error, size_y + y.error) - total(size_x, size_y)
        return Bounded(rest, total(x.value, y.value), error + (terms + 1) * UNIT_F32 * total(size_x, size_y))

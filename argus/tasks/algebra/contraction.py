"""Sums of products in the fields without the intermediate over all indices: matrix products of half residues.

    x = 2**16 x1 + x0, y alike:  sum(x y) = 2**32 sum(x1 y1) + 2**16 (sum(x1 y0) + sum(x0 y1)) + sum(x0 y0)

A product of two 16-bit halves has 32 bits, so sums of up to 2**21 of them are exact in doubles, where NumPy's matrix
product is fast. Fields are missing or doubtful in the sum where they are in a term of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from argus.machine.algebra import fields
from argus.machine.algebra.fields import ORDERS
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.spec.evaluator import einsum_formula

Array = npt.NDArray[np.float64]
_HALF, _LOW = np.uint64(16), np.uint64(0xFFFF)
MOST_TERMS = 1 << 21


def contracted(
    x: AlgebraNumbers, y: AlgebraNumbers, of_x: tuple[str, ...], of_y: tuple[str, ...], index: str
) -> AlgebraNumbers:
    """The sum over `index`, which both have, of x over the indices `of_x` times y over `of_y`; over the others."""
    rest = tuple(dict.fromkeys(i for i in (*of_x, *of_y) if i != index))
    formula = einsum_formula([of_x, of_y], rest)

    def total(a: Array, b: Array) -> Array:
        made: Array = np.einsum(formula, a, b, optimize=True)
        return made

    residue = []
    for level, order in enumerate(ORDERS):
        q = np.uint64(order)
        x1, x0 = _halves(x.residue[level])
        y1, y0 = _halves(y.residue[level])
        high, low = _whole(total(x1, y1), q), _whole(total(x0, y0), q)
        middle = (_whole(total(x1, y0), q) + _whole(total(x0, y1), q)) % q
        scaled = (high * np.uint64(pow(2, 32, order)) % q + middle * np.uint64(1 << 16) % q) % q
        residue.append((scaled + low) % q)
    real = total(x.real, y.real)
    present = _over(np.bitwise_and, x.present, of_x, index, rest) & _over(np.bitwise_and, y.present, of_y, index, rest)
    taint = _over(np.bitwise_or, x.taint, of_x, index, rest) | _over(np.bitwise_or, y.taint, of_y, index, rest)
    present = np.where(np.isfinite(real), present, 0).astype(np.uint8)
    return AlgebraNumbers(np.stack(residue), present, np.broadcast_to(taint, real.shape).astype(np.uint8), real)


def _halves(x: fields.Residues) -> tuple[Array, Array]:
    return (x >> _HALF).astype(np.float64), (x & _LOW).astype(np.float64)


def _whole(x: Array, q: np.uint64) -> npt.NDArray[np.uint64]:
    return x.astype(np.uint64) % q


def _over(
    join: np.ufunc, bits: npt.NDArray[np.uint8], indices: tuple[str, ...], index: str, rest: tuple[str, ...]
) -> npt.NDArray[np.uint8]:
    """Bits joined over the summed index, with an axis for each of the others."""
    made: npt.NDArray[np.uint8] = join.reduce(bits, axis=indices.index(index))
    left = [i for i in indices if i != index]
    present = [i for i in rest if i in left]
    ordered = made.transpose([left.index(i) for i in present])
    return ordered.reshape([made.shape[left.index(i)] if i in left else 1 for i in rest])

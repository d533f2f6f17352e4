"""What a term is beyond the end of an axis, where elements of tensors are zero: folded in IEEE arithmetic.

    x[m, n] * w[n]               0 * 0                   0         the sum over padded n is whole
    abs(x[m, n])                 abs(0)                  0
    x[m, n] * log2(x[m, n])      0 * -inf                NaN       it is not: a padded lane spoils the sum
    x[m, n] / z[m, n]            0 * inf                 NaN
    exp2(x[m, n])                exp2(0)                 1         nor this: it counts the padding

The value is a number (infinities and NaN among them), FINITE (some finite number: inputs that do not depend on the
axis are), or None where nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, nan
from typing import Final, assert_never

import numpy as np

from argus.check.terms.atoms import ZERO, Apply, Atom, Carried, Coordinate, Leaf, Number, Power, Reduce, Where, own
from argus.check.terms.definedness import DefinedTerms, defined_everywhere
from argus.ir.maps import MAPS
from argus.layout.expr import Expr

FINITE: Final = "finite"
Folded = float | str | None
"""A number, FINITE, or None."""


@dataclass(frozen=True, slots=True)
class Padding:
    """Beyond an axis of this extent; `shapes` are those of all tensors."""

    terms: DefinedTerms
    axis: int
    extent: Expr
    shapes: Mapping[str, tuple[Expr, ...]]

    def folded(self, term: int, shown: bool = False) -> Folded:
        """The term at a coordinate beyond the axis; `shown`: its maxima are known to be finite."""
        if self.axis not in self.terms.axes(term):
            value = self.terms.value(term)
            return value if value is not None else FINITE if self.terms.total(term, shown) else None
        return _sum([self._product(factors, exponent, c) for (factors, exponent), c in self.terms[term]])

    def _product(self, factors: tuple[tuple[int, int], ...], exponent: int, c: float) -> Folded:
        parts = [float(c), *(self._power(number, twice) for number, twice in factors)]
        if exponent != ZERO:
            inside = self.folded(exponent, True)
            with np.errstate(over="ignore"):
                parts.append(float(np.exp2(inside)) if isinstance(inside, float | int) else inside)
        return _times(parts)

    def _power(self, number: int, twice: int) -> Folded:
        atom = self.terms.atoms[number]
        base = self._atom(atom)
        if isinstance(base, float | int):
            with np.errstate(all="ignore"):
                return float(np.float64(base) ** (twice / 2)) if twice % 2 == 0 or base >= 0 else nan
        if base is None or twice == 2:
            return base
        known = self.terms.positive_atom(atom) or (twice > 0 and twice % 2 == 0)
        return FINITE if known else None

    def _atom(self, atom: Atom) -> Folded:
        terms = self.terms
        if self.axis not in terms.atom_axes(atom):
            return self.folded(terms.atom(atom))
        match atom:
            case Leaf(tensor=name, axes=axes, at=at):
                places = at or tuple(own(a) for a in axes)
                beyond = any(
                    p is own(self.axis) and e is self.extent for p, e in zip(places, self.shapes[name], strict=True)
                )
                return 0.0 if beyond else FINITE
            case Number() | Coordinate():
                return FINITE
            case Apply(fn="select", args=(_, yes, no)) | Where(yes=yes, no=no):
                return _either(self.folded(yes), self.folded(no))
            case Apply(fn=fn, args=args):
                return _applied(fn, [self.folded(arg) for arg in args])
            case Power(base=base):
                return self.folded(base)
            case Reduce(op=op, body=body):
                inside = self.folded(body)
                if op == "prod":
                    return None if inside is None else FINITE
                return inside if inside == 0 or op != "sum" or inside is None else FINITE
            case Carried():
                return None
            case _:
                assert_never(atom)


def _sum(parts: list[Folded]) -> Folded:
    if any(part is None for part in parts):
        return None
    numbers = [part for part in parts if isinstance(part, float | int)]
    total = float(np.sum(np.array(numbers, dtype=np.float64)))
    if len(numbers) == len(parts):
        return total
    return FINITE if isfinite(total) else None


def _times(parts: list[Folded]) -> Folded:
    if any(part is None for part in parts):
        return None
    numbers = np.array([part for part in parts if isinstance(part, float | int)], dtype=np.float64)
    with np.errstate(all="ignore"):
        product = float(np.prod(numbers))
    if len(numbers) == len(parts) or product == 0 or product != product:
        return product
    return FINITE if isfinite(product) else None


def _either(x: Folded, y: Folded) -> Folded:
    if x == y:
        return x
    known = all(v == FINITE or (isinstance(v, float | int) and isfinite(v)) for v in (x, y))
    return FINITE if known else None


def _applied(fn: str, args: list[Folded]) -> Folded:
    row, numbers = MAPS.get(fn), [arg for arg in args if isinstance(arg, float | int)]
    if row is not None and len(numbers) == len(args):
        with np.errstate(all="ignore"):
            if row.out == "bool" or row.kinds <= {"int", "uint", "bool"}:
                return None
            return float(row.numpy(*(np.float64(n) for n in numbers)))
    if len(numbers) == len(args) == 1 and numbers[0] == 0 and defined_everywhere(fn):
        return 0.0
    finite = all(arg == FINITE or (isinstance(arg, float | int) and isfinite(arg)) for arg in args)
    return FINITE if finite and defined_everywhere(fn) else None

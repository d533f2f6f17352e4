"""When a sum of exponentials less a maximum may be taken apart: only where not all of it can vanish.

    sum(2**(a - T))  =  2**-T · sum(2**a)            T is the maximum of these a: one addend is 1
    where(mask, 2**(a - T), 0)                       T is also one of elements that the mask takes away: if one of
                                                     these is the greatest, all that is left may be 0

As real numbers both steps always hold. In arithmetic the left side is then 0 where the right side is not, so the steps
are not made, and what is stored is unknown.
"""

from __future__ import annotations

from typing import assert_never

from argus.check.terms.atoms import UNKNOWN, ZERO, Apply, Atom, Carried, Coordinate, Leaf, Number, Power, Reduce, Where
from argus.check.terms.term_store import Interned
from argus.layout import expr as E
from argus.layout.expr import Expr

MOST_FACTOR = 64.0
"""Powers of two that may be taken out of a sum of exponentials."""


def may_leave_a_sum(terms: Interned, within: int, without: int) -> bool:
    """2**without may be taken out of a sum of 2**(within + without): where it is small, or belongs to an extreme
    (whoever made the exponential has shown that it dominates)."""
    if ZERO in (within, without):
        return True
    number = terms.value(without)
    if number is not None:
        return abs(number) <= MOST_FACTOR
    return any(map(_extreme, terms.inside(without)))


def masked_late(terms: Interned, condition: Expr, term: int) -> bool:
    """An exponential less an extreme is masked, and the extreme is not."""
    if condition in (E.TRUE, E.FALSE) or term in (UNKNOWN, ZERO):
        return False
    for (_, exponent), _ in terms[term]:
        parts = list(terms.inside(exponent))
        kept = {atom.condition for atom in parts if isinstance(atom, Where)}
        if any(map(_extreme, parts)) and not {condition, E.lnot(condition)} & kept:
            return True
    return False


def _extreme(atom: Atom) -> bool:
    match atom:
        case Apply(fn=fn):
            return fn in ("max", "min", "select")
        case Reduce(op=op):
            return op in ("max", "min")
        case Carried():
            return True
        case Leaf() | Number() | Coordinate() | Power() | Where():
            return False
        case _:
            assert_never(atom)

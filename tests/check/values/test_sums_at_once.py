"""A sum of a body is the sum of the sums of its monomials, whichever way the normal form gets there.

    reduce(a + b, items) is reduce(a, items) + reduce(b, items), the same term

Bodies are random polynomials of elements on two axes, numbers, and sums over parts of the other axis, of which some can
be put together. Asked again, the same term is given.
"""

from __future__ import annotations

from functools import reduce
from random import Random

from argus.check.domain.reduction_footprint import one, several, union
from argus.check.terms.atoms import ZERO, Leaf, Number
from argus.check.terms.normal_form import Terms
from argus.layout import expr as E


def _body(terms: Terms, dice: Random) -> int:
    """A sum of products of few factors, so that monomials meet again."""
    x, y, eps = terms.atom(Leaf("X", (0, 1))), terms.atom(Leaf("Y", (1,))), terms.atom(Number("eps"))
    parts = [terms.reduce("sum", 0, x, several(E.const(0), (k, k + 1))) for k in (0, 2, 4)]
    other = [terms.reduce("sum", 1, y, one(E.const(0), k)) for k in range(3)]
    total = ZERO
    for _ in range(dice.randint(1, 7)):
        factors = [dice.choice([x, y, eps, *parts, *other]) for _ in range(dice.randint(1, 3))]
        product = reduce(terms.multiply, factors)
        total = terms.add(total, terms.scaled(product, dice.choice([1, -1, 2, 0.5])))
    if dice.random() < 0.5:  # y * part + 2 * y * part' - y * part': two monomials of equal coefficients
        for part, c in ((parts[0], 1), (parts[1], 2), (parts[1], -1)):
            total = terms.add(total, terms.scaled(terms.multiply(y, part), c))
    return total


def test_a_sum_is_the_sum_of_its_monomials() -> None:
    dice = Random(5)
    met = 0
    for _ in range(400):
        terms = Terms()
        body, axis = _body(terms, dice), dice.choice([0, 1])
        items = one(E.const(0), dice.randint(0, 3))
        if dice.random() < 0.5:
            items = union(items, one(E.var("b", 0, 9) * 8, dice.randint(0, 3)), twice=True)
        found = terms.reduce("sum", axis, body, items)
        singly = [terms.reduce("sum", axis, terms.monomial(mono, c), items) for mono, c in terms[body]]
        assert found == reduce(terms.add, singly, ZERO)
        assert terms.reduce("sum", axis, body, items) == found
        met += len(terms[found]) < len(terms[body])
    assert met  # some monomials were put together

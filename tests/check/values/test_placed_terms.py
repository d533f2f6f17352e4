"""Terms at one place, by their law: with leaves as arrays, the term at a place is the term of the element there.

1,000 random terms of sums and maxima over random coordinates, loops included, evaluated by brute force.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from argus.check.domain.reduction_footprint import FootprintPart, Over, ReducedFootprint, union
from argus.check.terms.atoms import Apply, Leaf, Reduce, own
from argus.check.terms.normal_form import Terms
from argus.check.terms.placed_terms import at_place, counted, in_steps, progression
from argus.layout import expr as E
from argus.layout.expr import Expr

X = np.random.default_rng(3).integers(-50, 50, 400).astype(np.float64)
BLOCK, TURN = E.var("block_x", 0, 3), E.var("kt", 0, 7)


def coordinates(items: ReducedFootprint, env: dict[str, int]) -> list[int]:
    found: list[int] = []
    for item in items:
        if isinstance(item, FootprintPart):
            start = int(E.evaluate(item.rest, env)) + item.low
            found += [start + bit for bit in range(item.mask.bit_length()) if item.mask >> bit & 1]
        else:
            lo, hi = int(E.evaluate(item.lo, env)), int(E.evaluate(item.hi, env))
            for turn in range(lo, hi, item.step):
                found += coordinates(item.items, {**env, item.var.name: turn})
    return sorted(found)


def evaluated(terms: Terms, term: int, env: dict[str, int], here: int | None) -> float:
    total = 0.0
    for (factors, _), c in terms[term]:
        product = float(c)
        for number, twice in factors:
            product *= _atom(terms, terms.atoms[number], env, here) ** (twice / 2)
        total += product
    return total


def _atom(terms: Terms, atom: object, env: dict[str, int], here: int | None) -> float:
    match atom:
        case Leaf(at=at):
            place = here if not at else int(E.evaluate(at[0].subst({own(0): -1 if here is None else here}), env))
            assert place is not None
            return float(X[place]) if 0 <= place < len(X) else 0.0
        case Reduce(op=op, body=body, footprint=footprint):
            values = [evaluated(terms, body, env, place) for place in coordinates(footprint, env)]
            return sum(values) if op == "sum" else max(values) if op == "max" else min(values)
        case Apply(fn=("max" | "min") as fn, args=args):
            given = [evaluated(terms, arg, env, here) for arg in args]
            return max(given) if fn == "max" else min(given)
        case Apply(fn="abs", args=(arg,)):
            return abs(evaluated(terms, arg, env, here))
        case _:
            raise AssertionError(atom)


def _footprint(dice: Random) -> ReducedFootprint:
    items: ReducedFootprint = ()
    for _ in range(dice.choice((1, 1, 2))):
        mask = dice.choice((1, 1, 3, 5, 0b10001))
        part = FootprintPart(E.as_expr(BLOCK * dice.choice((0, 16))), dice.randrange(9), mask)
        if dice.random() < 0.5:
            inner = FootprintPart(TURN * dice.choice((1, 4, 8)), dice.randrange(9), mask)
            hi = E.as_expr(BLOCK + dice.choice((1, 3)))
            items = union(
                items, (Over(TURN, E.const(dice.choice((0, 1))), hi, dice.choice((1, 2)), (inner,)),), twice=True
            )
        else:
            items = union(items, (part,), twice=True)
    return items


def _term(dice: Random, terms: Terms, depth: int) -> int:
    x = terms.atom(Leaf("x", (0,)))
    if depth == 0:
        return terms.scaled(x, dice.choice((1, 2, -3)))
    one = _term(dice, terms, depth - 1)
    match dice.randrange(4):
        case 0:
            return terms.add(one, _term(dice, terms, depth - 1))
        case 1:
            return terms.extreme(dice.choice(("max", "min")), (one, _term(dice, terms, depth - 1)))
        case 2:
            return terms.multiply(one, x)
        case _:
            return terms.add(x, terms.reduce(dice.choice(("sum", "max", "min")), 0, one, _footprint(dice)))


@pytest.mark.parametrize("seed", range(10))
def test_a_term_at_a_place_is_the_term_there(seed: int) -> None:
    dice = Random(seed)
    for _ in range(100):
        terms = Terms()
        term = _term(dice, terms, dice.choice((1, 2, 3)))
        where: Expr = E.as_expr(BLOCK * 8 + dice.randrange(5))
        made = at_place(terms, term, {0: where})
        assert not terms.axes(made)
        for block in (0, 1, 3):
            env = {"block_x": block}
            there = int(E.evaluate(where, env))
            try:
                expected = evaluated(terms, term, env, there)
            except ValueError:  # a maximum of nothing
                continue
            assert evaluated(terms, made, env, None) == expected


def test_counted_and_stepped_coordinates_are_the_same() -> None:
    dice = Random(5)
    for _ in range(1000):
        items = _footprint(dice)
        stride, start = dice.choice((1, 2, 4)), dice.randrange(3)
        steps = in_steps(items, E.const(start), stride)
        found = progression(counted(items))
        for block in (0, 1, 3):
            env = {"block_x": block}
            taken = coordinates(items, env)
            assert coordinates(counted(items), env) == taken
            if steps is not None:
                assert [start + stride * n for n in coordinates(steps, env)] == taken
            if found is not None:
                first, by, count = found
                turns = max(0, int(E.evaluate(count, env)))
                assert [int(E.evaluate(first, env)) + by * n for n in range(turns)] == taken

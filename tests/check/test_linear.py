"""A contradiction by elimination is one: judged by trying every value of the variables."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.check.solve.linear_elimination import contradict
from argus.check.solve.model_reuse import Models
from argus.check.solve.prover import Prover
from argus.layout import expr as E
from argus.layout.expr import Expr, var

X, Y, Z = var("x", -3, 4), var("y", 0, 5), var("z", 0, 3)
POINTS = {n: p.reshape(-1) for n, p in zip("xyz", np.mgrid[-3:5, 0:6, 0:4], strict=True)}

sums = st.tuples(*[st.integers(-4, 4)] * 4).map(lambda k: k[0] * X + k[1] * Y + k[2] * Z + k[3] * 3)
terms = st.one_of(
    sums,
    st.tuples(sums, st.integers(2, 5)).map(lambda p: p[0] // p[1]),
    st.tuples(sums, st.integers(2, 5)).map(lambda p: p[0] % p[1]),
    st.tuples(sums, sums).map(lambda p: E.minimum(*p)),
    st.tuples(sums, sums).map(lambda p: E.maximum(*p)),
    st.tuples(sums, sums).map(lambda p: E.minimum(p[0] // 2, p[1] % 3) * 2 + p[1]),
    st.just(X * Y),
)
relations = st.sampled_from(["lt", "le", "eq", "ne"])
atoms = st.tuples(terms, relations, terms).map(lambda p: E.as_expr(getattr(E.as_expr(p[0]), p[1])(p[2])))
facts = st.one_of(
    atoms,
    st.tuples(atoms, atoms).map(lambda p: E.lor(*p)),
    st.tuples(atoms, atoms).map(lambda p: E.land(*p)),
    atoms.map(E.lnot),
)


def possible(given_facts: tuple[Expr, ...]) -> bool:
    return bool(np.all([np.broadcast_to(E.evaluate(fact, POINTS), 192) for fact in given_facts], axis=0).any())


@settings(deadline=None)
@given(st.lists(facts, min_size=1, max_size=4).map(tuple), st.booleans())
def test_what_contradicts_is_impossible_and_what_is_shown_is_possible(asked: tuple[Expr, ...], split: bool) -> None:
    found = contradict(asked, split)
    if found is True:
        assert not possible(asked)
    elif found and Models().backwards(found, asked):
        assert possible(asked)


def test_rounding_makes_the_contradiction() -> None:
    size, step = var("size", 1, None), var("step", 0, None)
    assert contradict((step.lt(size), (64 * size).le(64 * step + 63))) is True
    assert contradict((step.lt(size), (64 * size).le(64 * step + 64))) is not True


def test_a_minimum_is_one_of_its_arguments() -> None:
    n, m = var("n", 0, None), var("m", 0, None)
    asked = (E.minimum(n, m).lt(3), n.ge(3), m.ge(4))
    assert contradict(asked) is not True
    assert contradict(asked, split=True) is True


def test_numbers_that_show_it_need_no_solver() -> None:
    prover = Prover(models=Models())
    n, k = var("n", 1, None), var("k", 0, None)
    assert prover.possible((k.lt(n - 1), (n % 2).eq(0), k.ge(5))) is True
    assert prover.holds((k.lt(n),), (k * 64 + 63).lt(n * 64)) is True
    assert prover.decided["linear"] == prover.queries == 2

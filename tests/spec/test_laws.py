"""Laws of the specification language: text and tree are the same, and evaluation is what the tree says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from argus.spec import ResultSpec, evaluate, of_arrays, read_specification, spec_text
from argus.spec.functions import FUNCTIONS
from argus.spec.tree import NumberLiteral, type_of
from argus.spec.walk import children, open_indices, replaced, walk, with_children, written_out
from tests.spec.trees import RESULT, SYMBOLS, arrays, brute_force, specifications, value_at

ARGUMENTS = of_arrays({**arrays(0), RESULT[0]: np.zeros(RESULT[1])}, SYMBOLS)


def read_back(spec: ResultSpec) -> ResultSpec:
    (found,) = read_specification(spec_text(spec), ARGUMENTS).results
    return found


@settings(max_examples=400, deadline=None)
@given(specifications(3))
def test_text_read_back_is_the_same_tree(spec: ResultSpec) -> None:
    assert read_back(spec) == spec


@settings(max_examples=200, deadline=None)
@given(specifications(3))
def test_spans_cover_the_text_of_their_nodes(spec: ResultSpec) -> None:
    text = spec_text(spec)
    for part in walk(read_back(spec).expression):
        written = text[part.span.start : part.span.end]
        assert written in (spec_text(part), f"({spec_text(part)})")


@settings(max_examples=400, deadline=None)
@given(specifications(2), st.integers(0, 1000))
def test_evaluation_is_brute_force(spec: ResultSpec, seed: int) -> None:
    data = arrays(seed)
    want = brute_force(spec, data)
    assume(np.isfinite(want).all() and np.abs(want).max() < 1e12)
    found = evaluate(spec, {**data, RESULT[0]: np.zeros(RESULT[1])}, SYMBOLS)
    scale = 1.0 + np.abs(want).max() + found.error.max() / 2**-24
    assert np.abs(found.value - want).max() <= 1e-13 * scale
    assert (found.error >= 0).all()


@settings(max_examples=150, deadline=None)
@given(
    specifications(2),
    st.integers(0, 1000),
    st.sets(st.integers(0, 2), min_size=1),
    st.sets(st.integers(0, 3), min_size=1),
)
def test_a_part_is_the_part_of_the_whole(spec: ResultSpec, seed: int, rows: set[int], columns: set[int]) -> None:
    data = arrays(seed)
    places = {"i": np.array(sorted(rows)), "j": np.array(sorted(columns))}
    whole = evaluate(spec, {**data, RESULT[0]: np.zeros(RESULT[1])}, SYMBOLS)
    assume(np.isfinite(whole.value).all())
    part = evaluate(spec, data, SYMBOLS, places)
    box = np.ix_(places["i"], places["j"])
    np.testing.assert_allclose(part.value, whole.value[box], rtol=1e-9, atol=1e-9 * (1 + np.abs(whole.value).max()))


@settings(max_examples=150, deadline=None)
@given(specifications(2), st.integers(0, 1000))
def test_reductions_written_out_are_the_same_number(spec: ResultSpec, seed: int) -> None:
    data, out = arrays(seed), written_out(spec.expression, 8)
    for place in ({"i": 0, "j": 0}, {"i": 2, "j": 3}):
        x, y = value_at(spec.expression, data, place), value_at(out, data, place)
        assert x == pytest.approx(y, rel=1e-9, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(specifications(2), st.integers(0, 1000), st.integers(0, 2))
def test_replacing_an_index_is_evaluating_there(spec: ResultSpec, seed: int, row: int) -> None:
    data, put = arrays(seed), replaced(spec.expression, {"i": NumberLiteral(row)})
    assert "i" not in open_indices(put)
    assert value_at(put, data, {"j": 1}) == value_at(spec.expression, data, {"i": row, "j": 1})


@settings(max_examples=150, deadline=None)
@given(specifications(3))
def test_parts_put_back_are_the_same_node(spec: ResultSpec) -> None:
    for part in walk(spec.expression):
        assert with_children(part, children(part)) is part
        assert type_of(part) in ("whole", "real", "truth")


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_error_bounds_of_functions_hold(name: str) -> None:
    """Arguments moved within their errors move the value by at most `error`."""
    row, dice = FUNCTIONS[name], np.random.default_rng(5)
    positive = name in ("log", "log2", "sqrt", "rsqrt", "pow")
    xs = tuple(dice.uniform(0.05 if positive else -3, 3, 20_000) for _ in range(row.arity))
    es = tuple(np.abs(x) * 10.0 ** dice.uniform(-7, -1.5, x.shape) for x in xs)
    with np.errstate(all="ignore"):
        value, bound = row.value(*xs), row.error(xs, es)
        for _ in range(20):
            moved = tuple(x + e * dice.uniform(-1, 1, x.shape) for x, e in zip(xs, es, strict=True))
            assert (np.abs(row.value(*moved) - value) <= bound * (1 + 1e-9) + 1e-15).all()


def test_whole_results_have_no_error_and_real_ones_do() -> None:
    x = np.array([2**30, 5, -7], np.int32)
    given_arrays = {"x": x, "z": np.zeros(3, np.int32), "y": np.zeros(3, np.float32)}
    whole, real = read_specification("z[i] = x[i] * 2 + 1; y[i] = x[i] * 2 + 1", of_arrays(given_arrays)).results
    assert evaluate(whole, given_arrays, {}).error.max() == 0
    assert evaluate(real, given_arrays, {}).error.max() > 100

"""Windows: a specification cut to what some elements depend on has there the value of the whole, and reads no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from argus.spec import Bounded, ResultSpec, evaluate
from argus.spec.boxes import boxes, elements_of
from argus.spec.evaluation import Positions
from argus.spec.windows import cut
from tests.spec.stated import stated
from tests.spec.trees import RESULT, SYMBOLS, arrays, specifications


def cut_value(
    spec: ResultSpec, data: dict[str, np.ndarray[Any, Any]], symbols: dict[str, float], positions: Positions
) -> Bounded:
    """What the cut specification says, given nothing but its windows."""
    found = cut(spec, {name: array.shape for name, array in data.items()}, symbols, positions)
    parts = {name: data[name][tuple(slice(r.start, r.stop) for r in found.windows[name])] for name in found.windows}
    return evaluate(found.spec, parts, symbols, positions)


@settings(max_examples=400, deadline=None)
@given(
    specifications(2),
    st.integers(0, 1000),
    st.sets(st.integers(0, 2), min_size=1),
    st.sets(st.integers(0, 3), min_size=1),
)
def test_a_cut_specification_is_the_whole_one_there(
    spec: ResultSpec, seed: int, rows: set[int], columns: set[int]
) -> None:
    data = arrays(seed)
    places = {"i": np.array(sorted(rows)), "j": np.array(sorted(columns))}
    whole = evaluate(spec, {**data, RESULT[0]: np.zeros(RESULT[1])}, SYMBOLS)
    assume(np.isfinite(whole.value).all())
    part = cut_value(spec, data, SYMBOLS, places)
    box = np.ix_(places["i"], places["j"])
    slack = 1e-9 * (1 + np.abs(whole.value).max())
    np.testing.assert_allclose(part.value, whole.value[box], rtol=1e-9, atol=slack)
    np.testing.assert_allclose(part.error, whole.error[box], rtol=1e-6, atol=slack)


X = np.random.default_rng(3).standard_normal((6, 40)).astype(np.float32)
W = np.random.default_rng(4).standard_normal((5, 40)).astype(np.float32)
AT = np.random.default_rng(5).integers(0, 40, 6).astype(np.int32)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("C[m, n] = sum(X[m, k] * W[n, k], k)", (range(2, 4), range(40))),
        ("C[m, n] = X[m, 2 * n + 1]", (range(2, 4), range(3, 8))),
        ("C[m, n] = sum(X[m, 3 * n + k - 2], k, 4)", (range(2, 4), range(1, 11))),
        ("C[m, n] = X[m // 2, n % 4]", (range(1, 2), range(1, 4))),
        ("C[m, n] = sum(where(k <= n, X[m, k], 0), k)", (range(2, 4), range(40))),
        ("C[m, n] = X[m, AT[m]] + n", (range(2, 4), range(40))),
        ("C[m, n] = X[m - 9, n]", (range(0), range(1, 4))),
        ("C[m, n] = X[m + 9, n]", (range(11, 11), range(1, 4))),
    ],
)
def test_windows_are_as_small_as_intervals_say(text: str, window: tuple[range, ...]) -> None:
    data = {"X": X, "W": W, "AT": AT}
    spec = stated(text, {**data, "C": np.zeros((6, 5))})
    positions = {"m": np.array([2, 3]), "n": np.array([1, 3])}
    shapes = {name: array.shape for name, array in data.items()}
    assert cut(spec, shapes, {}, positions).windows["X"] == window
    whole = evaluate(spec, {**data, "C": np.zeros((6, 5))}, {})
    part = cut_value(spec, data, {}, positions)
    np.testing.assert_allclose(part.value, whole.value[np.ix_([2, 3], [1, 3])], rtol=1e-12)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*(st.integers(0, 3) for _ in range(3))), min_size=1, max_size=40))
def test_boxes_are_a_partition(points: list[tuple[int, ...]]) -> None:
    found = [tuple(row) for box in boxes(np.array(points, np.int64)) for row in elements_of(box).tolist()]
    assert len(found) == len(set(found))
    assert set(found) == set(points)


def test_a_range_over_ends_of_rows_is_few_boxes() -> None:
    places = np.arange(70, 70 + 260)
    assert len(boxes(np.stack([places // 64, places % 64], axis=-1))) == 3

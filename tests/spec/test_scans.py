"""Scans are evaluated as cumulative sums and maxima: the law is the general evaluation over both indices."""

from __future__ import annotations

import numpy as np
import pytest

from argus.spec import Bounded, evaluate
from argus.spec.contraction import ContractingEvaluator
from argus.spec.scans import scan_of
from argus.spec.tree import IndexReduction
from argus.spec.walk import walk
from tests.spec.stated import stated

RNG = np.random.default_rng(11)
A = RNG.standard_normal((3, 9))
W = RNG.integers(-50, 50, (3, 9)).astype(np.int32)
NEUTRAL = {"sum": "0", "max": "-inf", "min": "inf"}
RELATIONS = ("k <= n", "k < n", "k >= n", "k > n", "n >= k", "n > k", "n <= k", "n < k")


def in_general(
    text: str, tensors: dict[str, np.ndarray], extent: int, places: np.ndarray | None, whole: bool
) -> Bounded:
    spec = stated(text, {**tensors, "Y": np.zeros((3, extent), np.int32 if whole else np.float64)})
    positions = {} if places is None else {"n": places}
    extents = {"m": 3, "n": extent if places is None else len(places)}
    found = ContractingEvaluator(tensors, {}, extents, positions, "", whole).whole_result(spec)
    order = [found.indices.index(i) for i in ("m", "n")]
    residue = None if found.residue is None else found.residue.transpose(order)
    return Bounded(("m", "n"), found.value.transpose(order), found.error.transpose(order), residue)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", NEUTRAL)
@pytest.mark.parametrize("extent", [9, 4, 13])
def test_a_scan_is_what_the_general_evaluation_gives(kind: str, relation: str, extent: int) -> None:
    text = f"Y[m, n] = {kind}(where({relation}, A[m, k] * A[m, k] - 1, {NEUTRAL[kind]}), k)"
    for places in (None, np.array([0, 3, extent - 1])):
        result = np.zeros((3, extent))
        given = {"A": A, "Y": result}
        spec = stated(text, given)
        assert any(isinstance(node, IndexReduction) and scan_of(node) for node in walk(spec.expression))
        got = evaluate(spec, given, {}, None if places is None else {"n": places})
        want = in_general(text, {"A": A}, extent, places, False)
        np.testing.assert_allclose(got.value, want.value, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(got.error, want.error, rtol=1e-9, atol=1e-30)


def test_whole_numbers_keep_their_residues() -> None:
    text = "Y[m, n] = sum(where(k <= n, W[m, k] * 1000003, 0), k)"
    given = {"W": W, "Y": np.zeros((3, 9), np.int32)}
    got = evaluate(stated(text, given), given, {})
    assert got.residue is not None
    assert (got.residue == np.cumsum(W.astype(np.int64) * 1000003, axis=1)).all()
    assert not got.error.any()


@pytest.mark.parametrize(
    "body",
    [
        "sum(where(k <= n, A[m, k] * A[m, n], 0), k)",  # depends on the other index
        "sum(where(k <= n, A[m, k], 1), k)",  # the other side counts
        "max(where(k <= n, A[m, k], 0), k)",
        "sum(where(k <= n + 1, A[m, k], 0), k)",  # another distance
        "sum(where(k != n, A[m, k], 0), k)",
    ],
)
def test_what_is_no_scan_is_evaluated_in_general(body: str) -> None:
    spec = stated(f"Y[m, n] = {body}", {"A": A, "Y": np.zeros((3, 9))})
    assert not any(isinstance(node, IndexReduction) and scan_of(node) for node in walk(spec.expression))


def test_rows_too_long_for_both_indices() -> None:
    x = RNG.standard_normal((2, 40_000))
    given = {"A": x, "Y": np.zeros((2, 40_000))}
    found = evaluate(stated("Y[m, n] = sum(where(k <= n, A[m, k], 0), k)", given), given, {})
    np.testing.assert_allclose(found.value, np.cumsum(x, axis=1), rtol=1e-9, atol=1e-9)

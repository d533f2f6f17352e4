"""Tasks that cannot tell right from wrong are refused; biased rounding is noticed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from argus.agent.judge import Problem
from argus.agent.judge.court import Court
from argus.agent.judge.data import poisoned
from argus.agent.judge.results import biased, judged, judged_part
from argus.spec import SpecError, evaluate
from argus.tasks.task import load_task
from tests.agent_judge.test_process import NAIVE
from tests.spec.stated import stated

SIZES = {"N": 4096}


@pytest.mark.parametrize(
    ("computes", "says"),
    [
        ("z[i] = x[i] + 0 * y[i]", "does not depend on y"),
        ("z[i] = 0 * x[i] + 0 * y[i]", "zeros would pass"),
        ("z[i] = log(0 - x[i] * x[i]) + y[i]", "no finite value for inputs of both signs"),
    ],
)
def test_a_task_that_cannot_tell(computes: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        Court(Problem("t", NAIVE.replace("z[i] = x[i] + y[i]", computes), small=(SIZES,), shapes=(SIZES,)))


def test_every_kind_of_data_and_every_shape_has_its_own_seed() -> None:
    bench = Court(Problem("t", NAIVE, small=(SIZES,), shapes=(SIZES,)))
    normal = np.sign(bench.given("small", SIZES, "normal", 1)["x"])
    others = [("small", SIZES, "wide", 1), ("shapes", SIZES, "normal", 1), ("small", SIZES, "normal", 2)]
    for other in others:
        assert 0.4 < (np.sign(bench.given(*other)["x"]) == normal).mean() < 0.6  # type: ignore[arg-type]
    assert bench.given("small", {"N": 64}, "normal", 1)["x"].shape == (64,)


def test_wide_data_leave_results_within_their_type() -> None:
    text = NAIVE.replace("z[i] = x[i] + y[i]", "z[i] = exp(x[i]) + y[i]")
    bench = Court(Problem("t", text, small=(SIZES,), shapes=(SIZES,)))
    plain = Court(Problem("t", NAIVE, small=(SIZES,), shapes=(SIZES,)))
    assert np.abs(plain.given("small", SIZES, "wide", 1)["x"]).max() > 4096
    wide = np.abs(bench.given("small", SIZES, "wide", 1)["x"])
    assert 8 < wide.max() < 88.8
    assert wide.min() < 2**-8


def test_wide_data_leave_results_that_can_be_judged() -> None:
    """A softmax of wide scores is within its type however wide they are, and its error has no bound any more."""
    bench = Court(Problem.of(load_task("attention")))
    (sizes,) = bench.problem.small
    given, symbols = bench.given("small", sizes, "wide", 1), {**sizes, **bench.scalars("wide", 1)}
    want = evaluate(bench.spec, {**poisoned(bench.naive, sizes), **given}, symbols)
    assert np.isfinite(want.error).mean() >= 0.5
    assert np.abs(given["Q"].astype(np.float64)).max() > 8


def test_truncation_leans_and_rounding_does_not() -> None:
    x = np.random.default_rng(0).standard_normal(1 << 16).astype(np.float32)
    spec = stated("y[i] = x[i]", {"x": x})
    rounded = x.astype(ml_dtypes.bfloat16)
    truncated = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(ml_dtypes.bfloat16)
    fair, leaning = (judged(spec, {"x": x}, {}, got) for got in (rounded, truncated))
    assert fair.comparison.ok
    assert not biased(fair)
    assert biased(leaning)
    assert not leaning.comparison.ok


def test_equal_values_are_one_rounding() -> None:
    x = np.repeat(1 + np.array([[0.25], [0.3], [0.4]]) / 128, 1 << 14, axis=1).astype(np.float32)
    spec = stated("y[i, j] = x[i, j]", {"x": x})
    assert not biased(judged(spec, {"x": x}, {}, x.astype(ml_dtypes.bfloat16)))


def test_part_of_a_masked_result_keeps_its_place() -> None:
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    spec = stated("y[i, j] = where(i >= j, x[i, j], 0)", {"x": x})
    whole = np.where(np.arange(64)[:, None] >= np.arange(64), x, np.float32(0)).astype(np.float32)
    poison = np.full((64, 64), 0x7FBA5A5B, np.uint32).view(np.float32)
    got = poison.copy()
    got[16:32, 8:40] = whole[16:32, 8:40]
    found = judged_part(spec, {"x": x}, {}, got)
    assert found is not None
    assert found.comparison.ok
    assert found.comparison.elements == 16 * 32
    got[20, 9] = poison[20, 9]
    assert judged_part(spec, {"x": x}, {}, got) is None
    assert judged_part(spec, {"x": x}, {}, poison) is None

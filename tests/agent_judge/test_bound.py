"""The judge's tolerance: the task's, or the error bound of the candidate's own arithmetic where that is smaller."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from argus.agent.judge import Problem
from argus.agent.judge.court import Court
from argus.agent.judge.results import judged
from argus.check.rounding import ErrorBound, rounding
from argus.pipeline import program_of
from argus.spec import evaluate

SIZES = {"N": 500}
NAIVE = """import argus as ag
from argus import bf16, f32

FLAT = ag.Owner(t=256, i="t")


@ag.kernel(threads=256, requires="N >= 1", computes="z[i] = x[i] * y[i] + x[i]", example=dict(N=300))
def k(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    a = x[start].load(FLAT, width=4)
    b = y[start].load(FLAT, width=4)
    z[start].store(a * b + a, width=4)
"""
NARROWED = NAIVE.replace("a * b + a", "(a * b).to(bf16).to(f32) + a")
FUSED = NAIVE.replace("a * b + a", "ag.fma(a, b, a)")


def bound_of(text: str, folder: Path) -> ErrorBound:
    (folder / "k.py").write_text(text)
    found = rounding(program_of(folder / "k.py", {}, "k").kernel)
    (bound,) = found.bounds
    assert isinstance(bound, ErrorBound)
    assert [h.kind for h in found.hazards] == (["narrowing"] if "bf16" in text.partition("store")[2] else [])
    return bound


def test_a_candidate_brings_no_tolerance(tmp_path: Path) -> None:
    """Its own bound allows bf16 in the middle, the task's does not: the task's counts."""
    judgement = Court(Problem("t", NAIVE, small=(SIZES,), shapes=(SIZES,))).judge(NARROWED, 1)
    assert (judgement.verdict, judgement.stage) == ("fail", "small")
    assert judgement.violations[0].rule == "result"
    dice = np.random.default_rng(1)
    x, y = (dice.standard_normal(100).astype(np.float32) for _ in range(2))
    bound = bound_of(NARROWED, tmp_path)
    product = (x * y).astype(ml_dtypes.bfloat16).astype(np.float32)
    assert not judged(bound.spec, {"x": x, "y": y}, {"N": 100}, product + x, bound=bound).comparison.ok
    want = evaluate(bound.spec, {"x": x, "y": y, "z": x}, {"N": 100}).value
    allowed = bound.at(bound.spec, {"x": x, "y": y, "z": x}, {"N": 100}, want)
    assert (np.abs(product + x - want) <= allowed).all(), "by its own bound it would pass"


def test_the_smaller_bound_counts(tmp_path: Path) -> None:
    """A kernel that rounds once may be off by one rounding, although the task allows two."""
    bound = bound_of(FUSED, tmp_path)
    x, y = np.full(8, 1.0, np.float32), np.full(8, 1.0 + 2.0**-20, np.float32)
    right = (x.astype(np.float64) * y + x).astype(np.float32)
    off = np.nextafter(right, np.float32(9.0))
    given, sizes = {"x": x, "y": y}, {"N": 8}
    assert judged(bound.spec, given, sizes, right, bound=bound).comparison.ok
    assert judged(bound.spec, given, sizes, off).comparison.ok
    assert not judged(bound.spec, given, sizes, off, bound=bound).comparison.ok


@pytest.mark.parametrize("text", [NAIVE, FUSED])
def test_honest_kernels_pass(text: str) -> None:
    judgement = Court(Problem("t", NAIVE, small=(SIZES,), shapes=(SIZES,))).judge(text, 1)
    assert judgement.verdict == "pass", judgement

"""Counterexamples of `value` and `covers`: the named block, wave, lane and register element stored it."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.check.report import Counterexample
from argus.ir.passes.schedule import scheduled
from argus.lang import read

HEAD = """
import argus as ag
from argus import f32, i32
T = ag.Owner(t=128, e=4, i="t*4 + e")
ROW = ag.Owner(t=64, e=4, i="t*4 + e")
"""

ADDED = (
    HEAD
    + """
@ag.kernel(threads=128, requires="N >= 512 and N % 512 == 0", computes="y[i] = {spec}", example=dict(N=1024))
def f(x: ag.In["N", f32], w: ag.In["N", f32], r: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(N // 512)
    a = x[512 * p].load(T, width=16)
    b = w[512 * p].load(T, width=16)
    c = r[512 * p].load(T, width=16)
    d = {code}
    y[512 * p].store(d, width=16)
"""
)

SPLIT = (
    HEAD
    + """
@ag.kernel(threads=128, requires="N >= 512 and N % 512 == 0", computes="y[i] = x[i]", example=dict(N=1024))
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(N // 512)
    a = x[512 * p].load(T, width=16)
    if ag.thread() >= 75:
        a = a + 1.0
    y[512 * p].store(a, width=16)
"""
)

COVERED = (
    HEAD
    + """
@ag.kernel(threads=128, requires="N >= 512 and N % 512 == 0", computes="y[i] = x[i]", example=dict(N=1024))
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid({grid})
    y[{at}].store(x[{at}].load(T, width=16), width=16)
"""
)


def shown(tmp_path: Path, text: str, rule: str) -> tuple[Counterexample, Report]:
    path = tmp_path / "kernel.py"
    path.write_text(text)
    report = check(scheduled(read(path)))
    (verdict,) = [v for v in report.verdicts if v.status == "refuted"]
    assert verdict.rule == rule
    assert verdict.counterexample is not None
    return verdict.counterexample, report


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("x[i] * w[i] * r[i]", "a * c", "the stored product lacks the factor `w[N]`"),
        ("x[i] * w[i]", "a * b * c", "the stored product has too much: factor `r[N]`"),
        ("x[i] + w[i]", "a + a", "the stored value has `2 * x[N]` in place of `x[N] + w[N]`"),
        ("x[i] + w[i] + r[i]", "a + b", "the stored sum lacks `r[N]`"),
        ("x[i] + w[i]", "a + b + c", "the stored sum has `r[N]` too much"),
        ("x[i] + 2 * w[i]", "a + 3.0 * b", "the stored value is 1.5 times what is specified"),
        ("exp2(x[i] * w[i])", "ag.exp2(a * b * c)", "the stored product has too much: factor `r[N]`"),
        ("tanh(x[i] + w[i]) * r[i]", "ag.tanh(a) * c", "the stored sum lacks `w[N]`"),
    ],
)
def test_the_smallest_difference_is_said(spec: str, code: str, said: str, tmp_path: Path) -> None:
    example, report = shown(tmp_path, ADDED.format(spec=spec, code=code), "value")
    assert f"difference: {said}" in example.details
    assert any(d.startswith("stored: `") for d in example.details)
    assert any(d.startswith("specified: `") for d in example.details)
    assert f"difference: {said}" in report.render()


def test_the_line_where_the_terms_part(tmp_path: Path) -> None:
    example, _ = shown(tmp_path, ADDED.format(spec="x[i] + w[i]", code="a * b"), "value")
    (line,) = [d for d in example.details if d.startswith("the terms part at ")]
    assert line.endswith("kernel.py:13:9")


def test_the_lane_that_stores_the_wrong_element(tmp_path: Path) -> None:
    """Elements from 300 on are wrong: thread 75 of wave 1 holds the first of them."""
    example, _ = shown(tmp_path, SPLIT, "value")
    (party,) = example.operands
    assert (example.block, example.wave) == ((0, 0, 0), 1)
    assert (party.thread, party.element, dict(party.coords)) == (75, 0, {"N": 300})


def test_both_stores_of_an_element_are_named(tmp_path: Path) -> None:
    example, _ = shown(tmp_path, COVERED.format(grid="N // 512 + 1", at="512 * (p // 2)"), "covers")
    assert [(p.thread, p.element) for p in example.operands[:2]] == [(0, 0), (0, 0)]
    assert example.block == (1, 0, 0)
    assert "block=(0,0,0)" in example.operands[0].does
    assert "block=(1,0,0)" in example.operands[1].does


def test_the_store_that_stops_short_is_named(tmp_path: Path) -> None:
    example, _ = shown(tmp_path, COVERED.format(grid="N // 512 - 1", at="512 * p").replace(
        "N >= 512", "N >= 1024"), "covers")  # fmt: skip
    (party,) = example.operands
    assert dict(party.coords) == {"N": 512}
    assert (party.thread, party.element) == (127, 3)
    assert "writes y[N=511], and nobody what follows" in party.does

"""Updates whose place is looked up: beyond the axis elements read as zero, and the update goes where that leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import Report, check
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f32, i32
P = ag.Owner(t=256, n="t")
@ag.kernel(threads=256, requires="N >= {least} and B >= 1", example=dict(N={least}, B=5),
    computes="H[t] = H[t] + sum(where(X[n] == t, {amount}, 0), n)")
def k(X: ag.In["N", i32], V: ag.In["N", f32], W: ag.In["N", f32], H: ag.InOut["B", f32]):
    b = ag.grid(ag.cdiv(N, 256))
    x = X[256 * b].load(P, width=4, guard="shape")
    v = V[256 * b].load(P, width=4, guard="shape")
    w = W[256 * b].load(P, width=4, guard="shape")
    d = ag.as_index(x, 0, B - 1, name="bin")
    H[d].atomic_add(({update}).without(){guard})
"""
SOMETHING = [
    ("V[n] + 1", "v + 1.0"), ("exp(V[n])", "ag.exp(v)"), ("2 - V[n]", "2.0 - v"), ("1", "v * 0.0 + 1.0"),
    ("V[n] * W[n] + 3", "v * w + 3.0"), ("exp(V[n]) * 0.5", "ag.exp(v) * 0.5"), ("V[n] - W[n] - 2", "v - w - 2.0"),
    ("maximum(V[n], 1)", "ag.max(v, 1.0)"), ("abs(V[n] - 1)", "ag.abs(v - 1.0)"),
    ("(V[n] + 1) * (W[n] + 1)", "(v + 1.0) * (w + 1.0)"),
]  # fmt: skip
"""Amounts that are not zero where the elements are."""
NOTHING = [("V[n]", "v"), ("V[n] * W[n]", "v * w"), ("3 * V[n] - W[n]", "3.0 * v - w"), ("abs(V[n])", "ag.abs(v)")]
INSIDE = ", guard=256 * b + ag.thread() < N"


def kernel(folder: Path, amount: str, update: str, guard: str = "", least: int = 1) -> Kernel:
    (folder / "k.py").write_text(SOURCE.format(amount=amount, update=update, guard=guard, least=least))
    return read(folder / "k.py")


def status(report: Report) -> str:
    return next(v.status for v in report.verdicts if v.rule == "value")


@pytest.mark.parametrize(("amount", "update"), SOMETHING)
@pytest.mark.parametrize("least", [1, 1_000_001])
def test_amounts_beyond_the_axis_are_seen(amount: str, update: str, least: int, tmp_path: Path) -> None:
    """With the larger size nothing is executed: the rules alone must see it."""
    assert status(check(scheduled(kernel(tmp_path, amount, update, least=least)))) != "proved"


def test_they_are_added_to_the_first_bin(tmp_path: Path) -> None:
    made = insert_waits(kernel(tmp_path, "V[n] + 1", "v + 1.0"))
    zeros = np.zeros(3, np.float32)
    arrays = {"X": np.ones(3, np.int32), "V": zeros, "W": zeros, "H": np.zeros(5, np.float32)}
    assert run(made, arrays, {"N": 3, "B": 5}).arrays["H"].tolist() == [253, 3, 0, 0, 0]


@pytest.mark.parametrize(("amount", "update"), NOTHING)
def test_zero_beyond_the_axis_is_proved(amount: str, update: str, tmp_path: Path) -> None:
    report = check(scheduled(kernel(tmp_path, amount, update)))
    assert status(report) == "proved", report.render()


@pytest.mark.parametrize(("amount", "update"), SOMETHING[:3])
def test_a_guard_keeps_it_inside(amount: str, update: str, tmp_path: Path) -> None:
    report = check(scheduled(kernel(tmp_path, amount, update, INSIDE)))
    assert status(report) == "proved", report.render()

"""Every function that both kernels and `computes` have: proved where they agree, right on the machine, else not proved.

The machine's results are judged by the specification in float64, with the error bound that follows from its rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.ir.kernel import Kernel
from argus.ir.maps import MAPS
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec.functions import FUNCTIONS
from tests.kernels.running import judged, run

FILE = """
import argus as ag
from argus import f32, bf16

PART = ag.Owner(t=256, e=4, i="t*4 + e")


@ag.kernel(threads=256, requires="N % 4 == 0", computes="z[i] = {computes}", example=dict(N=4096))
def apply(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    start = 1024 * ag.grid(ag.cdiv(N, 1024))
    p = x[start].load(PART, width=16)
    q = y[start].load(PART, width=16)
    z[start].store({stores}, width=16)
"""
RIGHT = {
    "exp": ("ag.exp(p)", "exp(x[i])"),
    "log": ("ag.log(q)", "log(y[i])"),
    "log by log2": ("ag.log2(q) * 0.6931471805599453", "log(y[i])"),
    "tanh": ("ag.tanh(p)", "tanh(x[i])"),
    "erf": ("ag.erf(p)", "erf(x[i])"),
    "floor": ("ag.floor(p)", "floor(x[i])"),
    "pow": ("ag.pow(q, p)", "pow(y[i], x[i])"),
    "sigmoid": ("ag.sigmoid(p)", "1 / (1 + exp(-x[i]))"),
    "silu": ("p * ag.sigmoid(p)", "x[i] / (1 + exp(-x[i]))"),
    "gelu": ("p * 0.5 * (1.0 + ag.erf(p * 0.7071067811865476))", "0.5 * x[i] * (1 + erf(x[i] * 0.7071067811865476))"),
    "softcap": ("ag.tanh(p / 30.0) * 30.0", "30 * tanh(x[i] / 30)"),
    "two of them": ("ag.tanh(ag.log(q)) + ag.erf(p)", "tanh(log(y[i])) + erf(x[i])"),
}
SAME = {
    "exp by exp2": ("ag.exp2(p * ag.LOG2E)", "exp(x[i])"),
    "exp2 by exp": ("ag.exp(p * 0.6931471805599453)", "exp2(x[i])"),
    "sigmoid by rcp": ("ag.rcp(1.0 + ag.exp(-p))", "1 / (1 + exp(-x[i]))"),
}
"""One real number, but rounded elsewhere: proved, and not judged by the other form's error."""
WRONG = {
    "another function": ("ag.tanh(p)", "erf(x[i])"),
    "another operand": ("ag.tanh(q)", "tanh(x[i])"),
    "operands exchanged": ("ag.pow(p, q)", "pow(y[i], x[i])"),
    "a sign": ("ag.sigmoid(p)", "1 / (1 + exp(x[i]))"),
    "another base": ("ag.log(q)", "log2(y[i])"),
    "no base": ("ag.exp(p)", "exp2(x[i])"),
    "a factor inside": ("ag.erf(p * 0.70)", "erf(x[i] * 0.7071067811865476)"),
    "a factor outside": ("ag.tanh(p) * 1.001", "tanh(x[i])"),
    "applied twice": ("ag.tanh(ag.tanh(p))", "tanh(x[i])"),
    "the sum of its parts": ("ag.tanh(p) + ag.tanh(q)", "tanh(x[i] + y[i])"),
}


def kernel(folder: Path, stores: str, computes: str) -> Kernel:
    file = folder / "apply.py"
    file.write_text(FILE.format(stores=stores, computes=computes))
    return read(str(file))


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_proved_and_right(tmp_path: Path, name: str) -> None:
    made = kernel(tmp_path, *RIGHT[name])
    report = check(scheduled(made))
    assert report.status == "proved", report.render()
    assert {v.status for v in report.verdicts if v.rule == "value"} == {"proved"}
    rng = np.random.default_rng(4)
    size = 2048 - 8
    x = (rng.standard_normal(size) * 2.0 ** rng.integers(-6, 4, size)).astype(np.float32)
    y = np.exp2(rng.uniform(-20, 20, size)).astype(np.float32)
    z = np.zeros(size, np.float32)
    run(made, {"N": size}, {"x": x, "y": y, "z": z})
    judgement = judged(z, f"z[i] = {RIGHT[name][1]}", {"x": x, "y": y})
    assert judgement.ok, judgement


@pytest.mark.parametrize("name", SAME)
def test_equal_numbers_are_proved(tmp_path: Path, name: str) -> None:
    report = check(scheduled(kernel(tmp_path, *SAME[name])))
    assert report.status == "proved", report.render()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_not_proved(tmp_path: Path, name: str) -> None:
    report = check(scheduled(kernel(tmp_path, *WRONG[name])))
    assert "proved" not in {v.status for v in report.verdicts if v.rule == "value"}, report.render()


def test_names_in_computes_exist() -> None:
    """A row that names a function of specifications names one with as many operands, which allows for its error: a unit
    in the last place is at most two units of roundoff."""
    for row in MAPS.values():
        if row.spec:
            real = FUNCTIONS[row.spec]
            assert real.arity == row.arity
            assert real.ulps >= 2 * row.ulps, row.name

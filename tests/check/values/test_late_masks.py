"""A mask behind the maximum of a softmax: the greatest element may be a masked one, and the whole sum vanish."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import check
from argus.ir.interp import run
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f32, inf
ROW = ag.Owner(lane=64, n="lane")
@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N <= 64", example=dict(M=3, N=40),
    computes="Y[m, n] = where({spec}, exp(X[m, n]), 0) / sum(where({summed}, exp(X[m, j]), 0), j)")
def k(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    row = ag.grid(M)
    x = X[row].load(ROW, width=4, guard="shape")
    v = ag.where(x.n < N, x, -inf)
    t = v.max("n")
    e = ag.where({mask}, ag.exp(v - t), 0.0)
    Y[row].store(e / e.sum("n"), width=4, guard="shape")
"""
MASKS = {"n <= m": [39, 39, 39], "n > 0": [0, 0, 0], "n < N - 1": [39, 39, 39], "n != m": [0, 1, 2]}
"""Masks, and an element of each row that they take away."""


@pytest.mark.parametrize(("spec", "hidden"), MASKS.items())
def test_a_late_mask_is_not_proved(tmp_path: Path, spec: str, hidden: list[int]) -> None:
    mask = spec.replace("n ", "x.n ", 1).replace(" m", " row")
    file = tmp_path / "k.py"
    file.write_text(SOURCE.format(spec=spec, summed=spec.replace("n ", "j ", 1), mask=mask))
    program = scheduled(read(str(file)))
    report = check(program)
    assert report.status != "proved"
    x = np.zeros((3, 40), np.float32)
    x[range(3), hidden] = 500.0
    assert np.isnan(run(program.kernel, {"X": x}, {"M": 3, "N": 40}).arrays["Y"]).any(axis=1).all()

"""A term has a size: larger ones are not followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.check.terms.atoms import UNKNOWN, Leaf, Reduction
from argus.check.terms.normal_form import MOST_IN_EXTREME, Terms
from argus.ir.passes.schedule import scheduled
from argus.lang import read


@pytest.mark.parametrize("fn", ["max", "min"])
def test_an_extreme_has_so_many_different_terms(fn: Reduction) -> None:
    terms = Terms()
    leaves = [terms.atom(Leaf(f"T{n}", (0,))) for n in range(MOST_IN_EXTREME + 1)]
    assert terms.extreme(fn, leaves[:-1]) != UNKNOWN
    assert terms.extreme(fn, (*leaves[:-1], leaves[0])) != UNKNOWN
    assert terms.extreme(fn, leaves) == UNKNOWN


def test_a_minimum_for_the_maximum_of_long_rows_is_found(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("""import argus as ag
from argus import f32, inf

ROW = ag.Owner(lane=64, e=4, n="e*64 + lane")


@ag.kernel(
    threads=64, requires="M >= 1 and N >= 1", example=dict(M=3, N=600),
    computes="Y[m, n] = exp(X[m, n] - max(X[m, k], k)) / sum(exp(X[m, j] - max(X[m, k], k)), j)",
)
def rows(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    m = ag.grid(M)
    top = ag.full(ROW, f32, -inf)
    for s in ag.range(0, N, 256):
        x = X[m, s].load(ROW, width=4, guard="shape")
        top = ag.min(top, ag.where(s + x.n < N, x, -inf))
    t = top.max("n")
    below = ag.zeros(ROW, f32)
    for s in ag.range(0, N, 256):
        x = X[m, s].load(ROW, width=4, guard="shape")
        below = below + ag.where(s + x.n < N, ag.exp(x - t), 0.0)
    d = below.sum("n")
    for s in ag.range(0, N, 256):
        x = X[m, s].load(ROW, width=4, guard="shape")
        Y[m, s].store(ag.exp(x - t) / d, width=4, guard="shape")
""")
    assert check(scheduled(read(str(file)))).status == "refuted"

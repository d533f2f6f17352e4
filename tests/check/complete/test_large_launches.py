"""Kernels whose smallest launch is large: no counterexample is looked for by executing it."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f32
C32 = ag.Owner(lane=64, h=1, c="lane%32")
@ag.kernel(threads=64, requires="M >= 1 and K >= {least}", computes="Y[m, c] = sum(X[m, 32 * t + c], t, K // 32)",
    example=dict(M=3, K={least}))
def k(X: ag.In["M K", f32], Y: ag.Out["M c=32", f32]):
    row = ag.grid(M)
    s = ag.zeros(C32, f32)
    for t in ag.range({turns}):
        s = s + X[row, 32 * t].load(C32, width=4, guard="shape")
    Y[row].store(s, width=4, guard=ag.lane() < 32)
"""


@pytest.mark.parametrize("turns", ["ag.cdiv(K, 32)", "K // 32 - 1", "K // 32 + 1"])
def test_a_wrong_kernel_of_large_launches_is_unknown_soon(turns: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SOURCE.format(least=1_000_001, turns=turns))
    program = scheduled(read(tmp_path / "k.py"))
    before = process_time()
    report = check(program)
    assert not report.proved
    assert process_time() - before < 5


@pytest.mark.parametrize("turns", ["ag.cdiv(K, 32)", "K // 32 - 1", "K // 32 + 1"])
def test_of_small_launches_it_is_refuted(turns: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SOURCE.format(least=33, turns=turns))
    report = check(scheduled(read(tmp_path / "k.py")))
    assert "refuted" in {v.status for v in report.verdicts}, report.render()

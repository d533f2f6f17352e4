"""Runs guarded by the shape: whole where the origin is a multiple of the run, by sizes or by the step of a loop."""

from __future__ import annotations

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import ProgramError, read

TEXT = """import argus as ag
from argus import f32

P = ag.Owner(lane=64, e=4, m="lane", n="e")


@ag.kernel(threads=64, requires="N % 4 == 0", example=dict(M=64, N=16), computes="z[m, n] = x[m, n]")
def rows(x: ag.In["M N", f32], z: ag.Out["M N", f32]):
    b = ag.grid(ag.cdiv(M, 64))
    for t in ag.range({range}):
        z[64 * b, t].store(x[64 * b, t].load(P, width=16, guard="shape"), width=16, guard="shape")
"""


def test_the_step_of_a_loop_counts() -> None:
    report = check(scheduled(read(TEXT.format(range="0, N, 4"))))
    assert report.status == "proved", report.render()


@pytest.mark.parametrize("given", ["0, N, 8", "4, N, 4"])
def test_other_steps_are_read_and_not_proved(given: str) -> None:
    assert check(scheduled(read(TEXT.format(range=given)))).status == "refuted"


@pytest.mark.parametrize("given", ["N", "0, N, 2", "1, N, 4", "0, N, 6", "M, N, 4", "b, N, 4"])
def test_runs_that_may_be_cut_are_refused(given: str) -> None:
    with pytest.raises(ProgramError, match="AG317"):
        read(TEXT.format(range=given))

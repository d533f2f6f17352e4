"""Neighbors that are 2**32 bytes and more away: a verdict, and a launch that is refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.device.guards import LaunchRefused, check_sizes
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f32
W = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N >= 1", computes="Y[i] = X[i] + X[i + {far}]", example=dict(N=64))
def k(X: ag.In["N", f32], Y: ag.Out["M=N", f32]):
    b = ag.grid(ag.cdiv(N, 64))
    v = X[64 * b].load(W, width=4, guard="shape") + X[64 * b + {far}].load(W, width=4, guard="shape")
    Y[64 * b].store(v, width=4, guard="shape")
"""


@pytest.mark.parametrize("far", [2**30, 2**30 + 5, 3 * 2**29])
def test_a_launch_that_no_size_allows_is_refused_in_words(tmp_path: Path, far: int) -> None:
    (tmp_path / "k.py").write_text(SOURCE.format(far=far))
    program = scheduled(read(tmp_path / "k.py"))
    assert {v.status for v in check(program).verdicts} <= {"proved", "unknown"}
    with pytest.raises(LaunchRefused, match="leave 32 bits: whatever the sizes are"):
        check_sizes(program.kernel, {"N": 64})

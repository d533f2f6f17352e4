"""A value that is not followed: the report names the line where it stops being followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

TEXT = """import argus as ag
from argus import f32, u32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="N <= 256", example=dict(M=70, N=50), computes="Y[m, n] = X[m, n] + 1")
def rows(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    m = ag.grid(M)
    x = X[m].load(ROW, width=4, guard="shape")
{body}
    Y[m].store(z + 1.0, width=4, guard="shape")
"""
LOST = "ag.v_perm_b32(x.bitcast(u32), x.bitcast(u32), 0x03020100).bitcast(f32)  # lost"
BODIES = {
    "in a line": f"    z = {LOST}",
    "before other arithmetic": f"    y = {LOST}\n    z = y * 1.0",
    "in one of two operands": f"    y = {LOST}\n    z = 0.0 * x + y",
    "in a loop": f"    z = x\n    for i in ag.range(3):\n        z = z + {LOST.replace('#', '* 0.0  #')}",
    "in an arm": f"    z = x\n    if N > 7:\n        z = {LOST}",
}


@pytest.mark.parametrize("name", BODIES)
def test_the_line_is_named(name: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(TEXT.format(body=BODIES[name]))
    reasons = [v.reason for v in check(scheduled(read(str(file)))).verdicts if v.rule == "value"]
    lines = file.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "# lost" in text)
    assert len(reasons) == 1
    assert f"not followed, from {file}:{line}:" in reasons[0]

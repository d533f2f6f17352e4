"""A counter's largest number is no wait: it cannot be written, and none is inserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.gfx942.waits import LGKM_MAX, VM_MAX
from argus.ir import ops
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.lang.errors import ProgramError

SOURCE = """
import argus as ag
from argus import f32
W = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N >= 1", example=dict(N=64))
def k(X: ag.In["N", f32], Y: ag.Out["N", f32]):
    b = ag.grid(ag.cdiv(N, 64))
    x = [X[64 * b + j].load(W, width=4, guard="shape") for j in range({loads})]
    {wait}
    total = x[0]
    for j in range({loads}):
        total = total + x[j]
    Y[64 * b].store(total, width=4, guard="shape")
"""


def kernel(folder: Path, wait: str = "", loads: int = 2) -> Path:
    (folder / "k.py").write_text(SOURCE.format(wait=wait, loads=loads))
    return folder / "k.py"


@pytest.mark.parametrize("wait", [f"vm={VM_MAX}", f"lgkm={LGKM_MAX}", f"vm=0, lgkm={LGKM_MAX}", f"vm={VM_MAX + 1}"])
def test_the_largest_number_cannot_be_written(tmp_path: Path, wait: str) -> None:
    with pytest.raises(ProgramError, match="AG"):
        read(kernel(tmp_path, f"ag.wait({wait})"))


@pytest.mark.parametrize("wait", [f"vm={VM_MAX - 1}", f"lgkm={LGKM_MAX - 1}", "vm=0", "vm=1, lgkm=3"])
def test_smaller_ones_can(tmp_path: Path, wait: str) -> None:
    read(kernel(tmp_path, f"ag.wait({wait})"))


@pytest.mark.parametrize("loads", [3, VM_MAX - 1, VM_MAX, VM_MAX + 1, VM_MAX + 9])
def test_inserted_waits_are_waits(tmp_path: Path, loads: int) -> None:
    made = insert_waits(scheduled(read(kernel(tmp_path, loads=loads))).kernel)
    counts = [op.vm for op in ops.walk(made.body) if isinstance(op, ops.Wait) and op.vm is not None]
    assert max(counts) == min(loads - 1, VM_MAX - 1)

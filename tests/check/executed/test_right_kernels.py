"""Right kernels that were refuted: the machine computes them right, and the checker no longer says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.check.executed.inputs import arrays
from argus.cli.check_run import executed_on_machine
from argus.ir.interp import run
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of

HEAD = """
import argus as ag
from argus import f16, f32, i8
T = ag.Owner(t=64, i="t")
COPIES = ag.Owner(t=64, i="t%32")
TWO_WAVES = ag.Owner(t=128, i="t%64")
LDS = ag.Layout(i=(64, 4))
"""

MERGED = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = where(i < 10, a[i], b[i])", example=dict(N=64))
def f(a: ag.In["N", f32], b: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(ag.cdiv(N, 64))
    v = b[64 * p].load(T, width=4, guard="shape")
    if 64 * p + ag.lane() < 10:
        v = a[64 * p].load(T, width=4, guard="shape")
    y[64 * p].store(v, width=4, guard="shape")
"""
)

NOT_A_NUMBER = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N >= 64 and N % 64 == 0", computes="y[i] = sqrt(-abs(x[i]) - 1)", example=dict(N=64))
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(N // 64)
    v = x[64 * p].load(T, width=4)
    y[64 * p].store(ag.sqrt(ag.min(-abs(v), -abs(v)) - 1.0), width=4)
"""
)

OVERFLOWING = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N >= 64 and N % 64 == 0", computes="y[i] = exp2(9 * abs(x[i]))", example=dict(N=64))
def f(x: ag.In["N", f32], y: ag.Out["N", f16]):
    p = ag.grid(N // 64)
    v = abs(x[64 * p].load(T, width=4))
    u = ag.exp2(v * 3.0)
    y[64 * p].store((u * u * u).to(f16), width=2)
"""
)

WINDOWS = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N >= 64 and N % 64 == 0", computes="y[w, i] = max(x[w, i], 0) * 2",
    example=dict(N=64, W=3))
def f(x: ag.In["W N", f32, "1 1"], y: ag.Out["W N", f32]):
    p, w = ag.grid(N // 64, W)
    v = x[w, 64 * p].load(T, width=4)
    y[w, 64 * p].store(v + abs(v), width=4)
"""
)

UNUSED = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N >= 64 and N % 64 == 0", computes="y[i] = x[i]", example=dict(N=64))
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(N // 64)
    lds = ag.shared(LDS, f32)
    w = lds.load(T, width=4)
    y[64 * p].store(x[64 * p].load(T, width=4), width=4)
"""
)

COPIED = (
    HEAD
    + """
@ag.kernel(threads={threads}, requires="N >= 64 and N % 64 == 0", computes="y[i] = x[i]", example=dict(N=64))
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    p = ag.grid(N // {tile})
    y[{tile} * p].store({value}, width=4)
"""
)
ONE_WAVE = COPIED.format(threads=64, tile=32, value="x[32 * p].load(COPIES, width=4)")
LOADED = "x[32 * p].load(COPIES, width=4)"
OTHER_VALUES = COPIED.format(threads=64, tile=32, value=f"ag.where(ag.lane() < 32, {LOADED}, {LOADED} * 2.0)")
WAVES = COPIED.format(threads=128, tile=64, value="x[64 * p].load(TWO_WAVES, width=4)")

RIGHT = {
    "merge of two loads": MERGED,
    "no number anywhere": NOT_A_NUMBER,
    "inputs that leave the output's type": OVERFLOWING,
    "overlapping strides": WINDOWS,
    "a read of LDS that nobody uses": UNUSED,
    "copies": ONE_WAVE,
}
PROVED = ("a read of LDS that nobody uses", "copies")


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_not_refuted(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(RIGHT[name])
    program = scheduled(read(path))
    report = check(program)
    assert report.status != "refuted", report.render()
    assert report.proved or name not in PROVED, report.render()
    if report.proved:
        kept = report_of(program, kept=False)
        assert kept.proved
        assert executed_on_machine(program, kept).report.proved


def test_a_merge_is_no_use(tmp_path: Path) -> None:
    """The interpreter meets no hazard where lanes take what either arm has loaded, and the result is right."""
    path = tmp_path / "kernel.py"
    path.write_text(MERGED)
    kernel = insert_waits(scheduled(read(path)).kernel)
    inputs = arrays(kernel, {"N": 65}, "normal", 1)
    outcome = run(kernel, inputs, {"N": 65})
    assert outcome.hazards == ()
    assert (outcome.arrays["y"][:10] == inputs["a"][:10]).all()
    assert (outcome.arrays["y"][10:] == inputs["b"][10:]).all()


@pytest.mark.parametrize("text", [OTHER_VALUES, WAVES], ids=["other values", "two waves"])
def test_copies_that_may_differ_are_refuted(text: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(text)
    report = check(scheduled(read(path)))
    assert "covers" in {v.rule for v in report.verdicts if v.status == "refuted"}

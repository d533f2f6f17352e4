"""A report says what its proof of values takes for granted."""

from __future__ import annotations

from pathlib import Path

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

HEAD = """
import argus as ag
from argus import LOG2E, f32, fp8, inf
ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
"""
COPY = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N % 256 == 0", computes="z[i] = x[i]", example=dict(N=512))
def copy(x: ag.In["N", f32], z: ag.Out["N", {type}]):
    b = ag.grid(N // 256)
    z[256 * b].store({value}, width=4)
"""
)
SOFTMAX = (
    HEAD
    + """
@ag.kernel(threads=64, requires="N == 256", example=dict(M=2, N=256),
           computes="y[m, n] = exp(x[m, n] - max(x[m, j], j)) / sum(exp(x[m, i] - max(x[m, j], j)), i)")
def softmax(x: ag.In["M N", f32], y: ag.Out["M N", f32]):
    m = ag.grid(M)
    v = x[m].load(ROW, width=16)
    e = ag.exp2({argument} * LOG2E)
    y[m].store(e / e.sum("n"), width=16)
"""
)


def report(folder: Path, text: str) -> Report:
    file = folder / "kernel.py"
    file.write_text(text)
    return check(scheduled(read(str(file))))


def kinds(found: Report) -> list[str]:
    assert found.rounding is not None
    return [hazard.kind for hazard in found.rounding.hazards]


def test_eight_bits_are_mentioned(tmp_path: Path) -> None:
    load = "x[256 * b].load(ROW, width=16)"
    through = report(
        tmp_path, COPY.format(type="f32", value=f"{load}.to(fp8).to(f32)").replace("width=4)", "width=16)")
    )
    assert through.status == "proved"
    assert kinds(through) == ["saturation"]
    assert "note: line 9: fp8 ends at 240" in through.render()
    assert not kinds(report(tmp_path, COPY.format(type="f32", value=load).replace("width=4)", "width=16)")))


def test_a_softmax_without_its_maximum_is_mentioned(tmp_path: Path) -> None:
    plain = report(tmp_path, SOFTMAX.format(argument="v"))
    assert plain.status != "proved" or "exponential" in kinds(plain)
    right = report(tmp_path, SOFTMAX.format(argument='(v - v.max("n"))'))
    assert right.status == "proved", right.render()
    assert not kinds(right)

"""A guard by a loaded number: no execution is at hand in which the access could be shown to be wrong."""

from __future__ import annotations

from pathlib import Path

from argus.check.engine import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNEL = """import argus as ag
from argus import f32, i32

ID = ag.Owner(t=256, n="t")
LN = ag.Owner(t=256, n="t%64")


@ag.kernel(threads=256, requires="S >= 1 and S <= 4", example=dict(B=2, S=2))
def k(X: ag.In["B n=256", f32], T: ag.In["B", i32], P: ag.In["S", f32]):
    b = ag.grid(B)
    d = ag.as_index(T[b].load(ag.Owner(t=256, x="t*0"), width=4), 0, 3, name="d")
    v = X[b].load(ID, width=4)
    s = ag.shared(ag.Layout(n=(256, 4)), f32)
    for i in ag.range(S, S + d):
        s.store(v.held_as(LN), n=64*((ag.wave() + i) % 4), width=4, guard=ag.wave() < d)
"""


def test_a_guard_by_a_loaded_number_is_no_internal_error(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    report = check(scheduled(read(str(file))))
    (bounds,) = [v for v in report.verdicts if v.rule == "in_bounds" and v.status != "proved"]
    assert (bounds.status, bounds.reason) == ("unknown", "this access may be wrong: the address in s is not known")
    assert not any("internal" in v.reason for v in report.verdicts)

"""Two arms that meet in LDS: the first byte that both may touch can be one thread's own, which takes one arm alone."""

from __future__ import annotations

from pathlib import Path

from argus.check.engine import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNEL = """import argus as ag
from argus import f32

ID = ag.Owner(t=256, n="t")
RC = ag.Owner(t=256, r="t//16", c="t%16")
CR = ag.Owner(t=256, r="t%16", c="t//16")


@ag.kernel(threads=256, example=dict(B=2))
def k(X: ag.In["B n=256", f32], Y: ag.Out["B n=256", f32]):
    b = ag.grid(B)
    v = X[b].load(ID, width=4)
    s = ag.shared(ag.Layout(r=(16, 64), c=(16, 4)), f32)
    s.store(v.held_as(RC), width=4)
    ag.barrier()
    if ag.wave() > b:
        v = v + s.load(RC, width=4).held_as(ID)
    else:
        s.store((v + 1.0).held_as(CR), width=4)
    Y[b].store(v, width=4)
"""


def test_arms_that_meet_through_a_transposed_owner_are_refuted_with_two_threads(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    report = check(scheduled(read(str(file))))
    (race,) = [v for v in report.verdicts if v.rule == "race_free" and v.status == "refuted"]
    assert race.counterexample is not None
    one, other = race.counterexample.operands
    assert one.thread // 64 != other.thread // 64
    rows, columns = divmod(one.thread, 16)
    assert other.thread == rows + 16 * columns, "the transposed place of the first"

"""The last slot of a ring, read after its loop: every rule but `covers` proves it; wrong slots are not proved.

`covers` does not join the turns of a ring whose last round is cut off with what is stored after the loop.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check.engine import decide
from argus.check.rules.fresh import Fresh
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.placed import Placed
from argus.check.rules.race_free import RaceFree
from argus.check.rules.value import Valued
from argus.lang import read
from tests.check.classes.machine_truth import object_of, truth
from tests.check.classes.table import CLASSES

UNORDERED = """
import argus as ag
from argus import i32

FORWARD = ag.Owner(t=128, i="t")
BACKWARD = ag.Owner(t=128, i="127 - t")
ROW = ag.Layout(i=(128, 4))

@ag.kernel(threads=128, requires="K >= 1", computes="Y[i] = X[K - 1, i]", example=dict(K=3))
def k(X: ag.In["K i=128", i32], Y: ag.Out["i=128", i32]):
    ag.grid(1)
    ring = ag.ring(2, a=(ROW, i32))
    for j in ag.range(K):
        ring[j].a.store(X[j].load(FORWARD, width=4), width=4)
    Y.store(ring[K - 1].a.load(BACKWARD, width=4), width=4)
"""
ATTACK = next(one for one in CLASSES if one.name == "last_slot")


@pytest.mark.parametrize("case", range(ATTACK.variants))
def test_only_the_last_slot_is_proved(case: int) -> None:
    kernel = read(ATTACK.path, settings={"CASE": case})
    report = decide(kernel, [RaceFree(), Fresh(), InBounds(), Placed(), Valued()])
    assert (report.status == "proved") == (case in ATTACK.exact), report.render()


@pytest.mark.parametrize("case", sorted(ATTACK.exact))
def test_it_is_right_on_the_machine(case: int) -> None:
    kernel = read(ATTACK.path, settings={"CASE": case})
    compiled = object_of(kernel)
    assert not isinstance(compiled, str), compiled
    assert truth(kernel, compiled, ATTACK) == ""


def test_without_a_barrier_after_the_loop_it_is_a_race(tmp_path: Path) -> None:
    file = tmp_path / "unordered.py"
    file.write_text(UNORDERED)
    report = decide(read(str(file)), [RaceFree()])
    assert report.status == "refuted", report.render()

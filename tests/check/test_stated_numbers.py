"""What `ag.as_index` states of a number that nobody loaded: the zero outside of a tensor or behind a guard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import Report, check
from argus.check.verdict import Verdict
from argus.compile import compile_kernel
from argus.device.simulated import JitDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read

GATHER = """import argus as ag
from argus import i32, i64

ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(
    threads=64, requires="P >= 2{requires}", computes="Y[m, n] = X[1, E[m] - 1, n]", example=dict(B=5, M=5, P=4)
)
def gather(E: ag.In["B", i32], X: ag.In["A=2 P n=64", i32], Y: ag.Out["M n=64", i32]):
    b = ag.grid({grid})
    {before}
    p = ag.as_index({number}, {low}, {high}, name="p")
    Y[b].store(X[1, p - 1].load(ROW, width=4), width=4)
"""
PLAIN = {
    "requires": "", "grid": "M", "before": "", "number": "E[b].load(ONE, width=4)", "low": "1", "high": "P"
}  # fmt: skip
OUTSIDE = {
    "past the end": {},
    "behind a guard": {"requires": " and B >= M", "number": "E[b].load(ONE, width=4, guard=b > 0)"},
    "selected": {
        "before": "other = E[0].load(ONE, width=4)",
        "number": "ag.where(other > 3, other, E[b].load(ONE, width=4))",
    },
    "a constant": {"number": "ag.full(ONE, i32, 0)"},
    "computed": {"number": "E[b].load(ONE, width=4) * 1"},
    "computed of constants": {"number": "ag.full(ONE, i32, 1) >> 1"},
    "a selection that is converted": {
        "requires": " and B >= M",
        "number": "ag.where(b < 3, E[b].load(ONE, width=4), 0).to(i64).to(i32)",
    },
    "a selection that is added to": {
        "requires": " and B >= M",
        "number": "ag.where(b < 3, E[b].load(ONE, width=4), -1) + 1",
    },
}
INSIDE = {
    "a grid of the tensor": {"requires": " and B == M"},
    "as many": {"requires": " and B >= M"},
    "a guard that holds": {"requires": " and B >= M", "number": "E[b].load(ONE, width=4, guard=b < B)"},
    "a constant": {"number": "ag.full(ONE, i32, 2)"},
    "computed inside": {"requires": " and B >= M", "number": "E[b].load(ONE, width=4) + 0"},
}


def stated(folder: Path, changes: dict[str, str]) -> Verdict | None:
    (folder / "k.py").write_text(GATHER.format(**{**PLAIN, **changes}))
    return next((v for v in in_bounds(check(scheduled(read(folder / "k.py")))) if "stated" in v.reason), None)


def in_bounds(report: Report) -> list[Verdict]:
    return [v for v in report.verdicts if v.rule == "in_bounds" and v.status != "proved"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_zero_that_was_not_loaded_must_be_as_stated(name: str, tmp_path: Path) -> None:
    found = stated(tmp_path, OUTSIDE[name])
    assert found is not None
    assert found.status == "unknown"
    assert "p" in found.reason


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_loaded_inside_is_the_word_of_the_launch(name: str, tmp_path: Path) -> None:
    assert stated(tmp_path, INSIDE[name]) is None


BRANCH = """import argus as ag
from argus import i32

EACH = ag.Owner(t=256, m="t")
ONE = ag.Owner(t=256, m="t//64")


@ag.kernel(threads=256, requires="P >= 1", example=dict(M=5, P=4))
def looked_up(E: ag.In["M", i32], X: ag.In["P", i32], Y: ag.Out["M", i32]):
    m = 256 * ag.grid(ag.cdiv(M, 256)) + 64 * ag.wave() + ag.lane()
    if m < M:
        p = ag.as_index(E[m].load(ag.Owner(t=256, z="t*0"), width=4), 1, P, name="p")
        Y[m].store(X[p - 1].load(ag.Owner(t=256, z="t*0"), width=4).without(), width=4)
"""


def test_a_branch_that_some_lanes_take_keeps_the_load_inside(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(BRANCH)
    assert [v.reason for v in in_bounds(check(scheduled(read(tmp_path / "k.py"))))] == []


def test_the_zero_may_be_among_what_is_stated(tmp_path: Path) -> None:
    assert stated(tmp_path, {"low": "0", "high": "P"}) is None


def test_the_object_is_wrong_there(tmp_path: Path) -> None:
    """Every element of E is from 1 to P, and rows past its end take another row's."""
    (tmp_path / "k.py").write_text(GATHER.format(**PLAIN))
    made = scheduled(read(tmp_path / "k.py"))
    sizes = {"B": 3, "M": 5, "P": 4}
    arrays = {
        "E": np.array([4, 1, 1], np.int32), "X": np.arange(512, dtype=np.int32).reshape(2, 4, 64) + 1,
        "Y": np.zeros((5, 64), np.int32),
    }  # fmt: skip
    JitDevice().launch(made.kernel, compile_kernel(made).object, sizes, arrays, {})
    assert (arrays["Y"][3:] != 0).any()


LOOP = """import argus as ag
from argus import i32

ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(threads=64, requires="P >= 2", example=dict(B=5, P=4))
def walk(E: ag.In["B", i32], X: ag.In["P n=64", i32], Y: ag.Out["B n=64", i32]):
    ag.grid(1)
    ahead = E[0].load(ONE, width=4)
    for i in ag.range({end}):
        p = ag.as_index(ahead, 1, P, name="p")
        ahead = E[i + 1].load(ONE, width=4)
        Y[i].store(X[p - 1].load(ROW, width=4), width=4)
"""


@pytest.mark.parametrize(("end", "shown"), [("B", False), ("B - 1", True)])
def test_numbers_that_a_loop_carries(end: str, shown: bool, tmp_path: Path) -> None:
    """The load that feeds the next turn is met after the statement."""
    (tmp_path / "k.py").write_text(LOOP.format(end=end))
    doubts = [v for v in in_bounds(check(scheduled(read(tmp_path / "k.py")))) if "stated" in v.reason]
    assert bool(doubts) is not shown


BEFORE = """import argus as ag
from argus import i32

ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(threads=64, requires="M >= 1", example=dict(M=3))
def shifted(L: ag.In["M", i32], X: ag.In["M n=64", i32], Y: ag.Out["M n=64", i32]):
    b = ag.grid(M)
    buffer = ag.shared(ag.Layout(n=(128, 4)), i32)
    p = ag.as_index(L[b].load(ONE, width=4), 0, 64, name="p")
    buffer.store(X[b].load(ROW, width=4), n=("n", p - 1), width=4)
    Y[b].store(X[b].load(ROW, width=4), width=4)
"""


def test_an_address_that_may_begin_before_its_buffer_is_read_and_not_proved(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(BEFORE)
    assert [v.status for v in in_bounds(check(scheduled(read(tmp_path / "k.py"))))] == ["unknown"]

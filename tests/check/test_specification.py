"""Kernels and their specifications: wrong ones are never proved, and nothing is left out silently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.ir.specified import specified as ir_specified
from argus.lang import ProgramError, read
from tests.ir import samples

HEAD = """import argus as ag
from argus import f32, i32

ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(lane=64, z="lane*0")
HALF = ag.Owner(lane=64, i="lane % 32")
"""

SCALE = """
@ag.kernel(threads=64, example=dict(M=3), computes="y[m, n] = x[m, n] * sum(x[m, k], k) * w[n]")
def f(x: ag.In["M N=256", f32], w: ag.In["N=256", f32], y: ag.Out["M N=256", f32]):
    m = ag.grid(M)
    v = x[m].load(ROW, width=16)
    y[m].store({value}, width=16)
"""

ROWS = """
@ag.kernel(threads=64, example=dict(M=3), computes="s[m] = {what}")
def f(x: ag.In["M N=256", f32], s: ag.Out["M", f32]):
    m = ag.grid(M)
    v = x[m].load(ROW, width=16)
    s[m].store({value}, width=4, guard=ag.lane() == 0)
"""

COPY = """
@ag.kernel(threads=64, requires="N % 32 == 0", example=dict(N=64), computes="y[n] = x[n]")
def f(x: ag.In["N", f32], y: ag.Out["N", f32]):
    s = 32 * ag.grid(N // 32)
    y[s].store({value}, width=4, guard=ag.lane() < {lanes})
"""

GATHER = """
@ag.kernel(threads=64, example=dict(M=3, P=9), computes="y[m, n] = x[m, n]")
def f(x: ag.In["P N=256", f32], i: ag.In["M", i32], y: ag.Out["M N=256", f32]):
    m = ag.grid(M)
    r = ag.as_index(i[m].load(ONE, width=4), 0, P - 1, name="r")
    y[m].store(x[r].load(ROW, width=16), width=16)
"""

ATOMIC = """
@ag.kernel(threads=64, example=dict(M=3), computes="s[n] = s[n] + sum(x[m, n], m)")
def f(x: ag.In["M N=256", f32], s: ag.InOut["N=256", f32]):
    m = ag.grid(M)
    s.atomic_add(x[m].load(ROW, width=16))
"""


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


class Reading:
    """Kernel text to a report."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def report(self, text: str) -> Report:
        file = self.folder / "f.py"
        file.write_text(HEAD + text)
        return check(scheduled(read(str(file))))


def of(report: Report, rule: str) -> set[str]:
    return {v.status for v in report.verdicts if v.rule == rule}


def specified(computes: str) -> Kernel:
    kernel = samples.vadd()
    return replace(kernel, computes=ir_specified(kernel, computes))


def test_an_operand_beside_a_row_sum_is_still_compared(reading: Reading) -> None:
    shifted = reading.report(SCALE.format(value='v * v.sum("n") * w[4].load(ROW, width=16)'))
    assert of(shifted, "placed") == {"refuted"}
    right = reading.report(SCALE.format(value='v * v.sum("n") * w.load(ROW, width=16)'))
    assert right.status == "proved", right.render()


@pytest.mark.parametrize(
    "value",
    [
        'x[m, 4].load(ROW, width=16) * v.sum("n") * w.load(ROW, width=16)',
        '(v + w[4].load(ROW, width=16)) * v.sum("n") * w.load(ROW, width=16)',
        'v * v.sum("n") + w[4].load(ROW, width=16)',
    ],
)
def test_a_shift_hidden_by_a_reduction_is_not_proved(reading: Reading, value: str) -> None:
    assert "proved" not in of(reading.report(SCALE.format(value=value)), "placed")


@pytest.mark.parametrize("kind", ["sum", "max"])
def test_a_row_statistic_stored_by_one_lane(reading: Reading, kind: str) -> None:
    report = reading.report(ROWS.format(what=f"{kind}(x[m, k], k)", value=f'v.{kind}("n")'))
    assert report.status == "proved", report.render()
    assert of(report, "value") == {"proved"}


def test_a_sum_that_is_not_taken_is_refuted_and_a_maximum_unknown(reading: Reading) -> None:
    value = "x[m].load(ONE, width=4)"
    assert of(reading.report(ROWS.format(what="sum(x[m, k], k)", value=value)), "reduced") == {"refuted"}
    assert of(reading.report(ROWS.format(what="max(x[m, k], k)", value=value)), "reduced") == {"unknown"}
    assert of(reading.report(ROWS.format(what="2 * sum(x[m, k], k)", value=value)), "reduced") == {"unknown"}


def test_a_store_guarded_by_lane(reading: Reading) -> None:
    good = reading.report(COPY.format(value="x[s].load(HALF, width=4)", lanes=32))
    assert good.status == "proved", good.render()
    few = reading.report(COPY.format(value="x[s].load(HALF, width=4)", lanes=31))
    assert of(few, "covers") == {"refuted"}


def test_storing_zero_is_not_storing_the_input(reading: Reading) -> None:
    assert of(reading.report(COPY.format(value="ag.zeros(HALF, f32)", lanes=32)), "placed") == {"unknown"}


def test_a_row_chosen_by_data_is_refuted(reading: Reading) -> None:
    """With indices that the kernel allows another row is read than the specification's."""
    report = reading.report(GATHER)
    assert of(report, "placed") == {"refuted"}
    assert not any(v.reason.startswith("internal") for v in report.verdicts)


def test_atomic_updates_are_no_overwrites(reading: Reading) -> None:
    assert of(reading.report(ATOMIC), "covers") == {"proved"}
    assert of(reading.report(ATOMIC.replace("s[n] = s[n] + sum", "s[n] = sum")), "covers") == {"refuted"}


@pytest.mark.parametrize("looked_for", ["x[j]", "abs(x[j])", "x[j] * y[j]"])
def test_the_place_of_a_maximum_is_no_element(looked_for: str) -> None:
    report = check(scheduled(specified(f"z[i] = argmax({looked_for}, j) + y[i]")))
    assert of(report, "value") == {"refuted"}
    assert of(report, "reduced") == {"unknown"}


@pytest.mark.parametrize("computes", ["z[i] = x[i] + i // 2", "z[i] = y[i] + sum(x[i + k], k, 1000)"])
def test_a_specification_by_element_is_no_excuse(computes: str) -> None:
    assert "refuted" in of(check(scheduled(specified(computes))), "value")


@pytest.mark.parametrize("computes", ["z[i] = x[i + 1] + y[i]", "z[i] = where(i >= 0, 3, 0)"])
def test_a_specification_without_plain_indices_is_not_proved(computes: str) -> None:
    assert "proved" not in of(check(scheduled(specified(computes))), "placed")


def test_a_kernel_without_specification_says_so() -> None:
    report = check(scheduled(replace(samples.vadd(), computes=None)))
    expected = "; no specification (computes=…): value, placed, reduced and covers were not checked"
    assert report.render().endswith(expected)
    assert "no specification" not in check(scheduled(samples.vadd())).render()


NAMED = """
@ag.kernel(threads=64, example=dict(M=3), computes="{line}")
def f(x: ag.In["M N=256", f32], y: ag.Out["M N=256", f32], a: f32):
    m = ag.grid(M)
    y[m].store(x[m].load(ROW, width=16) * {by}, width=16)
"""


@pytest.mark.parametrize(
    ("line", "by"),
    [
        ("y[a, n] = x[a, n] * a", "a"),  # what is stored is times the argument, not the row's number
        ("y[M, n] = x[M, n] * M", "2.0"),
        ("y[m, n] = x[m, n] * sum(where(a == 0, x[m, a], 0), a)", "a"),
    ],
)
def test_an_index_with_the_name_of_a_size_or_an_argument_is_not_read(reading: Reading, line: str, by: str) -> None:
    with pytest.raises(ProgramError, match="a size or an argument of the kernel") as refused:
        reading.report(NAMED.format(line=line, by=by))
    assert refused.value.code == "AG220"


def test_the_same_with_a_name_of_its_own_is_proved(reading: Reading) -> None:
    assert reading.report(NAMED.format(line="y[m, n] = x[m, n] * a", by="a")).status == "proved"


def test_a_sum_over_neighbors_is_no_reason_to_refute(reading: Reading) -> None:
    """At L = 1 the partner of z[n, 0] lies outside of x: it is summed up, and does not show."""
    report = reading.report(NEIGHBORS)
    assert "refuted" not in {v.status for v in report.verdicts}


NEIGHBORS = """
import argus as ag
from argus import f32

ROW = ag.Owner(t=64, l="t")


@ag.kernel(
    threads=64, requires="N >= 1 and L >= 1 and L <= 64", computes="y[n] = sum(x[n, k + 1] * z[n, k], k)",
    example=dict(N=3, L=40),
)
def k(x: ag.In["N L", f32], z: ag.In["N L", f32], y: ag.Out["N", f32]):
    n = ag.grid(N)
    a = x[n, 1].load(ROW, width=4, guard="shape").held_as(ROW)
    total = (a * z[n].load(ROW, width=4, guard="shape")).sum("l")
    y[n].store(total.without(), width=4, guard=ag.lane() == 0)
"""


def test_a_row_that_is_part_of_other_rows_is_no_reason_to_refute(reading: Reading) -> None:
    """Row r of window p is row r + 1 of window p - 1: what is loaded once is stored in two rows."""
    report = reading.report(REUSED)
    assert "refuted" not in {v.status for v in report.verdicts}


REUSED = """
import argus as ag
from argus import f32

ROW = ag.Owner(t=256, q="t")


@ag.kernel(
    threads=256, requires="P >= 2 and P % 2 == 0 and Q >= 1 and W >= Q", example=dict(P=6, Q=300, W=310),
    computes="Y[p, q] = X[p, q, 0] + X[p, q, 1]",
)
def reuse(X: ag.In["P Q r=2", f32, "W 1 W"], Y: ag.Out["P Q", f32]):
    bp, bq = ag.grid(P // 2, ag.cdiv(Q, 256))
    q = bq * 256
    top = X[2 * bp, q, 0].load(ROW, width=4, guard=lambda q_: q + q_ < Q)
    middle = X[2 * bp, q, 1].load(ROW, width=4, guard=lambda q_: q + q_ < Q)
    low = X[2 * bp + 1, q, 1].load(ROW, width=4, guard=lambda q_: q + q_ < Q)
    Y[2 * bp, q].store(top + middle, width=4, guard=lambda q_: q + q_ < Q)
    Y[2 * bp + 1, q].store(middle + low, width=4, guard=lambda q_: q + q_ < Q)
"""

"""Limits: what uses up its budget is unknown and says what to try; every other rule keeps its verdict."""

from __future__ import annotations

import subprocess
import sys
from mmap import mmap
from pathlib import Path
from time import process_time

import pytest

from argus.check import Report, check
from argus.check.solve.limits import (
    ARRAY,
    CHECK_SECONDS,
    Budget,
    LimitReached,
    Limits,
    afford,
    check_time,
    effort_left,
    limited,
    seconds_left,
    spend,
    stated_limits,
)
from argus.check.solve.prover import Prover
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.layout import expr as E

KERNELS = Path(__file__).parent / "kernels"
RULES = ("conform", "race_free", "fresh", "in_bounds", "value", "placed", "reduced", "covers", "fits")


def report(limits: dict[str, Limits], name: str = "ring_stores", case: int = 1) -> Report:
    with stated_limits(limits):
        return check(scheduled(read(KERNELS / f"{name}.py", settings={"CASE": case})))


def by_rule(found: Report) -> dict[str, set[str]]:
    return {rule: {v.status for v in found.verdicts if v.rule == rule} for rule in {v.rule for v in found.verdicts}}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_without_steps_is_unknown_and_the_others_keep_their_verdicts(rule: str) -> None:
    whole, cut = by_rule(report({})), report({rule: Limits(steps=0)})
    assert all(states == {"proved"} for states in whole.values())
    for name, states in by_rule(cut).items():
        assert states == ({"unknown"} if name == rule else whole[name]), name
    (stopped,) = [v for v in cut.verdicts if v.rule == rule]
    assert f"the limit of steps for `{rule}`" in stopped.reason
    assert "--set" in stopped.help


def test_a_walk_without_steps_leaves_nothing_proved() -> None:
    cut = report({"walk": Limits(steps=20)})
    assert cut.verdicts
    assert {v.status for v in cut.verdicts} == {"unknown"}
    assert all("`walk`" in v.reason for v in cut.verdicts if v.rule in RULES)


def test_a_walk_that_stops_keeps_no_proof_and_invents_no_counterexample() -> None:
    """At every place where it may stop: nothing is proved, or it did not stop and everything is."""
    for steps in (0, 5, 20, 50, 100, 200, 100_000):
        states = {v.status for v in report({"walk": Limits(steps=steps)}).verdicts if v.rule in RULES}
        assert states == {"unknown"} or (states == {"proved"} and steps > 20)
    assert states == {"proved"}


def test_a_search_that_is_too_long_costs_the_counterexample_not_the_proofs() -> None:
    """Odd turns of case 14 store nothing: `covers` is refuted by execution. Without steps for one it is unknown."""
    refuted, cut = report({}, case=14), report({"covers": Limits(steps=20_000)}, case=14)
    assert by_rule(refuted)["covers"] == {"refuted"}
    assert by_rule(cut)["covers"] == {"unknown"}
    assert "2 apart" in next(v.reason for v in cut.verdicts if v.rule == "covers")


def test_limits_do_not_depend_on_what_ran_before() -> None:
    """The same steps for the same kernel: twice in a process, and after another one."""
    limits = {"covers": Limits(steps=30)}
    first = by_rule(report(limits))
    report({}, "persistent", 2)
    assert by_rule(report(limits)) == first


def test_cpu_time_is_the_last_line() -> None:
    def endless() -> None:
        with limited(Budget("covers", Limits(seconds=0.05))):
            while True:
                spend()

    with pytest.raises(LimitReached, match="CPU time"):
        endless()


def test_memory_is_looked_at() -> None:
    kept: list[mmap] = []

    def greedy() -> None:
        with limited(Budget("covers", Limits(memory=32 << 20))):
            for _ in range(1000):
                kept.append(mmap(-1, 1 << 20))  # fresh pages, not some that the process had before
                kept[-1].write(b"x" * (1 << 20))
                spend(30_000)

    with pytest.raises(LimitReached, match="memory"):
        greedy()
    assert len(kept) < 100


def test_an_array_is_refused_before_it_is_made() -> None:
    with pytest.raises(LimitReached, match="one array"), limited(Budget("race_free")):
        afford(ARRAY + 1)
    afford(ARRAY)


def test_a_question_that_is_not_paid_for_is_not_asked_and_not_remembered() -> None:
    x, y = E.var("x", 0, 2**20), E.var("y", 0, 2**20)
    goal = (x * y).ne(7919 * 104729 + 2)
    prover = Prover()
    with limited(Budget("value", Limits(effort=0))):
        assert effort_left() == 0
        assert prover.holds((), goal) is None
        assert prover.decided["not asked"] == 1
    with limited(Budget("placed", Limits(effort=200_000))):
        prover.holds((), goal)
        assert prover.decided["not asked"] == 1


def test_effort_of_a_rule_ends() -> None:
    """Questions of number theory, one after another: their effort together stays near the limit of the rule."""
    names = [E.var(name, 2, 2**40) for name in "abc"]
    a, b, c = names
    prover = Prover()
    with limited(Budget("value", Limits(effort=200_000))) as budget:
        for n in range(12):
            prover.holds((), (a * a * a + b * b * b).ne(c * c * c + n))
        assert budget.effort < 1_000_000
    assert prover.decided["not asked"] > 4


@pytest.mark.parametrize(
    ("file", "kernel", "case"),
    [
        ("hangs", "far", 0),
        pytest.param("hangs", "far", 7, marks=pytest.mark.full),
        pytest.param("hangs", "rows", 5, marks=pytest.mark.full),
        pytest.param("hangs", "product", 4, marks=pytest.mark.full),
    ],
)
def test_memory_and_time_of_a_whole_check_are_bounded(file: str, kernel: str, case: int) -> None:
    """In a process of its own: at most 600 MiB at its peak (its own: `ru_maxrss` would be its parent's, if that is
    larger) and ten seconds of CPU time, imports included."""
    text = (
        "import re, resource\n"
        "from argus.check import check\nfrom argus.ir.passes.schedule import scheduled\nfrom argus.lang import read\n"
        f"check(scheduled(read({str(KERNELS / (file + '.py'))!r}, kernel={kernel!r}, settings={{'CASE': {case}}})))\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "peak = int(re.search('VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "print(peak // 1024, used.ru_utime + used.ru_stime)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    megabytes, seconds = done.stdout.split()
    assert int(megabytes) < 600
    assert float(seconds) < 10


ALTERNATING = """
import argus as ag
from argus import i32

W2 = ag.Owner(t=128, i="t")
LAY = ag.Layout(i=(256, 4))

@ag.kernel(threads=128, requires="N % 128 == 0", example=dict(N=256))
def k(X: ag.In["N", i32], Y: ag.Out["N", i32]):
    b = ag.grid(N // 128)
    x = X[128 * b].load(W2, width=4)
    y = x
    buf = ag.shared(LAY, i32)
    buf.store(x, width=4)
    buf.store(x, i=("i", 128), width=4)
    ag.barrier()
    for j in ag.range(3):
        if ag.lane() < 32:
            buf.store(x, i=("i", 32 * j), width=4)
        if ag.lane() >= 32:
            y = buf.load(W2, width=4)
    Y[128 * b].store(y, width=4)
"""


def test_candidates_that_alternate_end(tmp_path: Path) -> None:
    file = tmp_path / "alternating.py"
    file.write_text(ALTERNATING)
    before = process_time()
    assert check(scheduled(read(str(file)))).status != "proved"
    assert process_time() - before < 10


def test_a_check_has_one_time_for_all_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule may use a part of a check's time; what is over is over for all."""
    monkeypatch.setattr("argus.check.solve.limits.CHECK_SECONDS", 0.3)

    def endless(rule: str) -> None:
        with limited(Budget(rule)):
            while True:
                spend()

    start = process_time()
    with check_time(0):
        for rule in ("value", "covers", "placed"):
            with pytest.raises(LimitReached, match="CPU time"):
                endless(rule)
        assert seconds_left() == 0
    assert 0.3 <= process_time() - start < 1


@pytest.mark.parametrize("kind", ["max", "sum"])
@pytest.mark.parametrize("body", ["X[i + r + 3 * s + 5 * t]", "where(i + r > 3, X[i + r + 3 * s + 5 * t], 0)"])
def test_ranges_inside_of_ranges_are_written_out_up_to_a_number(tmp_path: Path, kind: str, body: str) -> None:
    """31 * 31 * 31 taps: neither written out nor compared one by one."""
    spec = f"{kind}({kind}({kind}({body}, r, 31), s, 31), t, 31)"
    (tmp_path / "k.py").write_text(f"""
import argus as ag
from argus import f32
OUT = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, requires="N >= 1", computes="Y[i] = {spec}", example=dict(N=200))
def k(X: ag.In["N", f32], Y: ag.Out["M=N", f32]):
    b = ag.grid(ag.cdiv(N, 64))
    Y[64 * b].store(X[64 * b].load(OUT, width=4, guard="shape"), width=4, guard="shape")
""")
    start = process_time()
    assert not check(scheduled(read(tmp_path / "k.py"))).proved
    assert process_time() - start < CHECK_SECONDS

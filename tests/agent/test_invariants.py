"""Assertions of a technique: proposed, proved of the kernel at hand, and kept by edits."""

from __future__ import annotations

import pytest

from argus.agent.invariants import asserted, proposals, removed
from argus.agent.lower import lower
from argus.ir.passes.schedule import scheduled
from argus.knowledge import load
from argus.lang import read
from argus.pipeline import report_of
from argus.tasks.task import load_task
from bench.invariants import FAULTS, faults, judged, lowered, without

BLOCK = {"tiles_row": 2, "tiles_col": 2, "waves_row": 2, "waves_col": 2, "tiles_k": 8}


@pytest.fixture(scope="module")
def staged() -> str:
    return without(lowered("gemm swizzled"))


def texts(kernel: str) -> list[str]:
    return [line.strip() for line in kernel.splitlines() if line.strip().startswith("ag.check.")]


def test_what_is_proposed_for_a_staged_product(staged: str) -> None:
    found = {check.text: check for check in proposals(staged)}
    for needed in (
        'ag.check.conform(ag.mfma, "K")', "ag.check.covers(C)", "ag.check.race_free(sA)", "ag.check.bank_free(sB)",
        'ag.check.fresh(sA, K="BLOCK_K * kt")', "ag.check.reduced(acc, K=(0, K))", "ag.check.in_bounds(A)",
    ):  # fmt: skip
        assert needed in found
    lines = staged.splitlines()
    assert "ag.mfma(" in lines[found['ag.check.conform(ag.mfma, "K")'].line - 1]
    assert "sA.store(" in lines[found['ag.check.fresh(sA, K="BLOCK_K * kt")'].line - 1]
    assert ".store(acc" in lines[found["ag.check.covers(C)"].line - 1]


def test_what_is_stated_is_proved_and_stated_once(staged: str) -> None:
    made = asserted(staged, load()["lds-swizzle"])
    assert report_of(scheduled(read(made.text)), run=False).proved
    assert sorted(texts(made.text)) == sorted(check.text for check in made.checks)
    assert not asserted(made.text, load()["lds-swizzle"]).checks
    assert made.text.startswith(staged.rstrip("\n"))


def test_what_does_not_hold_is_not_stated() -> None:
    conflicted = without(lowered("gemm staged"))
    stated = texts(asserted(conflicted, load()["lds-swizzle"]).text)
    assert "ag.check.bank_free(sA)" not in stated
    assert "ag.check.race_free(sA)" in stated


def test_no_kernel_no_proposals() -> None:
    assert proposals("def (") == []
    assert proposals("x = 1\n") == []


def test_each_assertion_is_missed(staged: str) -> None:
    made = asserted(staged)
    required = [check.text for check in made.checks]
    assert removed(made.text, required) == []
    for one in required:
        assert removed(made.text.replace(f"    {one}\n", ""), required) == [one]


@pytest.mark.parametrize(
    "hidden",
    [
        "    if False:\n        {0}\n",
        "    # {0}\n",
        "    if bm > 5:\n        {0}\n",
        "    for never in ag.range(0):\n        {0}\n",
        "    def unused():\n        {0}\n",
    ],
)
def test_an_assertion_that_says_nothing_is_missed(staged: str, hidden: str) -> None:
    made = asserted(staged)
    one = "ag.check.covers(C)"
    text = made.text.replace(f"    {one}\n", hidden.format(one))
    assert text != made.text
    assert removed(text, [one]) == [one]


def test_an_assertion_goes_with_its_buffer() -> None:
    text = lower(load_task("gemm").source, "register-blocking", BLOCK)
    assert removed(text, ["ag.check.race_free(sA)", "ag.check.covers(C)"]) == ["ag.check.covers(C)"]


def test_a_fault_of_speed_is_seen_by_its_assertion_alone(staged: str) -> None:
    (fault, *_) = [one for one in faults("gemm", staged, 1) if one.kind == "less swizzle"]
    stated = asserted(staged, load()["lds-swizzle"])
    assert not judged(fault.text, fault.line).refused
    more = fault.text + "".join(f"    {check.text}\n" for check in stated.checks)
    assert "bank_free" in judged(more, fault.line).rules


def test_every_kind_of_fault_has_a_place() -> None:
    kinds = {fault.kind for fault in faults("gemm", without(lowered("gemm swizzled")), 1)}
    assert kinds == {kind for kind, *_ in FAULTS}

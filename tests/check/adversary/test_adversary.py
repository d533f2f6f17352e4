"""Adversary kernels before two courts: no wrong one is proved, no right one is refuted.

The kernels were written from the language reference. What they are is in `table`; that it is so is confirmed here by
the interpreter under adversarial schedules, at several launches and at the launch of every counterexample.
"""

from __future__ import annotations

from typing import Any

import pytest

from argus.check import Report, check
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import ProgramError, read
from tests.check.adversary.table import ADVERSARIES, ALWAYS, Adversary
from tests.check.adversary.truth import truth
from tests.check.judge import SLOW_RULES


def every(eighth: int) -> list[Any]:
    """Every eighth variant runs with the other tests, all by `pytest -m "full or not full" tests/check/adversary`."""
    accepted = [a for a in ADVERSARIES if a.label != "refused"]
    return [
        pytest.param(a, id=str(a), marks=() if n % 8 == eighth or str(a) in ALWAYS else pytest.mark.full)
        for n, a in enumerate(accepted)
    ]


def kernel(adversary: Adversary) -> Kernel:
    return read(adversary.path, settings={"CASE": adversary.case})


def status(report: Report) -> str:
    states = {v.status for v in report.verdicts if v.rule not in SLOW_RULES}
    return next(s for s in ("refuted", "unknown", "proved") if s in states)


def test_there_are_fifty_and_half_are_wrong() -> None:
    assert len(ADVERSARIES) >= 50
    assert sum(a.label != "right" for a in ADVERSARIES) >= len(ADVERSARIES) / 2


@pytest.mark.parametrize("adversary", [a for a in ADVERSARIES if a.label == "refused"], ids=str)
def test_the_reader_refuses(adversary: Adversary) -> None:
    with pytest.raises(ProgramError):
        kernel(adversary)


@pytest.mark.parametrize("adversary", every(0))
def test_the_author_is_right_about_the_kernel(adversary: Adversary) -> None:
    wrong = truth(kernel(adversary), adversary.family)
    assert bool(wrong) == (adversary.label == "wrong"), wrong


@pytest.mark.parametrize("adversary", every(1))
def test_no_wrong_one_is_proved_and_no_right_one_refuted(adversary: Adversary) -> None:
    report = check(scheduled(kernel(adversary)))
    verdict = status(report)
    assert verdict != ("proved" if adversary.label == "wrong" else "refuted"), report.render()
    for one in report.verdicts:
        if one.status == "refuted" and one.rule not in SLOW_RULES:
            assert one.counterexample is not None, one

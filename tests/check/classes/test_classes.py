"""Attack classes before the machine: proved means that the object is right, at every size and under every schedule.

A part of the variants runs with the other tests, all of them by `pytest -m "full or not full" tests/check/classes`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from argus.check import Report, check
from argus.device.guards import LaunchRefused, check_sizes
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.check.classes.machine_truth import object_of, truth
from tests.check.classes.table import CLASSES, AttackClass
from tests.check.judge import SLOW_RULES


def variants(every: int) -> list[Any]:
    return [
        pytest.param(attack, case, id=f"{attack.name}-{case}", marks=() if case % every == 0 else pytest.mark.full)
        for attack in CLASSES
        for case in range(attack.variants)
    ]


def kernel(attack: AttackClass, case: int) -> Kernel:
    return read(attack.path, settings={"CASE": case})


def status(report: Report) -> str:
    states = {v.status for v in report.verdicts if v.rule not in SLOW_RULES}
    return next((s for s in ("refuted", "unknown", "proved") if s in states), "unknown")


def on_machine(made: Kernel, attack: AttackClass) -> str:
    """What is wrong with the object; a kernel that is refused computes nothing wrong."""
    compiled = object_of(made)
    return "" if isinstance(compiled, str) else truth(made, compiled, attack)


@pytest.mark.parametrize(("attack", "case"), variants(1))
def test_right_ones_are_proved_and_open_ones_are_not(attack: AttackClass, case: int) -> None:
    report = check(scheduled(kernel(attack, case)))
    if case in attack.right:
        assert status(report) == "proved", report.render()
    if case in attack.never:
        assert status(report) != "proved", report.render()


@pytest.mark.parametrize(("attack", "case"), variants(4))
def test_proved_means_right_on_the_machine(attack: AttackClass, case: int) -> None:
    made = kernel(attack, case)
    if status(check(scheduled(made))) == "proved" or case in attack.exact:
        assert on_machine(made, attack) == ""


@pytest.mark.parametrize(("attack", "case"), variants(4))
def test_proved_without_a_specification_means_what_the_text_says(attack: AttackClass, case: int) -> None:
    made = kernel(attack, case)
    silent = replace(made, computes=None)
    if case not in attack.never and case in attack.exact and status(check(scheduled(silent))) == "proved":
        assert on_machine(made, attack) == ""


def test_the_most_natural_kernel_is_proved_and_right_at_255() -> None:
    attack = next(one for one in CLASSES if one.name == "tails")
    made = kernel(attack, 0)
    assert status(check(scheduled(made))) == "proved"
    assert on_machine(made, replace(attack, launches=({"N": 255},))) == ""


def test_rows_past_the_end_that_would_come_back_are_refused_at_the_launch() -> None:
    attack = next(one for one in CLASSES if one.name == "tall")
    check_sizes(kernel(attack, 0), {"M": 1, "N": 2**20})
    with pytest.raises(LaunchRefused, match="offsets"):
        check_sizes(kernel(attack, 0), {"M": 1, "N": 2**22})

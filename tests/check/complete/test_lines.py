"""Convolutions of lines: proved exactly where taps, stride, dilation and padding are those of the specification."""

from __future__ import annotations

import random

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.check.classes.test_classes import status
from tests.check.complete.table import KERNELS

LEGAL = {"R": (1, 2, 3, 4), "S": (1, 2, 3, 4), "D": (1, 2, 3), "P": (0, 1, 2, 3)}
DRAWN = 24


def drawn(seed: int) -> tuple[dict[str, int], bool]:
    """Knobs of `lines`, and whether it computes what it says: one of four does, others differ in one number."""
    dice = random.Random(seed)
    said = {name: dice.choice(values) for name, values in LEGAL.items()}
    done = dict(said)
    if seed % 4:
        name = dice.choice(list(LEGAL))
        done[name] = dice.choice([value for value in LEGAL[name] if value != said[name]])
    one_tap = said["R"] == done["R"] == 1  # whose dilation does not matter
    right = all(said[name] == done[name] for name in LEGAL if not (one_tap and name == "D"))
    return {**said, **{f"{name}2": value for name, value in done.items()}, "FORM": seed % 3}, right


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed < DRAWN else pytest.mark.full) for seed in range(10 * DRAWN)]
)
def test_proved_where_right(seed: int) -> None:
    knobs, right = drawn(seed)
    report = check(scheduled(read(KERNELS / "lines.py", kernel="lines", settings=knobs)))
    if right:
        assert status(report) == "proved", (knobs, report.render())
    else:
        assert status(report) != "proved", (knobs, report.render())


def test_a_right_kernel_that_is_not_followed_is_not_refuted() -> None:
    report = check(scheduled(read(KERNELS / "tap_slots.py", kernel="tap_slots")))
    assert all(verdict.status != "refuted" for verdict in report.verdicts), report.render()

"""Handing out workgroups, against a step-by-step simulation and by cases."""

from __future__ import annotations

import random

import pytest

from argus.clock.dispatch import finish, nearest


def _by_steps(durations: list[int], places: int, gap: int) -> int:
    """One XCD at a time, clock by clock: a free place takes the next workgroup in the clock in which it is free."""
    last = 0
    for xcd in range(8):
        queue = durations[xcd::8]
        busy: list[int] = [0] * places
        fresh = [True] * places
        clock = 0
        while queue:
            for place in range(places):
                start = busy[place] + (0 if fresh[place] else gap)
                if queue and clock >= start:
                    busy[place], fresh[place] = clock + queue.pop(0), False
            clock += 1
        last = max(last, *busy) if durations[xcd::8] else last
    return last


@pytest.mark.parametrize("seed", range(20))
def test_against_steps(seed: int) -> None:
    dice = random.Random(seed)
    durations = [dice.randint(1, 30) for _ in range(dice.randint(1, 120))]
    places, gap = dice.randint(1, 4), dice.randint(0, 3)
    assert finish(durations, places, gap) == _by_steps(durations, places, gap)


def test_equal_work_goes_in_rounds() -> None:
    assert finish([100] * 304, 38) == 100
    assert finish([100] * 305, 38) == 200
    assert finish([100] * 305, 38, gap=7) == 207


def test_large_work_last_is_worse_than_large_work_first() -> None:
    work = [100.0] * 608 + [1000.0] * 8
    assert finish(work, 38) > finish(work[::-1], 38)


def test_nearest() -> None:
    assert nearest({0: 10, 4: 20}, 6) == [10, 10, 10, 20, 20, 20]
    assert nearest({3: 1}, 4) == [1] * 4

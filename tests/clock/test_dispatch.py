"""Handing out workgroups, against a step-by-step simulation and by cases."""

from __future__ import annotations

import random

import pytest

from argus.clock.dispatch import finish, nearest, work_of_all


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


def test_work_of_all_gives_an_xcd_its_own_work() -> None:
    """XCD 0 is sampled densely and has two blocks per workgroup; XCDs 5 to 7 have one, as two samples of each say."""
    dense = dict.fromkeys(range(0, 304, 8), 2.0)
    others = {n: 1.0 if n % 8 >= 5 else 2.0 for n in (*range(1, 8), *range(145, 152))}
    found = work_of_all({**dense, **others}, 304)
    assert sum(nearest({**dense, **others}, 304)) > 590
    assert found == [1.0 if n % 8 >= 5 else 2.0 for n in range(304)]


@pytest.mark.parametrize("seed", range(40))
def test_work_of_all_takes_chance_for_chance(seed: int) -> None:
    """Where work differs from workgroup to workgroup, a handful of samples makes no XCD the slowest."""
    dice = random.Random(seed)
    numbers = [*range(0, 304, 8), *range(1, 8), *dice.sample([n for n in range(8, 304) if n % 8], 8)]
    samples = {n: dice.choice((1.0, 3.0)) for n in numbers}
    found = work_of_all(samples, 304)
    means = [sum(found[xcd::8]) / 38 for xcd in range(8)]
    assert max(means) < 1.35 * sum(means) / 8


def test_work_of_all_follows_work_that_grows_along_the_grid() -> None:
    """Causal attention: the same on every XCD, more with the number."""
    numbers = [*range(0, 304, 8), *range(1, 8), 50, 91, 133, 170, 211, 251, 300]
    found = work_of_all({n: 1.0 + n for n in numbers}, 304)
    assert all(abs(value / (1.0 + n) - 1) < 0.1 for n, value in enumerate(found) if n > 60)


def test_work_of_all_is_the_samples_where_all_are_sampled() -> None:
    samples = {n: float(n % 8 + n) for n in range(40)}
    assert work_of_all(samples, 40) == list(samples.values())

"""The clock's roof: laws that any kernel of the task obeys, and the bytes of tensors that data place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from argus.agent.judge import Problem
from argus.agent.judge.examine import examined
from argus.agent.judge.floor import least_microseconds
from argus.tasks.task import load_task
from bench.agent_models.clock_roofs import READ, clock_roof
from bench.agent_models.episodes import EPISODES, NEAR, TASKS, read_episode


@pytest.mark.parametrize("name", sorted(set(NEAR) - {"slot_decode"}))
def test_no_kernel_can_reach_more_than_the_clocks_roof_and_that_is_above_the_judges(name: str) -> None:
    """`slot_decode` is left out of the second half: the judge's roof counts keys that a launch does not read."""
    task = load_task(TASKS / f"{name}.py")
    roof = clock_roof(task, task.shapes[0])
    naive, spec = examined(Problem.of(task))
    assert roof.low < roof.microseconds < roof.high
    assert roof.microseconds > least_microseconds(naive, task.shapes[0], spec)


def test_every_recorded_kernel_is_at_or_below_the_clocks_roof() -> None:
    roofs = {}
    for path in sorted(EPISODES.glob("*.jsonl")):
        one = read_episode(path)
        name = one.head["task"]
        if name not in roofs:
            task = load_task(TASKS / f"{name}.py")
            roofs[name] = clock_roof(task, task.shapes[0]).microseconds
        best = one.best
        assert best is None or float(best["microseconds"]) >= roofs[name] - 0.01, path.name


def test_matrix_instructions_alone_do_not_run_at_the_full_clock() -> None:
    task = load_task("gemm")
    roof = clock_roof(task, task.shapes[0])
    assert roof.by == "compute"
    assert roof.clock_mhz < 2100
    assert roof.products == math.prod(task.shapes[0].values())


def test_of_tensors_that_data_place_only_what_is_named_counts() -> None:
    sizes = {"B": 3, "P": 4, "S": 8, "E": 4}
    slots = {"slot": np.array([2, 2, 0]), "length": np.array([3, 5, 8])}
    assert READ["slot_decode"](slots, sizes) == {"K": 13 / 32, "V": 13 / 32}
    assert READ["paged_scores"]({"table": np.array([1, 1, 3, 1])}, sizes) == {"K": 0.5}
    assert READ["grouped_gemm"]({"group": np.array([0, 0, 0])}, sizes) == {"W": 0.25}

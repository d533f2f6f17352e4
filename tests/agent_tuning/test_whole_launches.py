"""Laws of joining parts: however a launch is cut, it was cut from the same one; other launches are not joined."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from argus.agent.tuning.value import knobs_alone
from argus.agent.tuning.whole_launches import whole
from argus.plan.choices import Choices
from argus.plan.graph import Graph
from argus.plan.plan import Plan
from argus.plan.planner import planned
from tests.agent_tuning.test_tuning import chained, reduced

CASES = {"product": (chained(), (11000, 13000, 15000)), "mean": (reduced(), (3000, 5000, 9000))}
"""Graphs and bytes a launch may reach: less than the rows, more than what cannot be cut."""


def cut(graph: Graph, limit: int, parts: int) -> Plan:
    return planned(graph, limit, choices=Choices(forced={"launch-parts": {"parts": parts}}))


def plain(plan: Plan) -> list[dict[str, Any]]:
    return [launch.to_json() for launch in plan.launches]


@pytest.mark.parametrize("name", CASES)
def test_parts_join_to_the_launch_they_were_cut_from(name: str) -> None:
    graph, limits = CASES[name]
    full = planned(graph, choices=Choices())
    for limit, parts in itertools.product(limits, (0, 2, 3, 4, 8)):
        plan = cut(graph, limit, parts)
        assert len(plan.launches) > len(full.launches)
        assert whole(plain(plan)) == plain(full)
        assert knobs_alone(full, plan)


def test_a_power_of_two_of_parts_is_offered() -> None:
    plans = {parts: cut(reduced(), 3000, parts) for parts in (0, 8)}
    sizes = {parts: [launch.sizes["M"] for launch in plan.launches] for parts, plan in plans.items()}
    assert sizes == {0: [18, 18, 18, 18, 18, 6], 8: [12] * 8}


def test_what_is_not_behind_is_not_joined() -> None:
    parts = plain(cut(reduced(), 9000, 0))
    assert len(whole(parts)) == 1
    assert len(whole(parts[::-1])) == len(parts)
    moved = [*parts[:-1], {**parts[-1], "computes": "y[m] = x[m]"}]
    assert len(whole(moved)) == 2

"""Averages of volumes with padding are one launch that has the padding inside; right on the machine."""

from __future__ import annotations

import pytest

from argus.plan.choices import Choices
from argus.plan.graph import Graph
from argus.plan.planner import planned
from tests.plan.graphs import Builder
from tests.plan.test_meaning import same
from tests.plan.test_products import right, typed

Numbers = tuple[int, ...]
FORMS: list[tuple[Numbers, Numbers, Numbers, Numbers]] = [
    ((2, 3, 9, 11, 32), (3, 3, 3), (2, 2, 2), (1, 1, 1)),
    ((1, 2, 17, 66, 13), (3, 3, 3), (2, 2, 2), (1, 1, 1)),
    ((2, 1, 7, 9, 10), (2, 5, 4), (1, 3, 5), (1, 2, 0)),
    ((1, 1, 1, 1, 1), (3, 3, 3), (1, 1, 1), (1, 1, 1)),
    ((1, 3, 8, 7, 9), (4, 4, 4), (3, 1, 1), (2, 2, 2)),
    ((2, 2, 5, 6, 12), (1, 1, 3), (1, 1, 2), (0, 0, 1)),
]


def pooled(shape: Numbers, window: Numbers, stride: Numbers, padding: Numbers, kind: str = "mean") -> Graph:
    """Pooling with a number of every result added and an activation."""
    made = Builder()
    x = made.input(*shape)
    results = ((e + 2 * p - w) // s + 1 for e, w, s, p in zip(shape[2:], window, stride, padding, strict=True))
    at = {"window": window, "stride": stride, "padding": padding, "dilation": (1, 1, 1)}
    y = made.add("pool", x, shape=(*shape[:2], *results), dtype="f32", kind=kind, **at)
    return made.graph(made.add("relu", made.add("add", y, made.input(*made.nodes[y].shape))))


def files(graph: Graph, limit: int = 1 << 31, choices: Choices | None = None) -> list[str]:
    return [launch.file for launch in planned(graph, limit, choices=choices).launches]


@pytest.mark.parametrize("form", FORMS)
def test_averages_with_padding_are_one_launch(form: tuple[Numbers, Numbers, Numbers, Numbers]) -> None:
    assert right(typed(pooled(*form))) == ["pool_volumes"]
    assert same(pooled(*form)) == 1


def test_other_windows_of_volumes_stay_as_they_are() -> None:
    """Maxima, averages without padding, paddings that the template lacks, windows of many taps."""
    shape, three, two, one = (1, 2, 11, 12, 13), (3, 3, 3), (2, 2, 2), (1, 1, 1)
    assert files(typed(pooled(shape, three, two, one, "max"))) == ["pad", "pool", "pad", "pool"]
    assert files(typed(pooled(shape, three, two, (0, 0, 0)))) == ["pool", "pool"]
    assert "pool_volumes" not in files(typed(pooled(shape, three, (6, 6, 6), one)))
    assert "pool_volumes" not in files(typed(pooled(shape, (5, 5, 5), two, one)))
    told = Choices(forced={"pool-passes": {"passes": 1}})
    assert files(typed(pooled(shape, three, two, (0, 0, 0))), choices=told) == ["pool_volumes"]
    told = Choices(forced={"pool-passes": {"passes": 2}})
    assert files(typed(pooled(shape, three, two, one)), choices=told) == ["pad", "pool", "pad", "pool"]


def test_some_volumes_at_a_time() -> None:
    volume = 2 * 9 * 10 * 16
    graph = typed(pooled((5, 1, 9, 10, 16), (3, 3, 3), (2, 2, 2), (1, 1, 1)))
    assert files(graph, 2 * volume + 1) == ["pool_volumes"] * 3

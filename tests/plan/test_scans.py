"""Plans of scans, places, concatenations, statistics and cross entropy are their graphs, in float64."""

from __future__ import annotations

import numpy as np
import pytest

from argus.plan.evaluate import values
from argus.plan.graph import Graph, PlanError, without_unused
from argus.plan.meaning import meaning
from argus.plan.planner import planned
from argus.plan.recognize import recognized
from tests.plan.graphs import Builder, drawn_inputs
from tests.plan.test_meaning import same


def scan(made: Builder, x: str, *mask: str, kind: str = "sum", dim: int = 1, **form: bool) -> str:
    attributes = {"kind": kind, "dim": dim, "exclusive": False, "reverse": False, **form}
    return made.add("scan", x, *mask, shape=made.nodes[x].shape, **attributes)


@pytest.mark.parametrize("kind", ["sum", "prod"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "dim"), [((3, 37), 1), ((2, 8, 5), 1)])
def test_scans(kind: str, exclusive: bool, reverse: bool, shape: tuple[int, ...], dim: int) -> None:
    made = Builder()
    y = scan(made, made.input(*shape), kind=kind, dim=dim, exclusive=exclusive, reverse=reverse)
    assert same(made.graph(y)) == 1


def turned(kind: str) -> Graph:
    """flip(scan(flip(x)))"""
    made = Builder()
    x = made.input(4, 9)
    y = scan(made, made.add("flip", x, dims=(1,)), kind=kind)
    return made.graph(made.add("flip", y, dims=(1,)))


def shifted(kind: str, start: float) -> Graph:
    """cat(start, scan(all but the last))"""
    made = Builder()
    part = made.add("slice", made.input(4, 9), shape=(4, 8), dim=1, start=0, stop=8, step=1)
    first = made.add("full", shape=(4, 1), value=start)
    return made.graph(made.add("cat", first, scan(made, part, kind=kind), shape=(4, 9), dim=1))


def masked() -> Graph:
    made = Builder()
    x, mask = made.input(4, 9), made.input(4, 9, dtype="bool")
    return made.graph(scan(made, made.add("mul", mask, x)))


@pytest.mark.parametrize(
    ("graph", "launches"),
    [(turned("sum"), 1), (turned("prod"), 1), (shifted("sum", 0.0), 1), (shifted("prod", 1.0), 1), (masked(), 1)],
)
def test_scans_that_are_written_with_other_nodes(graph: Graph, launches: int) -> None:
    """One launch each, and the value of the nodes as they were written."""
    plan = planned(graph)
    given = drawn_inputs(graph, 3)
    given = {n: (a > 0).astype(np.float32) if graph.nodes[n].dtype == "bool" else a for n, a in given.items()}
    want, found = values(graph, given), meaning(plan, given)
    np.testing.assert_allclose(found[graph.outputs[0]], want[graph.outputs[0]], rtol=0, atol=1e-9)
    assert len(plan.launches) == launches


def test_a_scan_that_starts_elsewhere_is_not_exclusive() -> None:
    """With another number in front, it stays a scan and a concatenation."""
    graph = shifted("sum", 1.0)
    assert [n.op for n in without_unused(recognized(graph)).nodes.values()][-1] == "cat"
    assert same(graph) == 4


def test_an_array_turned_around_has_no_template() -> None:
    made = Builder()
    with pytest.raises(PlanError, match="ARG-G101: no template computes flip"):
        planned(made.graph(made.add("flip", made.input(4, 9), dims=(1,))))


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize(("shape", "dim"), [((5, 37), 1), ((2, 12, 5), 1), ((2, 3, 7), 0), ((3, 3000), 1)])
def test_places_of_extremes(kind: str, shape: tuple[int, ...], dim: int) -> None:
    made = Builder()
    kept = tuple(e for d, e in enumerate(shape) if d != dim)
    y = made.add("argreduce", made.input(*shape), shape=kept, dtype="i64", kind=kind, dim=dim)
    plan = planned(made.graph(y))
    assert plan.buffers[plan.outputs[y].buffer].dtype == "i64"
    same(made.graph(y))


def test_concatenations() -> None:
    made = Builder()
    x, y, z = made.input(2, 3, 4), made.input(2, 5, 4), made.input(2, 1, 4)
    assert same(made.graph(made.add("cat", x, y, z, shape=(2, 9, 4), dim=1))) == 3


@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (9, 12)])
def test_statistics_of_a_batch_are_made_once(shape: tuple[int, ...]) -> None:
    """Normalized values, mean and variance, of one set of moments."""
    made = Builder()
    x = made.input(*shape)
    w, b = (made.input(shape[1], parameter=True) for _ in range(2))
    y = made.add("batch_norm", x, w, b, shape=shape, training=True, eps=1e-5)
    stats = [made.add("batch_statistic", x, shape=(shape[1],), kind=kind) for kind in ("mean", "variance")]
    graph = made.graph(y, *stats)
    same(graph)
    reads = [launch for launch in planned(graph).launches if any(v.buffer == x for v in launch.arguments.values())]
    assert len(reads) <= 3


@pytest.mark.parametrize("kind", ["mean", "sum", "none"])
def test_cross_entropy(kind: str) -> None:
    made = Builder()
    x, target = made.input(7, 12), made.input(7, dtype="i64")
    graph = made.graph(made.add("cross_entropy", x, target, shape=(7,) if kind == "none" else (), kind=kind))
    given = {**drawn_inputs(graph, 1), target: np.arange(7, dtype=np.float32) % 5}
    name = graph.outputs[0]
    np.testing.assert_allclose(meaning(planned(graph), given)[name], values(graph, given)[name], rtol=0, atol=1e-9)

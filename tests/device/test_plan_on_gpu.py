"""A plan as one graph on a GPU, against the stub of the HIP runtime."""

from __future__ import annotations

import numpy as np
import pytest

from argus.device.guards import LaunchRefused
from argus.plan.evaluate import values
from argus.plan.graph import Graph, PlanError
from argus.plan.on_gpu import PlanOnGpu
from argus.plan.planner import planned
from argus.plan.runner import PreparedPlan
from tests.device.stub_hip import StubHip
from tests.plan.graphs import Builder, drawn_inputs


def pooled() -> Graph:
    """Temporaries and a parameter."""
    made = Builder()
    x, bias = made.input(2, 3, 6, 8), made.input(3, 1, 1, parameter=True)
    y = made.add("tanh", made.add("add", x, bias))
    form = {"kind": "max", "window": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)}
    return made.graph(made.reduce(made.add("pool", y, shape=(2, 3, 3, 4), **form), "sum", (2, 3)))


def test_a_plan_is_one_graph() -> None:
    """Launches are captured once and replayed; nothing is left behind."""
    graph = pooled()
    ready, stub = PreparedPlan(planned(graph)), StubHip()
    given = drawn_inputs(graph, 1)
    parameters = {name: given[name] for name in graph.parameters}
    with PlanOnGpu(ready, parameters, stub) as there:
        assert [len(calls) for calls in stub.graphs.values()] == [len(ready.plan.launches)]
        assert "launch" not in stub.log
        for seed in (1, 2):
            again = {**drawn_inputs(graph, seed), **parameters}
            stub.log.clear()
            found = there.run({name: again[name] for name in graph.inputs})
            want = values(graph, again)
            for name in graph.outputs:
                np.testing.assert_allclose(found[name], want[name], rtol=1e-5, atol=1e-5)
            assert stub.log.count("graph_launch") == 1
            assert "malloc" not in stub.log
            assert "module_load" not in stub.log
    assert not stub.memory
    assert not stub.graphs
    assert not stub.streams
    assert stub.device == 0


def test_a_missing_parameter_leaves_nothing_behind() -> None:
    stub = StubHip()
    with pytest.raises(PlanError, match="ARG-G105: parameter"):
        PlanOnGpu(PreparedPlan(planned(pooled())), {}, stub)
    assert not stub.memory


def test_a_view_that_starts_between_accesses_is_refused() -> None:
    made = Builder()
    part = made.add("slice", made.input(2, 9), shape=(2, 8), dim=1, start=1, stop=9, step=1)
    graph, stub = made.graph(made.add("relu", part)), StubHip()
    with pytest.raises(LaunchRefused, match="must start at a multiple of 16 bytes"):
        PlanOnGpu(PreparedPlan(planned(graph)), {}, stub)
    assert not stub.memory
    assert not stub.streams

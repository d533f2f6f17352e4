"""Plans carried out on the simulated machine: proved kernels, temporaries in one arena, results against float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argus.device.guards import LaunchRefused, numpy_dtype
from argus.ir.types import DTYPES
from argus.plan.evaluate import values
from argus.plan.graph import Graph, PlanError
from argus.plan.plan import Plan
from argus.plan.planner import planned
from argus.plan.runner import PreparedPlan
from tests.plan.graphs import Builder, drawn_inputs
from tests.plan.test_meaning import mlp


def away(graph: Graph, plan: Plan, seed: int = 1) -> float:
    """The largest error of a run, relative to the largest value."""
    drawn = drawn_inputs(graph, seed)
    given = {name: array.astype(numpy_dtype(DTYPES[graph.nodes[name].dtype])) for name, array in drawn.items()}
    inputs = {name: given[name] for name in graph.inputs}
    parameters = {name: given[name] for name in graph.parameters}
    found = {name: array.astype(np.float64) for name, array in PreparedPlan(plan).run(inputs, parameters).items()}
    want = values(graph, given)
    return max(
        float(np.abs(found[name] - want[name]).max() / max(1.0, np.abs(want[name]).max())) for name in graph.outputs
    )


def test_products_maps_reductions_and_softmax() -> None:
    assert away(mlp(), planned(mlp())) < 2e-6


def test_xf32_only_on_request() -> None:
    made = Builder()
    graph = made.graph(made.add("matmul", made.input(10, 37), made.input(37, 30, parameter=True), shape=(10, 30)))
    (exact,), (asked,) = planned(graph).launches, planned(graph, allow_xf32=True).launches
    assert "XF32" not in exact.knobs
    assert asked.knobs["XF32"]
    assert away(graph, planned(graph, allow_xf32=True)) < 2e-3


def test_a_launch_in_pieces() -> None:
    made = Builder()
    x = made.input(70, 33)
    graph = made.graph(made.add("gelu", made.add("mul", x, made.input(33, parameter=True))))
    plan = planned(graph, limit=4000)
    assert len(plan.launches) > 1
    assert away(graph, plan) < 1e-6


def test_a_wrong_memory_plan_is_refused() -> None:
    """The arena is real: with all temporaries at one place a launch would write over what it reads."""
    plan = planned(mlp())
    moved = {name: replace(buffer, place=0) for name, buffer in plan.buffers.items()}
    with pytest.raises(LaunchRefused, match="overlaps"):
        away(mlp(), replace(plan, buffers=moved))


def test_inputs_that_do_not_fit_are_refused() -> None:
    plan = planned(mlp())
    given = drawn_inputs(mlp(), 0)
    ready = PreparedPlan(plan)
    with pytest.raises(PlanError, match="ARG-G105: input x0 is not given"):
        ready.run({}, {name: given[name] for name in plan.parameters})
    wrong = {"x0": given["x0"].astype(np.float64)}
    with pytest.raises(PlanError, match=r"ARG-G105: input x0 is float64\[10, 37\], not 370 elements of float32"):
        ready.run(wrong, {name: given[name] for name in plan.parameters})


def test_a_plan_is_readable() -> None:
    text = planned(mlp()).text()
    assert "0. gemm_f32.py:gemm_f32  Z=1 M=10 N=30 K=37" in text
    assert "computes  Y[a, b, c] = tanh(X[a, b, c] - U[c])" in text
    assert "temporary t1: f32 x 300, launches 0 to 1, at byte 0" in text

"""Whether an alternative computes what the graph does: the plan's meaning at reduced sizes, and a run of it.

    why_not(base, other, lambda: graphs, "pool-passes", {"passes": 2})      "" or the reason to refuse it

Two plans whose launches differ in knobs alone, with the same sizes, views and `computes`, have the same value, and each
kernel's proof says that it computes its line. So have two that cut one launch into other parts (`whole_launches`).
Every other difference (another number of launches, another order) has to show at reduced sizes: there the alternative
is forced, and the composition of all `computes` lines is compared with the graph in float64 (`argus.plan.meaning`);
then the plan runs on the machine and may be off by what KernelBench allows, or four times what the plan without it is.
Where no reduced size has the alternative, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.agent.tuning.whole_launches import whole
from argus.device.guards import LaunchRefused
from argus.ops.choice import NoKernel
from argus.pipeline import Unproved
from argus.plan.choices import Alternative, Choices
from argus.plan.evaluate import values
from argus.plan.graph import Graph, PlanError
from argus.plan.meaning import meaning
from argus.plan.plan import Plan, PlannedLaunch
from argus.plan.planner import planned
from argus.plan.runner import PreparedPlan

TOLERANCE = {"f32": 1e-4, "bf16": 1e-2, "f16": 1e-2}
OF_RULE = 4.0
MEANT = 1e-9
"""What the composition in float64 may be off, relative to the largest result."""
FLOATS: Mapping[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
Arrays = dict[str, npt.NDArray[Any]]


def why_not(base: Plan, other: Plan, small: Callable[[], Sequence[Graph]], decision: str, take: Alternative) -> str:
    """Why the alternative is not allowed; nothing if it is."""
    if knobs_alone(base, other):
        return ""
    seen = 0
    for graph in small():
        choices = Choices(forced={decision: take})
        try:
            plan = planned(graph, choices=choices)
            if not any(p.taken == dict(take) != p.default for p in choices.points.values()):
                continue
            seen += 1
            reason = _differs(graph, plan, planned(graph, choices=Choices()))
        except (PlanError, NoKernel, Unproved, LaunchRefused) as error:
            reason = str(error).splitlines()[0]
        if reason:
            return reason
    return "" if seen else "no reduced sizes have it"


def knobs_alone(base: Plan, other: Plan) -> bool:
    """Whether launches differ in knobs alone, and in where launches of the same knobs are cut into parts."""
    of_base, of_other = ([_meant(each) for each in plan.launches] for plan in (base, other))
    return of_base == of_other or whole(of_base) == whole(of_other)


def _meant(launch: PlannedLaunch) -> dict[str, Any]:
    used = {name: view for name, view in launch.to_json().items() if name != "knobs"}
    text = launch.computes
    used["arguments"] = {name: at for name, at in used["arguments"].items() if name in text}
    return used


def _differs(graph: Graph, plan: Plan, rule: Plan) -> str:
    """What is wrong with a plan of a small graph."""
    given = drawn(graph)
    wide = {name: x.astype(np.float64) for name, x in given.items()}
    with np.errstate(all="ignore"):
        wanted, meant = values(graph, wide), meaning(plan, wide)
    for name in graph.outputs:
        scale = max(1.0, float(np.nanmax(np.abs(wanted[name]), initial=0.0)))
        if not np.allclose(meant[name], wanted[name], rtol=0, atol=MEANT * scale, equal_nan=True):
            return f"the plan computes another {name} than the graph"
    allowed = max(TOLERANCE[_dtype(graph)], OF_RULE * _error(graph, rule, given, wanted))
    error = _error(graph, plan, given, wanted)
    return "" if error <= allowed else f"results are {error:.2g} away, {allowed:.2g} is allowed"


def _error(graph: Graph, plan: Plan, given: Arrays, wanted: Mapping[str, npt.NDArray[Any]]) -> float:
    """The largest |difference| / (1 + |wanted|) of a run."""
    found = PreparedPlan(plan).run(
        {name: given[name] for name in graph.inputs}, {name: given[name] for name in graph.parameters}
    )
    worst = 0.0
    for name in graph.outputs:
        finite = np.isfinite(wanted[name])
        away = np.abs(found[name].astype(np.float64) - wanted[name]) / (1 + np.abs(wanted[name]))
        worst = max(worst, float(away[finite].max(initial=0.0)))
    return worst


def _dtype(graph: Graph) -> str:
    kinds = {node.dtype for node in graph.nodes.values()} & set(TOLERANCE)
    return "f32" if kinds == {"f32"} else "bf16"


def drawn(graph: Graph, seed: int = 5) -> Arrays:
    """Inputs and parameters: rows with an offset and zeros; whole numbers that are places of two classes."""
    rng = np.random.default_rng(seed)
    found: Arrays = {}
    for name in (*graph.inputs, *graph.parameters):
        node = graph.nodes[name]
        if node.dtype in FLOATS:
            made = rng.standard_normal(node.shape)
            made += rng.choice([0.0, 0.0, 2.0], size=(*node.shape[:-1], 1)) if node.shape else 0.0
            made = np.where(rng.random(node.shape) < 0.1, 0.0, made)
            scale = 1 / max(1.0, float(np.sqrt(node.elements / node.shape[0]))) if name in graph.parameters else 1.0
            found[name] = np.asarray(made * scale).astype(FLOATS[node.dtype])
        else:
            kind = np.bool_ if node.dtype == "bool" else np.dtype(node.dtype.replace("i", "int"))
            found[name] = rng.integers(0, 2, node.shape).astype(kind)
    return found

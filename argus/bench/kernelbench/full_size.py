"""Is a plan right at full size? Sampled workgroups of every launch against its own `computes`, in float64.

    found = at_full_size(plan, seed=0)
    found.to_json()         {"launches": 3, "blocks": 17, "elements": 812034, "worst": 0.21}

How one launch is looked at says `launch_trial`; inputs are drawn where they are needed, so that no tensor is made.
Launches of one kernel with the same sizes, scalars and alignment differ in where their arguments start alone, and are
one sample. A launch is wrong, or right as far as it was looked at, or could not be sampled, with the reason.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from argus.bench.kernelbench.drawn import DrawKind
from argus.bench.kernelbench.launch_trial import LaunchSample, LaunchTrial, TrialKernel, Undefined, WrongAtFullSize
from argus.bench.kernelbench.stores import NotSampled
from argus.ir.types import DTYPES
from argus.layout.expr import ExprError
from argus.machine.jit.errors import JitError
from argus.plan.plan import Plan
from argus.spec import SpecError
from argus.spec.tree import IndexReduction
from argus.spec.walk import walk

ALIGNED = 256
"""Bytes that buffers start at multiples of."""


@dataclass
class FullSize:
    """What was seen of all launches. `launches`: those that are covered; `wrong` and `not_sampled`: with reasons."""

    launches: int = 0
    blocks: int = 0
    elements: int = 0
    worst: float = 0.0
    wrong: list[str] = field(default_factory=list)
    not_sampled: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        worst = round(self.worst, 4)
        return {"launches": self.launches, "blocks": self.blocks, "elements": self.elements, "worst": worst}


def at_full_size(plan: Plan, seed: int = 0) -> FullSize:
    """Look at every launch of a plan."""
    found = FullSize()
    known: dict[Hashable, LaunchSample | None] = {}
    for number, launch in enumerate(plan.launches):
        key = alike(plan, number)
        if key not in known:
            known[key] = sample = None
            try:
                known[key] = sample = sampled(plan, number, seed)
            except WrongAtFullSize as error:
                found.wrong.append(f"launch {number} ({launch.kernel}): {error}")
            except (NotSampled, Undefined, SpecError, ExprError, JitError) as error:
                found.not_sampled.append(f"launch {number} ({launch.kernel}): {error}")
            if sample is not None:
                found.blocks += sample.blocks
                found.elements += sample.elements
                found.worst = max(found.worst, sample.worst)
        found.launches += known[key] is not None
    return found


def alike(plan: Plan, number: int) -> Hashable:
    """What launches have in common that are one sample."""
    launch = plan.launches[number]
    aligned = tuple(
        (name, view.offset * DTYPES[plan.buffers[view.buffer].dtype].bytes % ALIGNED)
        for name, view in launch.arguments.items()
    )
    return launch.key, tuple(launch.sizes.items()), tuple(launch.scalars.items()), aligned


def sampled(plan: Plan, number: int, seed: int = 0) -> LaunchSample:
    """Look at some workgroups of a launch, with inputs for which its specification has values."""
    ready = TrialKernel.of(plan.launches[number])
    for kind in (_first_kind(plan, number, ready), "positive"):
        try:
            return LaunchTrial(plan, number, ready, seed, kind).run()
        except Undefined:
            continue
    return LaunchTrial(plan, number, ready, seed, "small").run()


def _first_kind(plan: Plan, number: int, ready: TrialKernel) -> DrawKind:
    """Whole numbers where they make every result exact, numbers near one for products along an axis."""
    launch = plan.launches[number]
    if ready.exact({name: view.shape for name, view in launch.arguments.items()}, launch.sizes):
        return "whole"
    nodes = [node for result in ready.results for node in walk(result.expression)]
    products = any(isinstance(node, IndexReduction) and node.kind == "prod" for node in nodes)
    return "near one" if products else "structured"

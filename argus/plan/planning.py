"""What the lowerings of a plan need of the planner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from argus.ir.kernel import KnobValue
from argus.plan.choices import Choices
from argus.plan.graph import Graph, Shape
from argus.plan.views import View


class Planning(Protocol):
    """Where values lie, new buffers, and launches; `argus.plan.planner.Planner` is the one there is."""

    graph: Graph
    limit: int
    """Bytes of an array that a launch may reach."""
    allow_xf32: bool
    """f32 products may read their operands with 10 mantissa bits."""
    choices: Choices
    """What is decided at the decision points, and which there were."""
    kept: dict[str, tuple[View, View]]
    """Statistics that one lowering makes and another needs, by value."""

    def at(self, name: str) -> View: ...

    def row_major(self, view: View, dtype: str, nodes: tuple[str, ...] = ()) -> View: ...

    def typed(self, name: str, dtype: str) -> View: ...

    def stored(self, view: View) -> str: ...

    def temporary(self, shape: Shape, dtype: str) -> View: ...

    def filled(self, shape: Shape, dtype: str, fill: float, purpose: str = "filled") -> View: ...

    def emit(
        self,
        file: str,
        kernel: str,
        knobs: Mapping[str, KnobValue],
        sizes: Mapping[str, int],
        arguments: Mapping[str, View],
        scalars: Mapping[str, float] | None = None,
        nodes: tuple[str, ...] = (),
    ) -> None: ...

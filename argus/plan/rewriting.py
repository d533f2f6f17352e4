"""A graph being made anew, node by node, by a pass that takes nodes apart."""

from __future__ import annotations

from typing import Any

from argus.plan.graph import Node, Shape


class Rewriting:
    """The nodes so far."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}

    def add(
        self, like: Node, op: str, inputs: tuple[str, ...], shape: Shape, name: str = "", dtype: str = "",
        **attributes: Any,
    ) -> str:  # fmt: skip
        """A node for `like`, at its line and in its type unless another is said; the last one has its name."""
        chosen = name or f"{like.name}.{len(self.nodes)}"
        self.nodes[chosen] = Node(chosen, op, inputs, attributes, shape, dtype or like.dtype, like.line)
        return chosen

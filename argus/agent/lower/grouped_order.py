"""Blocks are walked in groups of block rows: `ag.grid(…, order=ag.grouped(8))`.

Blocks that run at the same time then form a square of the result rather than a line, and share more operands.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.launch_keywords import set_order
from argus.agent.lower.source import Source


def grouped_order(source: Source, params: Mapping[str, object]) -> None:
    """`ag.grid(…, order=ag.grouped(8))`: groups of block rows."""
    set_order(source, str(params["order"]))

"""Neighbouring blocks run on one chiplet: `ag.grid(…, order=ag.xcd(8))`.

Workgroups are dealt to the eight chiplets in turn, each of which has an L2 cache of its own; with this order the blocks
that share operands share a cache. `group` forms groups of block rows as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.launch_keywords import set_order
from argus.agent.lower.source import Source


def chiplet_order(source: Source, params: Mapping[str, object]) -> None:
    """`ag.grid(…, order=ag.xcd(8))`: neighbours on one chiplet."""
    set_order(source, str(params["order"]))

"""Accumulators in AGPRs, which double the registers, or in VGPRs, which save the moves: `policy=dict(agpr=True)`."""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.launch_keywords import set_policy
from argus.agent.lower.source import Source


def accumulation_registers(source: Source, params: Mapping[str, object]) -> None:
    """Accumulators in AGPRs, which double the registers, or in VGPRs, which save the moves."""
    set_policy(source, "agpr", str(params["agpr"]))

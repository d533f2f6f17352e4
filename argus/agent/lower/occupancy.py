"""Registers for this many waves on a SIMD: `policy=dict(waves_per_simd=2)`.

More waves hide latency, fewer have more registers. The compiler refuses a budget that the kernel does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.launch_keywords import set_policy
from argus.agent.lower.source import Source


def occupancy(source: Source, params: Mapping[str, object]) -> None:
    """Registers for this many waves on a SIMD."""
    set_policy(source, "waves_per_simd", str(params["waves"]))

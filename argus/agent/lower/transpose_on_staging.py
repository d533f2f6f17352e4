"""Operands whose rows run along the other axis are transposed on their way into LDS.

It is the transformation `lds_staging`, which looks how each tensor lies: a technique of its own in the knowledge base,
because it answers another bottleneck.
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.lds_staging import lds_staging
from argus.agent.lower.source import (
    Source,
)


def transpose_on_staging(source: Source, params: Mapping[str, object]) -> None:
    """The same where a tensor's rows run along the other axis: it is transposed on the way into LDS."""
    lds_staging(source, params)

"""LDS rows padded, so that lanes meet different banks; `lds_layouts` shows the layouts.

ag.Layout(row=(128, 128), k=(64, 2))     ->        ag.Layout(row=(128, 144), k=(64, 2))            16 bytes
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.lds_layouts import set_layouts
from argus.agent.lower.source import Source


def lds_padding(source: Source, params: Mapping[str, object]) -> None:
    """The rows of every LDS buffer are padded by `amount` bytes."""
    set_layouts(source, "pad", int(str(params["amount"])))

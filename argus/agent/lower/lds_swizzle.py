"""LDS rows swizzled by exclusive or, so that lanes meet different banks; `lds_layouts` shows the layouts.

ag.Layout(row=(128, 128), k=(64, 2))
-> ag.Layout(row=(128, 128), chunk=(8, 16), e=(8, 2), k=("chunk", "e")).xor(chunk="row[0:3]")      3 bits
"""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.lds_layouts import set_layouts
from argus.agent.lower.source import Source


def lds_swizzle(source: Source, params: Mapping[str, object]) -> None:
    """Every LDS buffer is swizzled by `amount` bits; `kind` is xor, cross or reads."""
    set_layouts(source, str(params["kind"]), int(str(params["amount"])))

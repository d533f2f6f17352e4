"""Loads of a turn in another order: the operand that is needed first, or is shared by more waves, is fetched first."""

from __future__ import annotations

from collections.abc import Mapping

from argus.agent.lower.pipeline import FETCH, kind
from argus.agent.lower.source import NotApplicableError, Source


def fetch_order(source: Source, params: Mapping[str, object]) -> None:
    """The fetches of a turn, in every place they stand together, in the opposite order."""
    changed = False
    for block in source.blocks():
        at = 0
        while at < len(block):
            end = at
            while end < len(block) and kind(source, block[end]) == FETCH:
                end += 1
            if end - at > 1:
                block[at:end] = block[at:end][::-1]
                changed = True
            at = max(end, at + 1)
    if not changed:
        raise NotApplicableError("no two fetches stand together")

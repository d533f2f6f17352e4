"""One entry of the manual."""

from __future__ import annotations

from typing import NamedTuple


class ManualEntry(NamedTuple):
    """Why a code is reported, and what to do about it."""

    cause: str
    fix: str

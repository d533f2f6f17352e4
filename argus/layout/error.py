"""The one error of the layout algebra.

Every operation returns a layout or raises `LayoutError`; nothing asserts, aborts or returns a wrong layout.  `digits`
names the two digits (or axes) that do not fit, in the words of the layouts they come from.
"""

from __future__ import annotations


class LayoutError(ValueError):
    """A layout that cannot be built, with the digits that stand in the way."""

    def __init__(self, message: str, *digits: str) -> None:
        super().__init__(message)
        self.digits = digits


class LayoutDefect(LayoutError):
    """A result that failed its own check: a defect of Argus, reported instead of being used."""

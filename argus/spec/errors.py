"""What is wrong with a specification: the kind of mistake, the words, and the place in its text.

    form     it is not index notation
    name     it names a tensor, an index or a function that is not there, or with another number of arguments
    type     a condition where a number is wanted, a number where an index is wanted, …
    index    an index that is left open, named twice, or of which nothing says how far it runs
    limit    it is too long or too deeply nested

A specification that was read can still fail at some launch: its intermediates may be too large for memory. That is a
`SpecError` of kind `data`.
"""

from __future__ import annotations

from typing import Literal

from argus.spec.tree import NO_SPAN, TextSpan

SpecErrorKind = Literal["form", "name", "type", "index", "limit", "data"]
WIDEST = 100


class SpecError(ValueError):
    """A specification cannot be read, or not be evaluated with these arrays."""

    def __init__(self, message: str, kind: SpecErrorKind = "data", span: TextSpan = NO_SPAN) -> None:
        super().__init__(message)
        self.kind, self.span = kind, span


class SpecTooLarge(SpecError):
    """An intermediate has more elements than are allowed: who evaluates fewer elements of the result may succeed."""


def pointed(text: str, span: TextSpan) -> tuple[str, str] | None:
    """The line of the text in which the span begins, and carets under it; None for a place that is nowhere."""
    if span == NO_SPAN or not 0 <= span.start < len(text):
        return None
    start = text.rfind("\n", 0, span.start) + 1
    line = text[start:].split("\n")[0]
    first, last = span.start - start, min(span.end - start, len(line))
    left = max(0, min(first - 20, len(line) - WIDEST))
    shown = "".join(c if c.isprintable() else " " for c in line[left : left + WIDEST])
    carets = "^" * max(1, min(last - left, len(shown)) - (first - left))
    return shown, " " * (first - left) + carets

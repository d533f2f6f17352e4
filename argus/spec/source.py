"""The text of a specification as statements of Python's grammar, and where their parts stand in it.

Python's parser reads the text; nothing of it is executed. Only this module and `reader` see its syntax tree.
"""

from __future__ import annotations

import ast
from itertools import accumulate

from argus.spec.errors import SpecError, SpecErrorKind
from argus.spec.tree import NO_SPAN, TextSpan

MAX_TEXT = 20_000
EXAMPLE = "C[m, n] = sum(A[m, k] * B[n, k], k)"
SHOWN = 60


class SpecSource:
    """A text and its statements. Raises `SpecError` where it is not Python's grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._skipped = len(text) - len(text.lstrip())
        body = text.strip()
        self._lines = body.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        if len(text) > MAX_TEXT:
            raise SpecError(f"the specification has more than {MAX_TEXT:,} characters", "limit")
        if "\\" in text:
            place = text.index("\\")
            raise SpecError("index notation has no `\\`", "form", TextSpan(place, place + 1))
        try:
            self.statements = ast.parse(body).body
        except SyntaxError as error:
            raise SpecError(error.msg or "it cannot be parsed", "form", self._syntax_place(error)) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise SpecError("it is nested too deeply, or has characters no text has", "limit") from error

    def span(self, node: ast.AST) -> TextSpan:
        """Where a node stands in the text."""
        line, column = getattr(node, "lineno", None), getattr(node, "col_offset", 0)
        if line is None:
            return NO_SPAN
        end_line, end = getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or column
        return TextSpan(self._place(line, column), self._place(end_line, end))

    def words(self, node: ast.AST) -> str:
        """What is written there, or its beginning."""
        span = self.span(node)
        found = " ".join(self.text[span.start : span.end].split())
        return found if len(found) <= SHOWN else f"{found[:SHOWN]}…"

    def error(self, message: str, kind: SpecErrorKind, node: ast.AST) -> SpecError:
        return SpecError(message, kind, self.span(node))

    def _place(self, line: int, column: int) -> int:
        """Python counts columns in bytes."""
        raw = self._lines[line - 1] if line <= len(self._lines) else ""
        return self._skipped + self._starts[line - 1] + len(raw.encode()[:column].decode(errors="ignore"))

    def _syntax_place(self, error: SyntaxError) -> TextSpan:
        line = min(max(error.lineno or 1, 1), len(self._lines))
        start = self._skipped + self._starts[line - 1] + max(0, (error.offset or 1) - 1)
        start = min(start, max(0, len(self.text) - 1))
        return TextSpan(start, start + 1)

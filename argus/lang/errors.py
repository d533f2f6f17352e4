"""What a kernel author sees when a program is not one: a coded diagnostic with a place, notes and a fix.

    error[AG307]: `width=16` moves 4 elements at once, but element 1 of a thread is not next to element 0
      --> scale.py:10:9
       |
    10 |     v = x[start].load(PART, width=16)
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       = note: in thread 0, element 0 is at n = 0; element 1 at n = 256
       = help: let the last register digit of the owner run along the contiguous axis, or use a smaller width

The code never changes its meaning, the words may. The words live in `argus.lang.catalogue`, one entry per mistake; a
raise site only names the code and fills in the names and numbers of the program at hand. A diagnostic is plain data:
`render` prints it for a person, `to_json` for a program, `explain` prints the manual page of a code.

`ProgramError` is the only exception a reader of kernel files lets out. Anything else is a bug of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps as to_text
from typing import Any

from argus.ir.types import Span
from argus.lang.catalogue import CATALOGUE, CatalogueEntry

_WIDEST_LINE = 160
_OPEN = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Note:
    """A further remark, with a place of its own where it has one."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    code: str
    name: str
    message: str
    span: Span
    notes: tuple[Note, ...] = ()
    fix: str = ""
    source: str = ""

    def render(self) -> str:
        """The diagnostic as text, with the source line and carets under the place."""
        margin = " " * len(str(self.span.line))
        lines = [f"error[{self.code}]: {self.message}", f"{margin}--> {self.span}"]
        lines += _snippet(self.source, self.span, margin)
        for note in self.notes:
            where = f" ({note.span})" if note.span is not None else ""
            lines.append(f"{margin} = note: {note.text}{where}")
        if self.fix:
            lines.append(f"{margin} = help: {self.fix}")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "name": self.name,
            "message": self.message,
            "span": span_json(self.span),
            "notes": [
                {"text": n.text} | ({"span": span_json(n.span)} if n.span is not None else {}) for n in self.notes
            ],
            "fix": self.fix,
        }


class ProgramError(Exception):
    """The file is not a valid kernel program; `diagnostic` says why and where."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.span}: error[{diagnostic.code}]: {diagnostic.message}")
        self.diagnostic = diagnostic

    @property
    def code(self) -> str:
        return self.diagnostic.code

    def render(self, json: bool = False) -> str:
        """The diagnostic as text for a person, or as JSON for a program."""
        return to_text(self.diagnostic.to_json(), indent=1) if json else self.diagnostic.render()


def diagnose(code: str, span: Span, source: str, notes: tuple[Note, ...], words: Mapping[str, object]) -> Diagnostic:
    """Fill the catalogue entry of `code` with the words of the program at hand."""
    entry = CATALOGUE[code]
    return Diagnostic(code, entry.name, entry.message.format(**words), span, notes, entry.fix.format(**words), source)


def explain(code: str) -> str | None:
    """The manual page of a code, or None when there is no such code."""
    entry = CATALOGUE.get(code.upper())
    return None if entry is None else page(entry)


def page(entry: CatalogueEntry) -> str:
    """Code, name, sentence, explanation and fix; words that depend on the program are left open."""
    sentence, fix = (_OPEN.sub("…", text) for text in (entry.message, entry.fix))
    title = f"# {entry.code}: {entry.name.replace('-', ' ')}"
    return f"{title}\n\n> {sentence}\n\n{entry.explanation}\n\nFix: {fix}\n"


def span_json(span: Span) -> dict[str, Any]:
    return {
        "file": span.file,
        "line": span.line,
        "col": span.col + 1,
        "end_line": span.end_line,
        "end_col": span.end_col + 1,
    }


def _snippet(source: str, span: Span, margin: str) -> list[str]:
    lines = source.splitlines()
    if not 1 <= span.line <= len(lines):
        return []
    raw = lines[span.line - 1]
    # The syntax tree counts columns in UTF-8 bytes; carets are placed by characters.
    start = len(raw.encode()[: span.col].decode(errors="ignore"))
    stop = len(raw.encode()[: span.end_col].decode(errors="ignore")) if span.end_line == span.line else len(raw)
    shown = "".join(c if c.isprintable() else " " for c in raw)
    if len(shown) > _WIDEST_LINE:
        left = max(0, min(start - 20, len(shown) - _WIDEST_LINE))
        shown, start, stop = shown[left : left + _WIDEST_LINE], start - left, stop - left
    stop = min(max(stop, start + 1), max(len(shown), start + 1))
    return [f"{margin} |", f"{span.line} | {shown}", f"{margin} | {' ' * start}{'^' * (stop - start)}"]

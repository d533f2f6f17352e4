"""The `computes` line of a kernel file: read into a tree, or a diagnostic that points into the line.

Where the line is one plain string in the file, the carets stand under the mistake itself; where the file puts it
together (an f-string, several strings), under the whole of it, and a note shows the line with its own carets.
"""

from __future__ import annotations

import ast

from argus.ir.types import Span
from argus.lang.context import ReadContext
from argus.lang.errors import Note
from argus.spec import SpecArguments, SpecError, Specification, read_specification
from argus.spec.errors import SpecErrorKind, pointed
from argus.spec.tree import NO_SPAN, TextSpan

CODES: dict[SpecErrorKind, str] = {
    "form": "AG217", "name": "AG218", "type": "AG219", "index": "AG220", "limit": "AG221", "data": "AG217",
}  # fmt: skip


def read_computes(ctx: ReadContext, place: ast.expr, text: str, arguments: SpecArguments) -> Specification:
    """The specification of the kernel being read."""
    try:
        return read_specification(text, arguments)
    except SpecError as error:
        exact = _in_file(ctx, place, text, error.span)
        notes = () if exact is not None else _notes(text, error.span)
        raise ctx.error(CODES[error.kind], exact or place, *notes, problem=str(error)) from None


def _in_file(ctx: ReadContext, place: ast.expr, text: str, span: TextSpan) -> Span | None:
    """The place in the file, if the line stands there as it is."""
    whole = ctx.span_of(place)
    if not isinstance(place, ast.Constant) or span == NO_SPAN or whole.line != whole.end_line:
        return None
    raw = ctx.sources[whole.file].splitlines()[whole.line - 1].encode()
    if raw[whole.col + 1 : whole.end_col - 1] != text.encode():
        return None
    start, end = (whole.col + 1 + len(text[:n].encode()) for n in (span.start, span.end))
    return Span(whole.file, whole.line, start, whole.line, max(end, start + 1))


def _notes(text: str, span: TextSpan) -> tuple[Note, ...]:
    found = pointed(text, span)
    return () if found is None else tuple(Note(line) for line in found)

"""The kernel file as a syntax tree, and nothing more: it is parsed, never compiled to code, never imported.

Everything Python's parser can stumble over (syntax errors, null bytes, nesting beyond its limits, huge numbers)
becomes a diagnostic here.
"""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

from argus.ir.types import Span
from argus.lang.errors import ProgramError, diagnose

MAX_BYTES = 256 * 1024
MAX_NESTING = 100
SOURCE_NAME = "<kernel>"
"""The file name of a kernel that is given as text."""


def text_of(path_or_source: str | Path) -> tuple[str, str]:
    """(file name, text). A string with a line break is source text itself."""
    if isinstance(path_or_source, str) and "\n" in path_or_source:
        return SOURCE_NAME, path_or_source
    path = Path(path_or_source)
    name = str(path)
    try:
        if path.exists() and not path.is_file():
            raise _error("AG100", name, "", path=name, reason="it is not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _error("AG100", name, "", path=name, reason=reason) from None
    if len(data) > MAX_BYTES:
        raise _error("AG102", name, "", limit=MAX_BYTES)
    try:
        return name, data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _error("AG101", name, "", problem=f"byte {error.start} is not UTF-8 text") from None


def tree_of(file: str, source: str) -> ast.Module:
    """The syntax tree, of bounded size and depth."""
    if len(source) > MAX_BYTES:
        raise _error("AG102", file, source, limit=MAX_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        line, col = error.lineno or 1, max(0, (error.offset or 1) - 1)
        end_line, end = error.end_lineno or line, max(col + 1, (error.end_offset or 0) - 1)
        span = Span(file, line, col, end_line, end)
        raise ProgramError(diagnose("AG101", span, source, (), {"problem": _words(error.msg)})) from None
    except (ValueError, OverflowError) as error:
        raise _error("AG101", file, source, problem=_words(str(error))) from None
    except (RecursionError, MemoryError):
        raise _error("AG120", file, source, limit=MAX_NESTING) from None
    too_deep = _deeper_than(tree, MAX_NESTING)
    if too_deep is not None:
        line, col = getattr(too_deep, "lineno", 1), getattr(too_deep, "col_offset", 0)
        span = Span(file, line, col, line, col + 1)
        raise ProgramError(diagnose("AG120", span, source, (), {"limit": MAX_NESTING}))
    return tree


def _deeper_than(tree: ast.AST, limit: int) -> ast.AST | None:
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > limit:
            return node
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return None


def _words(message: str) -> str:
    """Python's message without what only makes sense to Python."""
    return re.sub(r"\s*\(<unknown>.*\)$", "", message)


def _error(code: str, file: str, source: str, **words: object) -> ProgramError:
    return ProgramError(diagnose(code, Span(file, 1, 0, 1, 1), source, (), words))

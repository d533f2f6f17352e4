"""The device part of a HIP C++ source: what of somebody's file is compiled, as text.

    device_text(Path("kernel.cu"), {"TILE": 64})        a .cu, .hip or .cpp file
    device_text(Path("model.py"), {})                   the longest string with a kernel in it; nothing is executed

A solution comes with its host half: bindings of PyTorch, launches, checks. They need headers that are not here, and
they are not timed. So the text is split into its outermost items (inside of namespaces, too), and those of the host are
dropped: an item stays if it is a kernel or a device function (`__global__`, `__device__`), a declaration without a
function body, or a line of the preprocessor other than `#include`. A file included with quotes stands in its place if
it is there. `constants` gives `constexpr` names another value, `presets` gives arrays that the host fills their values.

What it cannot do: a host function's declaration without a body stays, and may name types that are not declared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

KERNEL = "__global__"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]*)[">][^\n]*$', re.M)
_NAMESPACE = re.compile(r"^\s*namespace(\s+\w+)?\s*$")
_DECLARATION = re.compile(r"^\s*(using|typedef|static_assert|constexpr|const|struct|enum|template)\b")
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.S)


class ExtractionError(ValueError):
    """There is no kernel's text in the file, or it cannot be taken out of it."""


def device_text(
    path: Path, constants: Mapping[str, int] | None = None, presets: Mapping[str, Sequence[float | str]] | None = None
) -> str:
    """The text to compile."""
    text = _included(source_text(path), path.parent)
    kept = "\n".join(_kept(_without_comments(text)))
    if KERNEL not in kept:
        raise ExtractionError(f"{path.name} has no kernel")
    for name, value in (constants or {}).items():
        kept, count = re.subn(rf"(\bconstexpr\s+\w+\s+{re.escape(name)}\s*=)[^;]*;", rf"\g<1> {value};", kept)
        if count != 1:
            raise ExtractionError(f"{path.name} has no constexpr {name}")
    for name, values in (presets or {}).items():
        listed = ", ".join(value if isinstance(value, str) else f"{float(value)!r}f" for value in values)
        kept, count = re.subn(rf"(\b\w+\s+{re.escape(name)}\s*\[[^\]]*\])\s*;", rf"\g<1> = {{{listed}}};", kept)
        if count != 1:
            raise ExtractionError(f"{path.name} has no array {name}")
    return kept


def file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExtractionError(f"{path} cannot be read") from error


def source_text(path: Path) -> str:
    """The C++ text of a file; of a Python file its longest string that holds a kernel."""
    text = file_text(path)
    if path.suffix != ".py":
        return text
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ExtractionError(f"{path.name} is not Python") from error
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = [string for string in strings if KERNEL in string]
    if not found:
        raise ExtractionError(f"{path.name} has no string with a kernel")
    return max(found, key=len)


def _included(text: str, folder: Path) -> str:
    """The text with files beside it in the place of their `#include`; headers of the system are dropped."""

    def replaced(match: re.Match[str]) -> str:
        beside = folder / match[2]
        if match[1] == "<" or Path(match[2]).name != match[2] or not beside.is_file():
            return ""
        return _INCLUDE.sub("", source_text(beside))

    return _INCLUDE.sub(replaced, text)


def _without_comments(text: str) -> str:
    return _COMMENT_OR_STRING.sub(lambda match: match[0] if match[0][0] in "\"'" else " ", text)


def _kept(text: str) -> Iterator[str]:
    """The outermost items that belong to the device, one by one."""
    for item in items(text):
        head, brace, body = item.partition("{")
        if item.lstrip().startswith("#"):
            yield item.strip()
        elif brace and _NAMESPACE.match(head):
            yield from _kept(body[: body.rindex("}")])
        elif KERNEL in head or "__device__" in head or (not _is_function(head) and _DECLARATION.match(item)):
            yield item.strip()


def _is_function(head: str) -> bool:
    """Whether what stands before a body, or before the end, has a list of parameters behind a name."""
    plain = re.sub(r"__\w+__\s*\(\([^)]*\)\)", "", head)
    return bool(re.search(r"\w\s*\([^;=]*\)\s*(const|noexcept)?\s*;?\s*$", plain)) and "static_assert" not in plain


def items(text: str) -> Iterator[str]:
    """Lines of the preprocessor, and declarations to their `;` or to the brace that closes them."""
    start = at = 0
    while at < len(text):
        if not text[start:at].strip() and text[at] == "#":
            at = _line_end(text, at)
            yield text[start:at]
            start = at
        elif text[at] in "\"'":
            found = _COMMENT_OR_STRING.match(text, at)
            at = found.end() if found else at + 1
        elif text[at] == "{":
            at = _closed(text, at)
            if not _continues(text[start:at], text[at:]):
                yield text[start:at]
                start = at
        elif text[at] == ";":
            at += 1
            yield text[start:at]
            start = at
        else:
            at += 1


def _line_end(text: str, at: int) -> int:
    """The end of a line of the preprocessor, lines that continue it included."""
    while (end := text.find("\n", at)) >= 0 and text[end - 1] == "\\":
        at = end + 1
    return len(text) if end < 0 else end + 1


def _closed(text: str, at: int) -> int:
    """Behind the brace that closes the one at `at`."""
    depth = 0
    while at < len(text):
        if text[at] in "\"'" and (found := _COMMENT_OR_STRING.match(text, at)):
            at = found.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if not depth:
            return at
    raise ExtractionError("a brace is not closed")


def _continues(item: str, rest: str) -> bool:
    """Whether an item goes on behind its braces: initial values and structs end with a `;`."""
    return rest.lstrip().startswith(";")

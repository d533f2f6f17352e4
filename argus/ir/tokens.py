"""Words of the IR's textual form, for `argus.ir.parser`.

A token is an index expression in backquotes, a JSON string, a value (`%12`, or `%12:f32x16!name` where it is defined),
a number, a word, or a punctuation mark. What cannot be read ends in `ParseError` with the line.
"""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | `(?P<expr>[^`]*)`
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<value>%\d+(?::\w+x\d+)?(?:!\w+)?)
      | (?P<number>-?(?:\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+|inf\b|nan\b))
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark>\.\.|[][(){},;:=+*@-])
    """,
    re.VERBOSE,
)
_DEFINITION = re.compile(r"%(\d+):(\w+)x(\d+)(?:!(\w+))?$")

MAX_TEXT = 64 * 1024 * 1024


class ParseError(ValueError):
    """The text is not kernel IR; the message names the line."""


class Tokens:
    """The tokens of a text, with a position."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            raise ParseError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")
        self._items: list[tuple[str, str, int]] = []
        at, line = 0, 1
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ParseError(f"line {line}: cannot read {text[at : at + 20]!r}")
            kind = str(found.lastgroup)
            if kind != "space":
                self._items.append((kind, found.group(kind), line))
            line += found.group().count("\n")
            at = found.end()
        self._at = 0

    @property
    def line(self) -> int:
        return self._items[min(self._at, len(self._items) - 1)][2] if self._items else 0

    def error(self, wanted: str) -> ParseError:
        here = repr(self._items[self._at][1]) if self._at < len(self._items) else "the end"
        return ParseError(f"line {self.line}: expected {wanted}, found {here}")

    def peek(self, text: str) -> bool:
        """Whether the next token is this word or mark."""
        if self._at >= len(self._items):
            return False
        kind, found, _ = self._items[self._at]
        return found == text and kind in ("word", "mark", "number")

    def accept(self, text: str) -> bool:
        if self.peek(text):
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"`{text}`")

    def take(self, kind: str) -> str:
        if self._at >= len(self._items) or self._items[self._at][0] != kind:
            raise self.error({"expr": "an expression in backquotes", "string": "a string"}.get(kind, f"a {kind}"))
        self._at += 1
        return self._items[self._at - 1][1]

    def at_end(self) -> bool:
        return self._at >= len(self._items)

    def next_is(self, kind: str) -> bool:
        return self._at < len(self._items) and self._items[self._at][0] == kind

    def string(self) -> str:
        try:
            return str(json.loads(self.take("string")))
        except json.JSONDecodeError:
            raise self.error("a string") from None

    def integer(self) -> int:
        text = self.take("number")
        try:
            return int(text)
        except ValueError:
            raise ParseError(f"line {self.line}: {text} is not a whole number") from None

    def scalar(self) -> int | str | bool:
        """A JSON number, string or truth value."""
        if self.next_is("string"):
            return self.string()
        for word, value in (("true", True), ("false", False)):
            if self.accept(word):
                return value
        return self.integer()

    def definition(self) -> tuple[int, str, int, str]:
        """(number, type, count, name) of a value where it is defined."""
        text = self.take("value")
        found = _DEFINITION.match(text)
        if found is None:
            raise ParseError(f"line {self.line}: {text} is defined without a type")
        return int(found[1]), found[2], int(found[3]), found[4] or ""

    def use(self) -> int:
        text = self.take("value")
        if not text[1:].isdecimal():
            raise ParseError(f"line {self.line}: {text} is a definition where a use is expected")
        return int(text[1:])

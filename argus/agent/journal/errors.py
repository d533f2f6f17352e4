"""What goes wrong with a journal."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-J101": "another process writes this journal",
    "ARG-J102": "not a journal, or one of another version",
    "ARG-J103": "no such run",
    "ARG-J104": "the run cannot be continued: it no longer takes the same steps",
    "ARG-J105": "a stored text is damaged or missing",
    "ARG-J106": "no such candidate",
}


class JournalError(Exception):
    """`code` is a key of CODES."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")

"""Exit codes, and the errors of a command line that cannot be understood."""

from __future__ import annotations

GOOD, WRONG, INVALID, UNKNOWN = 0, 1, 2, 3
INTERNAL = 70


class UsageError(ValueError):
    """The command line cannot be understood."""


class WrongResult(Exception):
    """What was executed gives wrong results; the command ends with code 1."""


class CommandError(UsageError):
    """A verb or option that is not there; `command` is whose help says what there is."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command

"""The answer of a command that failed."""

from __future__ import annotations

from typing import Any, Literal

from argus.cli.answers.base import Answer

FailureKind = Literal[
    "usage",
    "program",
    "refused",
    "compile",
    "machine",
    "journal",
    "cluster",
    "system",
    "extra",
    "input",
    "stopped",
    "internal",
]


class ErrorAnswer(Answer, kw_only=True):
    """`code` is one that `argus explain` knows, where the error has one; `detail` is what the error says about itself:
    the diagnostic of a program, the report of the checker, the report of the machine."""

    schema: Literal["argus.error"] = "argus.error"
    exit: int
    kind: FailureKind
    code: str | None
    message: str
    help: str
    detail: dict[str, Any] | None

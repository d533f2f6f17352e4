"""What goes wrong between a model and the workbench. Every failure has a code; the model reads the sentence.

ARG-W103: ../secret.py leads out of the workspace
"""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "ARG-W101": "no such tool",
    "ARG-W102": "the arguments do not fit the tool",
    "ARG-W103": "the file is outside the workspace",
    "ARG-W104": "the file cannot be read",
    "ARG-W105": "the tool took too long",
    "ARG-W106": "the tool's process ended",
    "ARG-W107": "the call was canceled",
    "ARG-W108": "no calls are left in this round",
    "ARG-W109": "the server cannot start as asked",
    "ARG-W110": "a fault of Argus",
}


class ToolError(Exception):
    """`code` is a key of CODES."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")

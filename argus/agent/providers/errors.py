"""What goes wrong between Argus and a language model. Every failure is loud and has a code; nothing falls back.

    error ARG-P104: https://host/v1/chat/completions: still refused for its rate after 4 attempts (HTTP 429)

Texts never hold a key: whatever a server answers goes through `redact` before it becomes part of a message, and through
`hide` before it becomes a reply.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from argus.agent.providers.message import ToolUse

CODES: Mapping[str, str] = {
    "ARG-P101": "no such model provider",
    "ARG-P102": "a key is missing from the environment",
    "ARG-P103": "the provider refuses the request",
    "ARG-P104": "the provider limits the rate",
    "ARG-P105": "the provider fails",
    "ARG-P106": "the answer cannot be understood",
    "ARG-P107": "the answer was cut off",
    "ARG-P108": "the budget is used up",
    "ARG-P109": "the request is not in the recording",
    "ARG-P110": "the provider cannot be reached",
    "ARG-P111": "the command fails",
    "ARG-P112": "the provider does not count its tokens",
    "ARG-P113": "the day's budget is used up",
    "ARG-P120": "the answer holds no edit",
    "ARG-P121": "an edit does not fit the file",
    "ARG-P122": "an edit removes an assertion",
    "ARG-P123": "an edit uses what is hidden",
    "ARG-P124": "the answer is no plan",
}

SHOWN = 400
REAL = 8  # characters: shorter ones are a local server's `x` or `EMPTY`, which may well stand in a kernel


class ProviderError(Exception):
    """`code` is a key of CODES."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of `secrets`, shortened to what fits in a message."""
    text = _without(text, (secret for secret in secrets if secret))
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def hide(text: str, secrets: Iterable[str]) -> str:
    """A whole reply without those of `secrets` that are long enough to be some."""
    return _without(text, (secret for secret in secrets if len(secret) >= REAL))


def hidden_calls(calls: tuple[ToolUse, ...], secrets: Iterable[str]) -> tuple[ToolUse, ...]:
    """Calls without those of `secrets` that are long enough to be some; arguments that held one are none."""
    real = tuple(secret for secret in secrets if len(secret) >= REAL)
    found = []
    for use in calls:
        text = json.dumps(use.arguments)
        clean = _without(text, real)
        arguments = use.arguments if clean == text else None
        found.append(ToolUse(_without(use.id, real), _without(use.name, real), arguments))
    return tuple(found)


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
    return text

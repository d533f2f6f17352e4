"""Servers that speak Anthropic's messages protocol.

Environment: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` (default https://api.anthropic.com).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from argus.agent.providers.errors import ProviderError, hidden_calls, hide
from argus.agent.providers.message import MAX_CALLS, Reply, Request, Turn, tool_use
from argus.agent.providers.text_tools import quoted
from argus.agent.providers.transport import Transport, hidden

DEFAULT_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Anthropic:
    """One model behind one address."""

    model: str
    url: str = field(repr=False)
    key: str = field(repr=False)
    transport: Transport = field(default_factory=Transport)

    @property
    def name(self) -> str:
        return f"anthropic:{self.model}"

    def ask(self, request: Request) -> Reply:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "system": request.system,
            "messages": [{"role": turn.speaker, "content": _content(turn)} for turn in request.turns],
        }
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.text, "input_schema": dict(tool.schema)}
                for tool in request.tools
            ]
        headers = {"x-api-key": self.key, "anthropic-version": VERSION}
        secrets = (self.key, *hidden(self.url))
        answer = self.transport.post(f"{self.url}/v1/messages", headers, body, secrets)
        try:
            text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
            uses = [part for part in answer["content"] if part["type"] == "tool_use"][:MAX_CALLS]
            calls = tuple(tool_use(part["id"], part["name"], part.get("input")) for part in uses)
            reason = answer.get("stop_reason")
            used = answer.get("usage") or {}
            counts = int(used.get("input_tokens", 0)), int(used.get("output_tokens", 0))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ProviderError("ARG-P106", f"{self.name}: the answer has no text content") from error
        cut = reason == "max_tokens"
        if not text and not cut and not calls:
            raise ProviderError("ARG-P106", f"{self.name}: the answer holds no text (stop_reason {reason!r})")
        return Reply(hide(text, secrets), self.model, *counts, cut, hidden_calls(calls, secrets))


def _content(turn: Turn) -> str | list[dict[str, Any]]:
    """A turn as the protocol has it: plain text, or blocks where tools are called or have answered."""
    if not turn.calls and not turn.returns:
        return turn.text
    blocks: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": given.id, "content": quoted(given), "is_error": given.failed}
        for given in turn.returns
    ]
    blocks += [{"type": "text", "text": turn.text}] if turn.text else []
    blocks += [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.arguments or {})} for use in turn.calls
    ]
    return blocks


def from_environment(model: str) -> Anthropic:
    """The model `model` at the address and with the key of the environment."""
    key = os.environ.get("ANTHROPIC_API_KEY", "")
    if not key:
        raise ProviderError("ARG-P102", f"anthropic:{model} needs ANTHROPIC_API_KEY")
    return Anthropic(model, os.environ.get("ANTHROPIC_BASE_URL", DEFAULT_URL).rstrip("/"), key)

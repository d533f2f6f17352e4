"""Servers that speak OpenAI's chat-completions protocol: OpenAI, vLLM, SGLang, llama.cpp, Ollama and many gateways.

Environment: `OPENAI_API_KEY`, `OPENAI_BASE_URL` (default https://api.openai.com/v1). A server of one's own may need no
key; the default address does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from argus.agent.providers.errors import ProviderError, hidden_calls, hide
from argus.agent.providers.message import MAX_CALLS, Reply, Request, Turn, tool_use
from argus.agent.providers.text_tools import quoted
from argus.agent.providers.transport import Transport, hidden

DEFAULT_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class OpenAI:
    """One model behind one address."""

    model: str
    url: str = field(repr=False)
    key: str = field(repr=False)
    transport: Transport = field(default_factory=Transport)

    @property
    def name(self) -> str:
        return f"openai:{self.model}"

    def ask(self, request: Request) -> Reply:
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "messages": [
                {"role": "system", "content": request.system},
                *(message for turn in request.turns for message in _messages(turn)),
            ],
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.text, "parameters": dict(tool.schema)},
                }
                for tool in request.tools
            ]
        secrets = (self.key, *hidden(self.url))
        answer = self.transport.post(f"{self.url}/chat/completions", headers, body, secrets)
        try:
            choice = answer["choices"][0]
            text, reason = choice["message"].get("content"), choice.get("finish_reason")
            uses = [use for use in choice["message"].get("tool_calls") or [] if use["type"] == "function"][:MAX_CALLS]
            calls = tuple(tool_use(u["id"], u["function"]["name"], u["function"].get("arguments")) for u in uses)
            used = answer.get("usage") or {}
            counts = int(used.get("prompt_tokens", 0)), int(used.get("completion_tokens", 0))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ProviderError("ARG-P106", f"{self.name}: the answer has no choices[0].message.content") from error
        cut = reason == "length"
        if not isinstance(text, str) and not cut and not calls:
            raise ProviderError("ARG-P106", f"{self.name}: the answer holds no text (finish_reason {reason!r})")
        said = hide(text if isinstance(text, str) else "", secrets)
        return Reply(said, self.model, *counts, cut, hidden_calls(calls, secrets))


def _messages(turn: Turn) -> Iterator[dict[str, Any]]:
    """A turn as the protocol has it: answers of tools are messages of their own."""
    for given in turn.returns:
        yield {"role": "tool", "tool_call_id": given.id, "content": quoted(given)}
    if turn.calls:
        uses = [
            {
                "id": use.id,
                "type": "function",
                "function": {"name": use.name, "arguments": json.dumps(dict(use.arguments or {}))},
            }
            for use in turn.calls
        ]
        yield {"role": turn.speaker, "content": turn.text or None, "tool_calls": uses}
    elif turn.text or not turn.returns:
        yield {"role": turn.speaker, "content": turn.text}


def from_environment(model: str) -> OpenAI:
    """The model `model` at the address and with the key of the environment."""
    url = os.environ.get("OPENAI_BASE_URL", DEFAULT_URL).rstrip("/")
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and url == DEFAULT_URL:
        raise ProviderError(
            "ARG-P102", f"openai:{model} needs OPENAI_API_KEY (or OPENAI_BASE_URL of a server without keys)"
        )
    return OpenAI(model, url, key)

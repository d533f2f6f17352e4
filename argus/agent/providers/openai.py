"""Servers that speak OpenAI's chat-completions protocol: OpenAI, vLLM, SGLang, llama.cpp, Ollama and many gateways.

Environment: `OPENAI_API_KEY`, `OPENAI_BASE_URL` (default https://api.openai.com/v1). A server of one's own may need no
key; the default address does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from argus.agent.providers.errors import ProviderError, hide
from argus.agent.providers.message import Reply, Request
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
        body = {
            "model": self.model,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "messages": [
                {"role": "system", "content": request.system},
                *({"role": turn.speaker, "content": turn.text} for turn in request.turns),
            ],
        }
        secrets = (self.key, *hidden(self.url))
        answer = self.transport.post(f"{self.url}/chat/completions", headers, body, secrets)
        try:
            choice = answer["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
            used = answer.get("usage") or {}
            counts = int(used.get("prompt_tokens", 0)), int(used.get("completion_tokens", 0))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ProviderError("ARG-P106", f"{self.name}: the answer has no choices[0].message.content") from error
        cut = reason == "length"
        if not isinstance(text, str) and not cut:
            raise ProviderError("ARG-P106", f"{self.name}: the answer holds no text (finish_reason {reason!r})")
        return Reply(hide(text or "", secrets), self.model, *counts, cut)


def from_environment(model: str) -> OpenAI:
    """The model `model` at the address and with the key of the environment."""
    url = os.environ.get("OPENAI_BASE_URL", DEFAULT_URL).rstrip("/")
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and url == DEFAULT_URL:
        raise ProviderError(
            "ARG-P102", f"openai:{model} needs OPENAI_API_KEY (or OPENAI_BASE_URL of a server without keys)"
        )
    return OpenAI(model, url, key)

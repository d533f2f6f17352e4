"""What a run may spend on a model, and what it has spent. The limit stops a call before it is made, never halfway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from argus.agent.providers.errors import ProviderError
from argus.agent.providers.message import Provider, Reply, Request


@dataclass(slots=True)
class Budgeted:
    """`told` is called with every request and its reply, for the journal."""

    inner: Provider
    max_calls: int
    max_tokens: int
    told: Callable[[Request, Reply], None] | None = None
    calls: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        return self.inner.name

    def ask(self, request: Request) -> Reply:
        if self.calls >= self.max_calls:
            raise ProviderError("ARG-P108", f"{self.name}: {self.calls} of {self.max_calls} calls are used")
        if self.tokens >= self.max_tokens:
            raise ProviderError("ARG-P108", f"{self.name}: {self.tokens} of {self.max_tokens} tokens are used")
        self.calls += 1
        reply = self.inner.ask(request)
        self.tokens += reply.tokens_in + reply.tokens_out
        if self.told is not None:
            self.told(request, reply)
        return reply

"""What a run may spend on a model, and what it has spent. The limit stops a call before it is made, never halfway.

Stand it before the journal, not behind: answers a run has had before it was resumed are part of what it spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.agent.providers.errors import ProviderError
from argus.agent.providers.message import Provider, Reply, Request

TOKENS = 2_000_000
COUNTING = ("openai", "anthropic")


@dataclass(slots=True)
class Budgeted:
    """`max_tokens` 0: as many as it takes."""

    inner: Provider
    max_calls: int
    max_tokens: int = 0
    calls: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        return self.inner.name

    def ask(self, request: Request) -> Reply:
        if self.calls >= self.max_calls:
            raise ProviderError("ARG-P108", f"{self.name}: {self.calls} of {self.max_calls} calls are used")
        if self.max_tokens and self.tokens >= self.max_tokens:
            raise ProviderError("ARG-P108", f"{self.name}: {self.tokens} of {self.max_tokens} tokens are used")
        self.calls += 1
        reply = self.inner.ask(request)
        used = reply.tokens_in + reply.tokens_out
        if self.max_tokens and not used:
            raise _uncounted(self.name)
        self.tokens += used
        return reply


def token_limit(provider: str, asked: int | None) -> int:
    """What the run may use: as asked, or a default where the provider says what an answer took."""
    kind = provider.partition(":")[0]
    if asked is None:
        return TOKENS if kind in COUNTING else 0
    if asked and kind == "command":
        raise _uncounted(provider)
    return asked


def _uncounted(name: str) -> ProviderError:
    return ProviderError(
        "ARG-P112", f"{name}: it does not say how many tokens an answer took, so no limit can be kept (--max-tokens 0)"
    )

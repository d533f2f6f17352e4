"""Language models, if any: one small interface, five ways to get an answer.

    choose("builtin")                    None: no model takes part, the built-in policy decides
    choose("openai:gpt-x")               any OpenAI-compatible server (OPENAI_BASE_URL, OPENAI_API_KEY)
    choose("anthropic:claude-x")         Anthropic's protocol (ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY)
    choose("command:claude -p")          a program on this machine
    choose("replay:episode.jsonl")       recorded answers

Keys come from the environment and appear in no message, log or recording. A provider that is missing or fails is
an error that stops the run; another one is never taken in its place.
"""

from __future__ import annotations

from pathlib import Path

from argus.agent.providers import anthropic, openai
from argus.agent.providers.budget import Budgeted, token_limit
from argus.agent.providers.command import Command
from argus.agent.providers.day_ledger import Daily, DayLedger
from argus.agent.providers.errors import CODES, ProviderError
from argus.agent.providers.message import OfferedTool, Provider, Reply, Request, ToolReturn, ToolUse, Turn
from argus.agent.providers.replay import ReplayProvider, ReplyRecorder

__all__ = [
    "CODES",
    "Budgeted",
    "Daily",
    "DayLedger",
    "OfferedTool",
    "Provider",
    "ProviderError",
    "ReplayProvider",
    "Reply",
    "ReplyRecorder",
    "Request",
    "ToolReturn",
    "ToolUse",
    "Turn",
    "choose",
    "token_limit",
]

KINDS = ("builtin", "openai:MODEL", "anthropic:MODEL", "command:LINE", "replay:FILE")


def choose(name: str) -> Provider | None:
    """The provider called `name`; None for `builtin`."""
    kind, _, rest = name.partition(":")
    if name == "builtin":
        return None
    if rest:
        if kind == "openai":
            return openai.from_environment(rest)
        if kind == "anthropic":
            return anthropic.from_environment(rest)
        if kind == "command":
            return Command(rest)
        if kind == "replay":
            return ReplayProvider(Path(rest))
    raise ProviderError("ARG-P101", f"no provider {name!r}; there are {', '.join(KINDS)}")

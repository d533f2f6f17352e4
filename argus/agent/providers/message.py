"""What is asked of a model and what comes back, the same for every provider.

A request is a value: its digest names it in the journal and in recordings, so two equal questions are one question.
Lines that begin with `| ` are what the judge said, and what tools answered is quoted with `> `. The model sees both,
but they do not make another question: a recording stays good when the judge words a counterexample differently or its
clock improves.

    Request("lowering", system="…", turns=(Turn("user", "Make it faster: …"),), tools=(OfferedTool("check", …),))

A model that calls tools answers with `calls`; the next turn of the user holds a `ToolReturn` for each of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["lowering", "planner"]
SAID = re.compile(r"^[|>] .*\n?", re.MULTILINE)
FILE_BEGINS = "The current file, `kernel.py`:"
"""What stands before the kernel in a turn."""
MAX_CALLS = 16
"""Calls of one answer that are looked at."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a model is told of it; `schema` is the JSON Schema of its arguments."""

    name: str
    text: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that a model asks for; `arguments` is None where they are no JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """What a tool answered to the call of that id."""

    id: str
    name: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation; the first and the last are the user's."""

    speaker: Literal["user", "assistant"]
    text: str
    calls: tuple[ToolUse, ...] = ()
    returns: tuple[ToolReturn, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """`role` says which part of the agent asks; `tools` are those that may be called before the answer."""

    role: Role
    system: str
    turns: tuple[Turn, ...]
    max_tokens: int = 8192
    temperature: float = 0.0
    tools: tuple[OfferedTool, ...] = ()

    def digest(self) -> str:
        turns = [
            [
                turn.speaker,
                _asked(turn.text),
                [[use.name, use.arguments] for use in turn.calls],
                [[given.id, given.name] for given in turn.returns],
            ]
            for turn in self.turns
        ]
        names = [tool.name for tool in self.tools]
        data = {**_plain(self), "turns": turns, "tools": names}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _asked(text: str) -> str:
    """A turn without what was found out; a kernel file in it stays whole, whatever its lines begin with."""
    head, mark, file = text.partition(FILE_BEGINS)
    return SAID.sub("", head) + mark + file


def _plain(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in ("role", "system", "max_tokens", "temperature")}


@dataclass(frozen=True, slots=True)
class Reply:
    """Token counts are the provider's own, 0 where it does not say; `cut`: unfinished, it came to the limit."""

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    cut: bool = False
    calls: tuple[ToolUse, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Reply:
        """Raises TypeError for what is no reply."""
        if not isinstance(data, Mapping):
            raise TypeError("a reply is an object")
        calls = tuple(ToolUse(**use) for use in data.get("calls", ()))
        return Reply(**{**data, "calls": calls})


class Provider(Protocol):
    """Anything that answers."""

    @property
    def name(self) -> str: ...

    def ask(self, request: Request) -> Reply:
        """The answer, or a `ProviderError`."""
        ...


def tool_use(id: object, name: object, arguments: object) -> ToolUse:
    """A call as a server gave it, whatever that is: arguments may be an object or its text."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            arguments = None
    given = dict(arguments) if isinstance(arguments, Mapping) else None
    return ToolUse(str(id)[:200], str(name)[:200], given)

"""What is asked of a model and what comes back, the same for every provider.

A request is a value: its digest names it in the journal and in recordings, so two equal questions are one question.
Lines that begin with `| ` are what the judge said. The model sees them, but they do not make another question: a
recording stays good when the judge words a counterexample differently or its clock improves.

    Request("lowering", system="…", turns=(Turn("user", "Make it faster: …"),))
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

Role = Literal["lowering", "planner"]
SAID = re.compile(r"^\| .*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation; the first and the last are the user's."""

    speaker: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """`role` says which part of the agent asks."""

    role: Role
    system: str
    turns: tuple[Turn, ...]
    max_tokens: int = 8192
    temperature: float = 0.0

    def digest(self) -> str:
        data = asdict(self)
        data["turns"] = [[turn.speaker, SAID.sub("", turn.text)] for turn in self.turns]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """Token counts are the provider's own, 0 where it does not say; `cut`: unfinished, it came to the limit."""

    text: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    cut: bool = False


class Provider(Protocol):
    """Anything that answers."""

    @property
    def name(self) -> str: ...

    def ask(self, request: Request) -> Reply:
        """The answer, or a `ProviderError`."""
        ...

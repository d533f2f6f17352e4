"""What a search knows: its settings, its candidates with their lineage, and who plays which part.

state.ranked()      the candidates that passed, fastest first
state.best          the first of them, or the naive kernel
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from argus.agent.judge import Judgement
from argus.agent.planner import Proposal
from argus.agent.policy import PolicyTable
from argus.agent.reward import Reward, microseconds
from argus.agent.selector import Realised
from argus.tasks.task import Task

EDIT = "edit"
FIRST = "the naive kernel"
BY_MODEL = " by model"
"""How a step ends that a model made."""

Planner = Literal["bandit", "random", "model"]
LoweringMode = Literal["builtin", "model", "both"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run searches. `patience`: steps without a gain after which it ends; `data`: seed of the judge's data;
    `chains`: recombined chains that the clock may score in the whole run;
    `provider`: the model, with at most `max_tokens` (0: no limit); it makes all candidates, unless `planner` or
    `lowering` give it a part beside the built-in ones."""

    seed: int = 0
    data: int = 0
    budget: int = 40
    batch: int = 2
    repairs: int = 2
    patience: int = 8
    planner: Planner = "bandit"
    feedback: bool = True
    knowledge: bool = True
    provider: str = "builtin"
    max_tokens: int = 0
    lowering: LoweringMode = "builtin"
    chains: int = 12

    @property
    def mixed(self) -> bool:
        """Whether a model plays some of the parts."""
        return self.provider != "builtin" and (self.planner == "model" or self.lowering != "builtin")

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """A source, where it comes from, and what the judge said."""

    number: int
    step: int
    parent: int | None
    source: str
    technique: str
    params: Mapping[str, Any]
    why: str
    done: tuple[str, ...]
    judgement: Judgement
    reward: Reward = field(default_factory=Reward)

    @property
    def microseconds(self) -> float:
        return microseconds(self.judgement)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A candidate before it is judged."""

    parent: SearchCandidate
    realised: Realised
    technique: str
    params: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A kernel handed in by a person when the run had `after` candidates."""

    after: int
    source: str
    why: str


@dataclass(slots=True)
class State:
    """What a run knows: all candidates, what was tried on which parent, which recombined chains were looked at, how
    many of them the clock has scored, the time of the best kernel when looks were in vain (`looked`), in which order an
    entry's parameter sets go on a parent (`orders`), the policy and what of it is this run's own (`learnt`), and, once
    it is over, why it ended."""

    task: Task
    settings: Settings
    policy: PolicyTable
    candidates: list[SearchCandidate] = field(default_factory=list)
    tried: dict[int, set[str]] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    step: int = 0
    idle: int = 0
    learnt: PolicyTable = field(default_factory=PolicyTable)
    ended: str = ""
    chains: set[str] = field(default_factory=set)
    scored: int = 0
    looked: float = math.inf
    orders: dict[tuple[int, str], Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def naive(self) -> SearchCandidate:
        return self.candidates[0]

    def ranked(self) -> list[SearchCandidate]:
        """Those that passed, fastest first."""
        passed = [c for c in self.candidates if math.isfinite(c.microseconds)]
        return sorted(passed, key=lambda c: (c.microseconds, c.number))

    @property
    def best(self) -> SearchCandidate:
        ranked = self.ranked()
        return ranked[0] if ranked else self.naive

    @property
    def spent(self) -> int:
        return len(self.candidates)


class PlannerRole(Protocol):
    """Who ranks what to try, in place of the built-in planner."""

    def proposals(self, state: State, parent: SearchCandidate) -> list[Proposal]: ...

    def missed(self, proposal: Proposal, why: str) -> None: ...


class EditorRole(Protocol):
    """Who lowers what has no transformation, and repairs what no built-in repair answers."""

    def lowered(self, state: State, parent: SearchCandidate, proposal: Proposal) -> Realised | None: ...

    def repaired(self, state: State, candidate: SearchCandidate) -> Realised | None: ...


@dataclass(frozen=True, slots=True)
class Roles:
    """Parts that are not played by the built-in ones."""

    planner: PlannerRole | None = None
    editor: EditorRole | None = None


BUILT_IN = Roles()
Listener = Callable[[State, SearchCandidate], None]
Trying = Callable[[str, Mapping[str, Any], str], None]

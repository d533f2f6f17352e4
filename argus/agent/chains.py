"""Chains of techniques: a candidate's lineage as steps, and the naive kernel after other steps than those.

    chain_of(candidate)             (("register-blocking", {…}), ("lds-staging", {…}), …)
    replayed(task, plan)            the naive kernel after all steps of a plan
    placed(task, parent, proposal)  the parent's chain with a technique where it belongs instead of at the end

Steps that have no place any more are left out of a chain; if the changed one has none, there is no chain. Edits and
repairs are no steps of a chain; where it needs more LDS than there is, it is made again with half the k per turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from argus.agent.lower import NotApplicableError, lower
from argus.agent.planner import Proposal, attempt
from argus.agent.search_state import SearchCandidate
from argus.agent.selector import Realised, refuse_unreadable
from argus.knowledge import KnowledgeEntry, load
from argus.tasks.task import Task

ChainStep = tuple[str, Mapping[str, Any]]
REMEMBERED = 2048
"""Steps of chains: those of a run differ in few of theirs."""


@dataclass(frozen=True, slots=True)
class LineagePlan:
    """`changed`: the step that makes it another chain than those of the candidates `of`; `instead`: of which parameters
    it has others, where the step was there."""

    steps: tuple[ChainStep, ...]
    changed: int
    why: str
    of: tuple[int, ...]
    instead: Mapping[str, Any] | None = None


def chain_of(candidate: SearchCandidate) -> tuple[ChainStep, ...]:
    """The techniques of a candidate's lineage that have a transformation."""
    known = load()
    found: list[ChainStep] = []
    for step in candidate.done:
        name, _, params = step.partition(" ")
        if name in known and known[name].lowered and params.startswith("{") and params.endswith("}"):
            found.append((name, json.loads(params)))
    return tuple(found)


def chain_text(steps: Sequence[ChainStep]) -> str:
    return " ".join(attempt(name, params) for name, params in steps)


def behind(entry: KnowledgeEntry, names: Sequence[str]) -> int | None:
    """The place right behind the last of its requirements that the chain has; None where it has none of them."""
    places = [names.index(name) + 1 for name in entry.requires if name in names]
    if entry.requires and not places:
        return None
    return max(places, default=0)


def replayed(task: Task, plan: LineagePlan) -> Realised:
    """The naive kernel after the chain; raises NotApplicableError where the changed step has no place."""
    source, done = task.source, []
    for at, (name, params) in enumerate(plan.steps):
        after = _lowered(source, name, json.dumps(dict(params)))
        if isinstance(after, NotApplicableError):
            if at == plan.changed:
                raise after
            continue
        source = after
        done.append(attempt(name, params))
    if refuse_unreadable(source, task.beside) is None:
        return replayed(task, _shorter(plan))
    return Realised(source, tuple(done), plan.why, whole=True)


def from_naive(task: Task, steps: Sequence[ChainStep], why: str) -> Realised:
    """The naive kernel after all steps that have a place; raises NotApplicableError where none has."""
    made = replayed(task, LineagePlan(tuple(steps), -1, why, ()))
    if not made.steps:
        raise NotApplicableError("no step of the chain has a place")
    return made


def placed(task: Task, parent: SearchCandidate, proposal: Proposal) -> Realised:
    """The parent's chain with the technique right behind what it requires, and all later steps made for it. Raises
    NotApplicableError where there is no such chain, or where the parent is more than its chain: a repair, an edit."""
    chain, entry = chain_of(parent), proposal.entry
    at = behind(entry, [name for name, _ in chain])
    if at is None or len(chain) != len(parent.done):
        raise NotApplicableError(f"the chain has no place for {entry.id}")
    steps = (*chain[:at], (entry.id, proposal.params), *chain[at:])
    return replayed(task, LineagePlan(steps, at, proposal.why, (parent.number,)))


@lru_cache(maxsize=REMEMBERED)
def _lowered(source: str, name: str, params: str) -> str | NotApplicableError:
    """One step; chains that begin alike take theirs once."""
    try:
        return lower(source, name, json.loads(params))
    except NotApplicableError as error:
        return error


def _shorter(plan: LineagePlan) -> LineagePlan:
    """The chain with half the k per turn from its blocks on: everything after them is made for the shorter step."""
    for at in reversed(range(len(plan.steps))):
        name, params = plan.steps[at]
        if int(params.get("tiles_k", 1)) > 1:
            half = (name, {**params, "tiles_k": int(params["tiles_k"]) // 2})
            return replace(plan, steps=(*plan.steps[:at], half, *plan.steps[at + 1 :]))
    raise NotApplicableError("the chain needs more LDS than there is")

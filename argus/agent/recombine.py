"""Search beyond single steps: whole chains of techniques, made from those of the population and lowered anew.

    plans(state, dice)      [LineagePlan(steps, why, of), …]
    replayed(task, steps)   the naive kernel after all of them

A candidate's lineage is the chain of techniques with parameters that led to it. When single steps stop gaining, chains
are recombined:

    crossover    the chain of one candidate with what another has beyond it
    variation    one step with other parameters, and everything after it again
    insertion    a technique that came too late or never, right after what it requires

The first kernel of such a chain is often no better than its parent, so steps cannot find it one by one: other blocks
or another matrix instruction below a finished pipeline. A chain costs no evaluation until it is judged; the clock
scores it before (`argus.agent.fidelity`). Steps that have no place any more are left out of a chain; if the changed one
has none, there is no chain. Edits and repairs are no steps of a chain;
where it needs more LDS than there is, it is made again with half the k per turn.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from argus.agent.bottleneck import bottleneck
from argus.agent.lower import NotApplicableError, lower
from argus.agent.planner import attempt, weight
from argus.agent.search_state import SearchCandidate, State
from argus.agent.selector import Realised, refuse_unreadable
from argus.device.guards import LaunchRefused, launch_grid
from argus.gfx942.chip import CUS_PER_XCD, XCDS
from argus.knowledge import KnowledgeEntry, load, matching
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.tasks.task import Task

POPULATION = 4
NEAR_BEST = 1.02
LOWERED = 48
FULL = 0.8
NAME = "recombination"
ChainStep = tuple[str, Mapping[str, Any]]
Clock = Callable[[str, float], float]
"""Microseconds of a source; infinite for what is not worth a judgement. What takes longer than the second argument need
not be proved."""


@dataclass(frozen=True, slots=True)
class LineagePlan:
    """`changed`: the step that makes it another chain than those of the candidates `of`."""

    steps: tuple[ChainStep, ...]
    changed: int
    why: str
    of: tuple[int, ...]


def chain_of(candidate: SearchCandidate) -> tuple[ChainStep, ...]:
    """The techniques of a candidate's lineage that have a transformation."""
    known = load()
    found: list[ChainStep] = []
    for step in candidate.done:
        name, _, params = step.partition(" ")
        if name in known and known[name].lowered and params.startswith("{") and params.endswith("}"):
            found.append((name, json.loads(params)))
    return tuple(found)


def population(state: State) -> list[SearchCandidate]:
    """The fastest candidates whose chains differ in their techniques."""
    found: dict[frozenset[str], SearchCandidate] = {}
    for candidate in state.ranked():
        found.setdefault(frozenset(name for name, _ in chain_of(candidate)), candidate)
    return [candidate for names, candidate in found.items() if names][:POPULATION]


def plans(state: State, dice: random.Random) -> list[LineagePlan]:
    """Chains nobody has tried, crossovers, variations and insertions by turns; each kind in the order of what policy
    and knowledge base expect of the changed step, drawn as `argus.agent.planner` does."""
    members = population(state)
    if not members:
        return []
    kinds = [list(_crossed(members)), list(_varied(members[:2])), list(_inserted(members[:2], state.task.family))]
    drawn: dict[str, float] = {}
    words = {member.number: bottleneck(member.judgement) for member in members}

    def expected(plan: LineagePlan) -> float:
        name, params = plan.steps[plan.changed]
        entry = load()[name]
        if name not in drawn:
            key = (state.task.family, words[plan.of[0]], name)
            drawn[name] = state.policy.draw(key, entry.gain, dice)
        place = [dict(choice) for choice in entry.choices].index(dict(params)) if params in entry.choices else 0
        return drawn[name] * weight(entry, words[plan.of[0]], place)

    for kind in kinds:
        dice.shuffle(kind)
        kind.sort(key=expected, reverse=True)
    found = [kind[n] for n in range(max(map(len, kinds))) for kind in kinds if n < len(kind)]
    return list({chain_text(plan.steps): plan for plan in found}.values())


def promising(state: State, dice: random.Random, clock: Clock, most: int) -> list[Realised]:
    """New kernels of recombined chains that the clock puts near the best so far or before it, fastest first.

    Chains whose workgroups fill the chip better come first; at most `most` are scored, each source once in a run."""
    found: list[tuple[float, Realised]] = []
    limit = NEAR_BEST * state.best.microseconds
    waiting = sorted(_lowered(state, dice), key=lambda made: -_filled(made.source, state.task))
    for made in waiting[:most]:
        state.chains.add(made.source)
        state.scored += 1
        took = clock(made.source, limit)
        if took <= limit:
            found.append((took, made))
    return [made for _, made in sorted(found, key=lambda item: item[0])]


def _filled(source: str, task: Task) -> float:
    """How well the chip is filled, coarsely: from `FULL` on smaller blocks are not worth more."""
    return min(FULL, round(filled_share(source, task), 1))


def _lowered(state: State, dice: random.Random) -> list[Realised]:
    """The first new kernels of recombined chains."""
    found: dict[str, Realised] = {}
    for plan in plans(state, dice):
        if len(found) >= LOWERED:
            break
        try:
            made = replayed(state.task, plan)
        except NotApplicableError:
            continue
        if made.source not in state.sources and made.source not in state.chains:
            found.setdefault(made.source, made)
    return list(found.values())


def filled_share(source: str, task: Task) -> float:
    """How much of the compute units the workgroups keep busy over their rounds, at the first shape: 64 of 304 are a
    fifth, 1024 in four rounds are 84 %."""
    try:
        kernel = read(source, beside=dict(task.beside), target=task.kernel.target)
        groups = math.prod(launch_grid(kernel, task.shapes[0]))
    except (ProgramError, LaunchRefused):
        return 0.0
    units = XCDS * CUS_PER_XCD
    return groups / (units * math.ceil(groups / units)) if groups else 0.0


def chain_text(steps: Sequence[ChainStep]) -> str:
    return " ".join(attempt(name, params) for name, params in steps)


def _crossed(members: Sequence[SearchCandidate]) -> Iterator[LineagePlan]:
    for one in members:
        for other in members:
            mine, theirs = chain_of(one), chain_of(other)
            names = {name for name, _ in mine}
            more = tuple(step for step in theirs if step[0] not in names)
            if one is not other and more:
                why = f"crossover of {one.number} and {other.number}: {', '.join(name for name, _ in more)}"
                yield LineagePlan((*mine, *more), len(mine), why, (one.number, other.number))


def _varied(members: Sequence[SearchCandidate]) -> Iterator[LineagePlan]:
    known = load()
    for member in members:
        steps = chain_of(member)
        for at, (name, params) in enumerate(steps):
            for choice in known[name].choices:
                if dict(choice) != dict(params):
                    why = f"variation of {member.number}: {attempt(name, choice)}"
                    yield LineagePlan((*steps[:at], (name, dict(choice)), *steps[at + 1 :]), at, why, (member.number,))


def _inserted(members: Sequence[SearchCandidate], family: str) -> Iterator[LineagePlan]:
    for member in members:
        steps = chain_of(member)
        names = [name for name, _ in steps]
        for entry in matching(family=family):
            if not entry.lowered or entry.id in names or not set(entry.conflicts).isdisjoint(names):
                continue
            at = _behind(entry, names)
            if at is None:
                continue
            for choice in entry.choices:
                why = f"insertion into {member.number}: {attempt(entry.id, choice)}"
                yield LineagePlan((*steps[:at], (entry.id, dict(choice)), *steps[at:]), at, why, (member.number,))


def _behind(entry: KnowledgeEntry, names: Sequence[str]) -> int | None:
    """The place right behind the last of its requirements that the chain has; None where it has none of them."""
    places = [names.index(name) + 1 for name in entry.requires if name in names]
    if entry.requires and not places:
        return None
    return max(places, default=0)


def replayed(task: Task, plan: LineagePlan) -> Realised:
    """The naive kernel after the chain; raises NotApplicableError where the changed step has no place."""
    source, done = task.source, []
    for at, (name, params) in enumerate(plan.steps):
        try:
            source = lower(source, name, params)
        except NotApplicableError:
            if at == plan.changed:
                raise
            continue
        done.append(attempt(name, params))
    if refuse_unreadable(source, task.beside) is None:
        return replayed(task, _shorter(plan))
    return Realised(source, tuple(done), plan.why)


def _shorter(plan: LineagePlan) -> LineagePlan:
    """The chain with half the k per turn from its blocks on: everything after them is made for the shorter step."""
    for at in reversed(range(len(plan.steps))):
        name, params = plan.steps[at]
        if int(params.get("tiles_k", 1)) > 1:
            half = (name, {**params, "tiles_k": int(params["tiles_k"]) // 2})
            return replace(plan, steps=(*plan.steps[:at], half, *plan.steps[at + 1 :]))
    raise NotApplicableError("the chain needs more LDS than there is")

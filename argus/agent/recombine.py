"""Search beyond single steps: whole chains of techniques, made from those of the population and lowered anew.

    plans(state, dice)                        [LineagePlan(steps, why, of), …]
    promising(state, dice, clock, looks)      the kernels of those that the clock likes

A candidate's lineage is the chain of techniques with parameters that led to it (`argus.agent.chains`). When single
steps stop gaining, chains are recombined:

    crossover    the chain of one candidate with what another has beyond it
    variation    one step with other parameters, and everything after it again
    insertion    a technique that came too late or never, right after what it requires

The first kernel of such a chain is often no better than its parent, so steps cannot find it one by one: other blocks
or another matrix instruction below a finished pipeline. A chain costs no evaluation until it is judged; the clock
scores it before (`argus.agent.fidelity`). No technique is looked at a second time, with other parameters, before all
others had their turn, and of a step's other parameters those that differ in fewest come first. A chain that the clock
puts before the best so far is gone on from at once, by further chains, so that several changes are scored before one
is judged.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from argus.agent.bottleneck import bottleneck
from argus.agent.chains import ChainStep, LineagePlan, behind, chain_of, chain_text, replayed
from argus.agent.chip_fill import FULL, coarsely, filled_share
from argus.agent.lower import NotApplicableError
from argus.agent.planner import attempt, weight
from argus.agent.search_state import SearchCandidate, State
from argus.agent.selector import Realised
from argus.knowledge import load, matching

POPULATION = 4
NEAR_BEST = 1.02
BETTER = 0.995
LOWERED = 48
AT_ONCE = 3
"""Looks before what they found is gone on from."""
NAME = "recombination"
Clock = Callable[[str, float], float]
"""Microseconds of a source; infinite for what is not worth a judgement. What takes longer than the second argument need
not be proved."""


def population(state: State) -> list[SearchCandidate]:
    """The fastest candidates whose chains differ in their techniques."""
    found: dict[frozenset[str], SearchCandidate] = {}
    for candidate in state.ranked():
        found.setdefault(frozenset(name for name, _ in chain_of(candidate)), candidate)
    return [candidate for names, candidate in found.items() if names][:POPULATION]


def plans(state: State, dice: random.Random, ahead: Sequence[SearchCandidate] = ()) -> list[LineagePlan]:
    """Chains nobody has tried, crossovers, variations and insertions by turns; each kind in the order of what policy
    and knowledge base expect of the changed step, drawn as `argus.agent.planner` does, every technique once before any
    comes again. `ahead`: what the clock has found since, the best first; chains of those come before the others."""
    members = [*ahead, *population(state)]
    if not members:
        return []
    family = state.task.family
    kinds = [list(_crossed(members)), list(_varied(members[:2])), list(_inserted(members[:2], family))]
    drawn: dict[str, float] = {}
    words = {member.number: bottleneck(member.judgement) for member in members}

    def expected(plan: LineagePlan) -> float:
        name, params = plan.steps[plan.changed]
        entry = load()[name]
        if name not in drawn:
            drawn[name] = state.policy.draw((family, words[plan.of[0]], name), entry.gain, dice)
        place = [dict(choice) for choice in entry.choices].index(dict(params)) if params in entry.choices else 0
        if plan.instead is not None:
            place = _differences(plan.instead, params) - 1
        return drawn[name] * weight(entry, words[plan.of[0]], place)

    for kind in kinds:
        dice.shuffle(kind)
        kind.sort(key=expected, reverse=True)
    turns = [kind[n] for n in range(max(map(len, kinds))) for kind in kinds if n < len(kind)]
    found = {chain_text(plan.steps): plan for plan in _by_turns(turns)}
    first = {member.number for member in ahead[:1]}
    return sorted(found.values(), key=lambda plan: bool(first) and plan.of[0] not in first)


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """How many parameters are not the same; one that only one of them states is not."""
    return sum(one.get(name) != other.get(name) for name in {*one, *other})


def _by_turns(given: Iterable[LineagePlan]) -> list[LineagePlan]:
    """Every technique once, in the order given, then every one a second time, and so on."""
    seen: Counter[str] = Counter()
    found = []
    for plan in given:
        name = plan.steps[plan.changed][0]
        found.append((seen[name], plan))
        seen[name] += 1
    return [plan for _, plan in sorted(found, key=lambda item: item[0])]


def promising(state: State, dice: random.Random, clock: Clock, most: int) -> list[Realised]:
    """New kernels of recombined chains that the clock puts near the best so far or before it, fastest first.

    Chains whose workgroups fill the chip better come first; at most `most` are scored, each source once in a run."""
    found: list[tuple[float, Realised]] = []
    ahead: list[SearchCandidate] = []
    best = state.best.microseconds
    limit = NEAR_BEST * best
    end = state.scored + most
    while state.scored < end:
        room = min(AT_ONCE, end - state.scored)
        waiting = _lowered(state, dice, ahead, room)[:room]
        if not waiting:
            break
        for plan, made in waiting:
            state.chains.add(made.source)
            state.scored += 1
            took = clock(made.source, limit)
            if took <= limit:
                found.append((took, made))
            if took < BETTER * best:
                best = took
                ahead.insert(0, _stood_for(state, plan, made, -state.scored))
    return [made for _, made in sorted(found, key=lambda item: item[0])]


def _stood_for(state: State, plan: LineagePlan, made: Realised, number: int) -> SearchCandidate:
    """A chain as a member of the population before it is judged: what its parent's bottleneck was is all that is
    known."""
    parent = next((c for c in state.candidates if c.number == plan.of[0]), state.best)
    return replace(parent, number=number, source=made.source, technique=NAME, done=made.steps)


def _lowered(
    state: State, dice: random.Random, ahead: Sequence[SearchCandidate], room: int
) -> list[tuple[LineagePlan, Realised]]:
    """New kernels of recombined chains: the first `room` that fill the chip, or as well as the first `LOWERED` do."""
    found: dict[str, tuple[float, LineagePlan, Realised]] = {}
    full = 0
    for plan in plans(state, dice, ahead):
        if len(found) >= LOWERED or full >= room:
            break
        try:
            made = replayed(state.task, plan)
        except NotApplicableError:
            continue
        if made.source not in state.sources and made.source not in state.chains and made.source not in found:
            share = coarsely(filled_share(made.source, state.task), FULL)
            full += share >= FULL
            found[made.source] = share, plan, made
    return [(plan, made) for _, plan, made in sorted(found.values(), key=lambda item: -item[0])]


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
                    varied = (*steps[:at], (name, dict(choice)), *steps[at + 1 :])
                    yield LineagePlan(varied, at, why, (member.number,), params)


def _inserted(members: Sequence[SearchCandidate], family: str) -> Iterator[LineagePlan]:
    for member in members:
        steps = chain_of(member)
        names = [name for name, _ in steps]
        for entry in matching(family=family):
            if not entry.lowered or entry.id in names or not set(entry.conflicts).isdisjoint(names):
                continue
            at = behind(entry, names)
            if at is None:
                continue
            for choice in entry.choices:
                step: ChainStep = (entry.id, dict(choice))
                why = f"insertion into {member.number}: {attempt(entry.id, choice)}"
                yield LineagePlan((*steps[:at], step, *steps[at:]), at, why, (member.number,))

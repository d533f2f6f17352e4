"""The loop: plan, select, lower, judge, repair, learn – until the budget is spent or nothing is left to try.

    result = optimise(task, Settings(seed=0, budget=40), judges, policy=policy, listen=view.listen)

Everything a step decides follows from (seed, step) and from earlier judgements, so a resumed run takes the
same way again. A step takes one parent, draws a ranking of proposals, lowers the first few that have a place in the
source and lead to something new, and judges them as one batch. What fails and can be repaired is repaired and judged
again, at most `repairs` times in a row. Every judgement counts as one evaluation. The learner sees each outcome once.

A run that starts from a policy begins with the ways to the best kernels of earlier runs of its family, on its own
naive kernel. Where single steps stop gaining, whole chains of techniques are recombined and scored by the clock before
they are judged (`argus.agent.recombine`). A person's edits go first: each is judged at the first step after it was
handed in, as a child of the best kernel, and the search goes on from there (`argus.agent.free_edit.person`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from argus.agent.bottleneck import bottleneck
from argus.agent.chains import chain_of, from_naive, placed
from argus.agent.chip_fill import HALF, filled_share, fullest_first
from argus.agent.judge import Judgement
from argus.agent.judging import Judges
from argus.agent.lower import NotApplicableError
from argus.agent.planner import Proposal, propose, random_order
from argus.agent.policy import PolicyTable
from argus.agent.providers.errors import ProviderError
from argus.agent.recombine import NAME as RECOMBINED
from argus.agent.recombine import Clock, promising
from argus.agent.remembered_chain import RememberedChain, kept
from argus.agent.repair import repairs
from argus.agent.reward import microseconds, reward
from argus.agent.search_state import (
    BUILT_IN,
    EDIT,
    FIRST,
    Edit,
    Listener,
    Proposed,
    Roles,
    SearchCandidate,
    Settings,
    State,
    Trying,
)
from argus.agent.selector import Realised, realise, refuse_unserved
from argus.knowledge import KnowledgeEntry, load, matching
from argus.tasks.task import Task

BETTER = 0.995
SECOND_PARENT = 0.4
NEAR = 1.5
STUCK = 3  # steps without a gain after which chains are recombined
CHAINS_AT_ONCE = 6
RECALLED = "recalled"
FIRST_GAIN = 1.0  # log2, for a candidate that passes where its parent has no time


def optimise(
    task: Task,
    settings: Settings,
    judges: Judges,
    *,
    policy: PolicyTable | None = None,
    listen: Listener | None = None,
    trying: Trying | None = None,
    edits: Sequence[Edit] = (),
    roles: Roles = BUILT_IN,
    clock: Clock | None = None,
) -> State:
    """Run the loop; the state holds every candidate, the best among them, and the policy as it came out.

    `listen` hears of every candidate once it is judged, `trying` before: of its technique, parameters and reason.
    """
    state = State(task, settings, policy or PolicyTable())
    if trying is not None:
        trying("naive", {}, FIRST)
    (judgement,) = _ask(judges, state, [task.source])
    _keep(state, SearchCandidate(0, 0, None, task.source, "naive", {}, FIRST, (), judgement), listen)
    try:
        while not _over(state, edits):
            state.step += 1
            before = state.best.microseconds
            batch = _edited(state, edits) or _recalled(state, roles)
            batch = batch or (_recombined(state, roles, clock) if state.idle >= STUCK else [])
            batch = batch or _batch(state, roles) or _recombined(state, roles, clock)
            if not batch and roles.planner is None:
                state.ended = "nothing is left to try"
                break
            _judge(state, judges, batch, listen, trying, roles)
            state.idle = 0 if state.best.microseconds < BETTER * before else state.idle + 1
    except ProviderError as error:
        if error.code != "ARG-P108":
            raise
        state.ended = str(error)
    _remember(state)
    return state


def _over(state: State, edits: Sequence[Edit]) -> bool:
    """Whether the run ends here; the state then says why."""
    settings = state.settings
    if state.spent >= settings.budget:
        left = any(edit.source not in state.sources for edit in edits)
        state.ended = f"the budget of {settings.budget} evaluations is spent{', an edit is left' if left else ''}"
    elif state.idle >= settings.patience and not _edited(state, edits):
        state.ended = f"{settings.patience} steps without a gain"
    return bool(state.ended)


def _ask(judges: Judges, state: State, sources: list[str]) -> Iterable[Judgement]:
    return judges.judge(sources, state.task, seed=state.settings.data)


def _edited(state: State, edits: Sequence[Edit]) -> list[Proposed]:
    """Edits whose time has come, each once."""
    room = state.settings.budget - state.spent
    new = [edit for edit in edits if edit.after <= state.spent and edit.source not in state.sources]
    return [Proposed(state.best, Realised(edit.source, (EDIT,)), EDIT, {}, edit.why) for edit in new[:room]]


def _recalled(state: State, roles: Roles) -> list[Proposed]:
    """At first, the ways to the best kernels of earlier runs of the family, on this task's naive kernel."""
    settings = state.settings
    built_in = settings.planner == "bandit" and settings.knowledge and settings.lowering != "model"
    if state.step > 1 or roles.planner is not None or not built_in:
        return []
    found: list[Proposed] = []
    for chain in state.policy.chains_of(state.task.family):
        try:
            made = from_naive(state.task, chain.steps, f"the way to the best kernel of {chain.task}")
            refuse_unserved(made.source, state.task)
        except NotApplicableError:
            continue
        if made.source not in {state.task.source, *(p.realised.source for p in found)}:
            found.append(Proposed(state.naive, made, RECALLED, {}, made.why))
    return found[: min(settings.batch, settings.budget - state.spent)]


def _remember(state: State) -> None:
    """The way to the best kernel, if there is one that transformations alone have made."""
    best, naive = state.best, state.naive
    steps = chain_of(best)
    if steps and best.microseconds < naive.microseconds < math.inf:
        gain = math.log2(naive.microseconds / best.microseconds)
        mine = RememberedChain(state.task.family, state.task.name, gain, steps)
        for table in (state.policy, state.learnt):
            table.chains = kept([*table.chains, mine])


def _keep(state: State, candidate: SearchCandidate, listen: Listener | None) -> None:
    state.candidates.append(candidate)
    state.sources.add(candidate.source)
    if listen is not None:
        listen(state, candidate)


def _batch(state: State, roles: Roles) -> list[Proposed]:
    """The next candidates: as many as the batch holds and the budget allows."""
    settings = state.settings
    room = min(settings.batch, settings.budget - state.spent)
    found: list[Proposed] = []
    new = set(state.sources)
    parents = _parents(state)
    for parent in parents if roles.planner is None else parents[:1]:
        for proposal in _proposals(state, parent, roles):
            if len(found) >= room:
                return found
            if parent not in parents[:2] and parent.microseconds > state.best.microseconds * 2**proposal.score:
                continue
            tried = state.tried.setdefault(parent.number, set())
            tried.add(proposal.name)
            realised, of = _realised(state, parent, proposal, roles), parent
            if realised is None and parent is parents[0] and roles.planner is None:
                realised, of = _elsewhere(state, parents, proposal, roles)
            if realised is not None and realised.source not in new:
                new.add(realised.source)
                why = realised.why or proposal.why
                found.append(Proposed(of, realised, proposal.entry.id, proposal.params, why))
    return found


def _elsewhere(
    state: State, parents: Sequence[SearchCandidate], proposal: Proposal, roles: Roles
) -> tuple[Realised | None, SearchCandidate]:
    """A global technique that has no place in the first parent, in the fastest candidate where it has one, unless that
    is slower than the first by more than is expected of the technique.

    Two structures may exclude each other (rows of results one by one, or with what they share); the one that was taken
    first is not always the better."""
    first = parents[0]
    known = {step.split(" ", 1)[0] for step in first.done}
    if proposal.entry.kind == "global" and proposal.entry.id not in known:
        for other in sorted(parents[1:], key=lambda c: (c.microseconds, c.number)):
            tried = state.tried.setdefault(other.number, set())
            if other.microseconds > first.microseconds * 2**proposal.entry.gain:
                break
            if proposal.name not in tried:
                tried.add(proposal.name)
                realised = _realised(state, other, proposal, roles)
                if realised is not None and realised.source not in state.sources:
                    return realised, other
    return None, first


def _realised(state: State, parent: SearchCandidate, proposal: Proposal, roles: Roles) -> Realised | None:
    """The parent after a proposal: by its transformation, else by whoever edits; None where it has no place."""
    settings, entry, why = state.settings, proposal.entry, "no transformation does it"
    done = [step.split(" ", 1)[0] for step in parent.done]
    if entry.lowered and settings.lowering != "model":
        try:
            made = realise(parent.source, proposal, done, load() if settings.knowledge else {})
            if refuse_unserved(made.source, state.task):
                return made
            return _with_room(state, parent, proposal) or made
        except NotApplicableError as error:
            why = str(error)
    if roles.editor is not None and (roles.planner is not None or _worth_an_edit(entry, done, parent)):
        return roles.editor.lowered(state, parent, proposal)
    if roles.planner is not None:
        roles.planner.missed(proposal, why)
    return None


def _with_room(state: State, parent: SearchCandidate, proposal: Proposal) -> Realised | None:
    """What needs more LDS than there is at the end of a chain may fit where it belongs in it, in shorter steps."""
    try:
        made = placed(state.task, parent, proposal)
        return made if refuse_unserved(made.source, state.task) else None
    except NotApplicableError:
        return None


def _worth_an_edit(entry: KnowledgeEntry, done: Sequence[str], parent: SearchCandidate) -> bool:
    """Whether the built-in planner has a model asked: new to the kernel, prepared, and a remedy for its bottleneck."""
    named = bottleneck(parent.judgement) in entry.bottlenecks
    return named and entry.id not in done and set(entry.requires) <= set(done)


def _recombined(state: State, roles: Roles, clock: Clock | None) -> list[Proposed]:
    """Chains of several techniques at once that the clock likes: for where single steps have stopped gaining."""
    settings = state.settings
    left = settings.chains - state.scored
    if state.best.microseconds >= BETTER * state.looked:
        return []
    if clock is None or roles.planner is not None or settings.planner != "bandit" or not settings.knowledge:
        return []
    made: list[Realised] = []
    if left > 0 and state.ranked():
        made = promising(state, _dice(state, f"chains {state.scored}"), clock, min(left, CHAINS_AT_ONCE))
        state.looked = math.inf if made else state.best.microseconds
    room = min(settings.batch, settings.budget - state.spent)
    return [Proposed(state.naive, each, RECOMBINED, {}, each.why) for each in made[:room]]


def _dice(state: State, what: str) -> random.Random:
    return random.Random(f"{state.settings.seed} {state.step} {what}")


def _parents(state: State) -> list[SearchCandidate]:
    """The best first, then the furthest on: the fastest of those with the most global techniques; often it goes first.
    All others follow, fastest first, for when nothing is left to try on those before: what is expected of a technique
    has to make up for what such a parent is slower.

    A new structure (a pipeline in blocks that do not suit it yet) is often slower than the best kernel without it. Of
    kernels that are as fast the earliest counts as the best: what a technique costs without a gain (LDS, registers) is
    missing later.
    """
    ranked = state.ranked()
    if not ranked:
        return [state.naive]
    first = min((c for c in ranked if BETTER * c.microseconds <= ranked[0].microseconds), key=lambda c: c.number)
    ranked = [first, *(c for c in ranked if c is not first)]
    near = [c for c in ranked if c.microseconds <= NEAR * ranked[0].microseconds]
    furthest = min(near[1:], key=lambda c: (-_structure(c), c.microseconds, c.number), default=None)
    if furthest is None:
        return ranked
    order = [ranked[0], furthest, *(c for c in ranked[1:] if c is not furthest)]
    if _dice(state, "parent").random() < SECOND_PARENT:
        order[0], order[1] = order[1], order[0]
    return order


def _structure(candidate: SearchCandidate) -> int:
    """How many global techniques are in a candidate."""
    known = load()
    done = {step.split(" ", 1)[0] for step in candidate.done}
    return sum(name in known and known[name].kind == "global" for name in done)


def _proposals(state: State, parent: SearchCandidate, roles: Roles) -> list[Proposal]:
    if roles.planner is not None:
        return roles.planner.proposals(state, parent)
    tried = state.tried.get(parent.number, set())
    dice = _dice(state, f"plan {parent.number}")
    family = state.task.family
    entries = matching(family=family)
    if state.settings.planner == "random" or not state.settings.knowledge:
        return random_order(entries, tried, dice)
    edited = roles.editor is not None
    choices = partial(_choices, state, parent)
    return propose(entries, state.policy, family, bottleneck(parent.judgement), tried, dice, edited, choices)


def _choices(state: State, parent: SearchCandidate, entry: KnowledgeEntry) -> Sequence[Mapping[str, Any]]:
    """An entry's parameter sets, those that fill the chip first where that is in question: on the naive kernel, whose
    blocks are yet to be chosen, and on one that leaves half of the chip idle."""
    key = (parent.number, entry.id)
    if key not in state.orders:
        open_ = parent is state.naive or filled_share(parent.source, state.task) < HALF
        state.orders[key] = fullest_first(parent.source, state.task, entry) if open_ else entry.choices
    return state.orders[key]


def _judge(
    state: State,
    judges: Judges,
    batch: list[Proposed],
    listen: Listener | None,
    trying: Trying | None,
    roles: Roles = BUILT_IN,
) -> None:
    """Judge a batch, then what repairs of its failures give, while the budget lasts."""
    waiting = batch
    for _ in range(1 + (state.settings.repairs if state.settings.feedback else 0)):
        waiting = waiting[: state.settings.budget - state.spent]
        if not waiting:
            return
        if trying is not None:
            for proposed in waiting:
                trying(proposed.technique, proposed.params, proposed.why)
        judgements = _ask(judges, state, [p.realised.source for p in waiting])
        again: list[Proposed] = []
        for proposed, judgement in zip(waiting, judgements, strict=True):
            candidate = _learn(state, proposed, judgement)
            _keep(state, candidate, listen)
            if judgement.verdict != "pass":
                again.extend(_repaired(state, candidate, proposed, roles))
        waiting = again


def _learn(state: State, proposed: Proposed, judgement: Judgement) -> SearchCandidate:
    parent = proposed.parent
    worth = reward(parent.judgement, judgement)
    took, before = microseconds(judgement), parent.microseconds
    gain = None
    if math.isfinite(took):
        gain = math.log2(before / took) if math.isfinite(before) else FIRST_GAIN
    wrong = len({v.rule for v in judgement.violations})
    key = (state.task.family, bottleneck(parent.judgement), proposed.technique.split(" ", 1)[0])
    if proposed.technique not in (EDIT, RECOMBINED, RECALLED):
        for table in (state.policy, state.learnt):
            table.learn(key, gain, wrong)
    return SearchCandidate(
        number=len(state.candidates),
        step=state.step,
        parent=parent.number,
        source=proposed.realised.source,
        technique=proposed.technique,
        params=proposed.params,
        why=proposed.why,
        done=proposed.realised.lineage(parent.done),
        judgement=judgement,
        reward=worth,
    )


def _repaired(state: State, candidate: SearchCandidate, proposed: Proposed, roles: Roles) -> list[Proposed]:
    """The first repair that leads to something new; it belongs to the parent of what it repairs. Built-in ones first,
    then, from the counterexample, whoever edits."""
    for repair in repairs(candidate.source, candidate.judgement):
        if repair.source not in state.sources:
            made = proposed.realised
            realised = replace(made, source=repair.source, steps=(*made.steps, f"repair {repair.rule}"), why="")
            return [Proposed(proposed.parent, realised, proposed.technique, proposed.params, repair.why)]
    edit = None if roles.editor is None else roles.editor.repaired(state, candidate)
    if edit is None or edit.source in state.sources:
        return []
    realised = replace(proposed.realised, source=edit.source, steps=(*proposed.realised.steps, *edit.steps), why="")
    return [Proposed(proposed.parent, realised, proposed.technique, proposed.params, edit.why)]

"""What to try next: proposals from the knowledge base, ranked by experience and by what the clock complains about.

    propose(candidate, entries, policy, family, tried, dice)  ->  [Proposal(entry, params, score, why), …]   best first

A proposal is an entry with one of its parameter sets. Its score is a draw from the policy, weighed by how well the
entry answers the bottleneck (the first word it names fits best, `any` a little, none hardly), by its class (global
before local before ISA) and by the place of the parameter set in the entry. Nothing is tried out here; whether a
proposal has a place in the source is found out by lowering it, whether it is right by judging it.

`random_order` ranks by lot instead: the yardstick the policy has to beat.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argus.agent.policy import PolicyTable
from argus.knowledge import KnowledgeEntry

CLASS_WEIGHT = {"global": 1.0, "local": 0.8, "isa": 0.6}
FIT, NEARBY, ANY, NONE = 1.0, 0.8, 0.5, 0.2
LATER_CHOICE = 0.8


@dataclass(frozen=True, slots=True)
class Proposal:
    """An entry of the knowledge base with parameters, for one parent."""

    entry: KnowledgeEntry
    params: Mapping[str, Any]
    score: float
    why: str

    @property
    def name(self) -> str:
        return attempt(self.entry.id, self.params)


def attempt(technique: str, params: Mapping[str, Any]) -> str:
    """A technique with its parameters, as a word."""
    return f"{technique} {json.dumps(dict(params), sort_keys=True)}"


def propose(
    entries: Iterable[KnowledgeEntry],
    policy: PolicyTable,
    family: str,
    bottleneck: str,
    tried: Collection[str],
    dice: random.Random,
    edited: bool = False,
    choices: Callable[[KnowledgeEntry], Sequence[Mapping[str, Any]]] | None = None,
) -> list[Proposal]:
    """Everything not yet tried on this parent, the most promising first; with `edited`, what no transformation does
    too. `choices`: an entry's parameter sets in another order than its own."""
    found = []
    for entry in entries:
        if not entry.lowered and not edited:
            continue
        drawn = policy.draw((family, bottleneck, entry.id), entry.gain, dice)
        for place, params in enumerate(entry.choices if choices is None else choices(entry)):
            proposal = attempt(entry.id, params)
            if proposal in tried:
                continue
            score = drawn * weight(entry, bottleneck, place)
            why = f"{entry.title}: bottleneck {bottleneck}"
            found.append(Proposal(entry, params, score, why))
    return sorted(found, key=lambda p: (-p.score, p.name))


def random_order(entries: Iterable[KnowledgeEntry], tried: Collection[str], dice: random.Random) -> list[Proposal]:
    """Everything not yet tried on this parent, in an order drawn by lot."""
    found = [
        Proposal(entry, params, 0.0, entry.title)
        for entry in entries
        if entry.lowered
        for params in entry.choices
        if attempt(entry.id, params) not in tried
    ]
    found.sort(key=lambda p: p.name)
    dice.shuffle(found)
    return found


def weight(entry: KnowledgeEntry, bottleneck: str, place: int) -> float:
    """How much of what is drawn for an entry counts, at a bottleneck and for the parameter set at a place."""
    return _fit(entry, bottleneck) * CLASS_WEIGHT[entry.kind] * LATER_CHOICE**place


def _fit(entry: KnowledgeEntry, bottleneck: str) -> float:
    if bottleneck in entry.bottlenecks:
        return FIT if entry.bottlenecks[0] == bottleneck else NEARBY
    return ANY if "any" in entry.bottlenecks else NONE

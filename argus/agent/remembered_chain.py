"""The way to the best kernel of an earlier run: what a run of the same family begins with.

    chain = RememberedChain("row", "softmax", 1.3, (("row-vectors", {"per_lane": 8}), ("row-resident", {…}), …))

A table of techniques says which steps gain; it does not say which of them belong together, in which order and with
which parameters. So a policy also keeps the chain of the best kernel of each task. It comes out of a file, so it is
data: names of techniques that have a transformation, each with plain parameters, bounded in number and length. A step
that has no place in another task's kernel is left out, and what comes of it is judged like any candidate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from argus.knowledge import load

Step = tuple[str, Mapping[str, Any]]
MOST_STEPS = 40
LONGEST = 200
"""Characters of a step's parameters, and of a name."""
KEPT = 4
"""Chains of a family: the best of each task, those that gained most."""


@dataclass(frozen=True, slots=True)
class RememberedChain:
    """`gain`: log2 of the speed-up over the naive kernel of `task`."""

    family: str
    task: str
    gain: float
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "task": self.task,
            "gain": round(self.gain, 4),
            "steps": [[name, dict(params)] for name, params in self.steps],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RememberedChain:
        """Raises ValueError for what is no chain of known techniques."""
        family, task, gain = str(data["family"]), str(data["task"]), float(data["gain"])
        steps = tuple((str(name), dict(params)) for name, params in data["steps"])
        known = load()
        plain = all(
            name in known and known[name].lowered and _plain(params) and len(json.dumps(params)) <= LONGEST
            for name, params in steps
        )
        named = all(word.isprintable() and len(word) <= LONGEST for word in (family, task))
        if not (plain and named and math.isfinite(gain) and 0 < len(steps) <= MOST_STEPS):
            raise ValueError("a chain is no list of techniques with parameters")
        return RememberedChain(family, task, gain, steps)

    def text(self) -> str:
        """In words: what a person and a model read."""
        names = " > ".join(name for name, _ in self.steps)
        return f"{self.family}, the way to the best kernel of {self.task}, {2**self.gain:.2f}x: {names}"


def _plain(params: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str | int | float | bool) for value in params.values())


def kept(chains: Iterable[RememberedChain]) -> list[RememberedChain]:
    """The best chain of each task, at most `KEPT` of a family, those that gained most first."""
    best: dict[tuple[str, str], RememberedChain] = {}
    for chain in chains:
        known = best.get((chain.family, chain.task))
        if known is None or chain.gain > known.gain:
            best[chain.family, chain.task] = chain
    found: list[RememberedChain] = []
    for chain in sorted(best.values(), key=lambda chain: (chain.family, -chain.gain, chain.task)):
        if sum(other.family == chain.family for other in found) < KEPT:
            found.append(chain)
    return found

"""What the policy of one task is worth to another of its family: evaluations to 95 % of the best, with it and without.

    python -m bench.agent_learning [--pairs NAME,…] [--seeds 0-4] [--budget 24] [--cache FILE] [--print-way]

For a pair (first, second) and a seed there are three searches with the built-in planner:

    first    the first task, from an empty policy; what it learns (`State.learnt`) is kept
    empty    the second task, from an empty policy
    carried  the second task, from the first one's

Nothing else differs: seed, budget, patience and judge are the same, and no chains are recombined. An evaluation is a
candidate that was judged, the naive kernel included, passed or not. *Best* is the fastest kernel of all searches of the
second task here; a search has reached 95 % of it with the first candidate that takes at most best / 0.95, and one that
never does counts its budget and one more. The share of a pair is the sum of the carried searches' evaluations over the
sum of the empty ones'; the goal is 60 %.

Candidates are proved, compiled and timed, not executed (`bench.clock_judges`): which evaluation is how fast is all that
counts here. FILE keeps every answer, so an interrupted table goes on where it was and a repeated one takes seconds.
"""

from __future__ import annotations

import argparse
import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.search_state import Settings, State
from argus.tasks.task import Sizes, Task, load_task
from bench.agent_seeds import seeds_of
from bench.clock_judges import ClockJudges

NEAR = 0.95
GOAL = 0.6
BUDGET = 24
"""Evaluations: more than any of these tasks needs to come within 95 %."""
OWN = "examples/agent/tasks"


@dataclass(frozen=True, slots=True)
class TaskAt:
    """A task, at other shapes than its own where `timed` says so."""

    task: str
    timed: Sizes | None = None

    def load(self) -> Task:
        task = load_task(self.task)
        return task if self.timed is None else replace(task, shapes=(self.timed,))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks of one family."""

    first: TaskAt
    second: TaskAt


SHORT_ROWS = {"M": 8192, "N": 1024}
"""Rows a quarter as long as the tasks' own, which are looked at in a third of the time."""
SMALL_PRODUCT = {"M": 2048, "N": 2048, "K": 1024}
"""Large enough for 64 blocks of 256 x 256, small enough that a look at it takes few seconds."""
SOFTMAX, LAYERNORM = TaskAt("softmax", SHORT_ROWS), TaskAt("layernorm", SHORT_ROWS)
LINEAR, TRANSPOSED = (TaskAt(f"{OWN}/{name}.py", SMALL_PRODUCT) for name in ("linear", "transposed"))
PAIRS: Mapping[str, Pair] = {
    "softmax > layernorm": Pair(SOFTMAX, LAYERNORM),
    "layernorm > softmax": Pair(LAYERNORM, SOFTMAX),
    "pooling > depthwise": Pair(TaskAt("pooling"), TaskAt("depthwise")),
    "depthwise > pooling": Pair(TaskAt("depthwise"), TaskAt("pooling")),
    "scan > reduction": Pair(TaskAt("scan"), TaskAt("reduction")),
}
MORE: Mapping[str, Pair] = {"linear > transposed": Pair(LINEAR, TRANSPOSED)}
"""Known by name, but not among the five: its looks take as long as those of the others together."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One search: the fastest so far after each evaluation, microseconds, and its steps' names."""

    curve: tuple[float, ...]
    way: str

    @staticmethod
    def of(state: State) -> Outcome:
        curve: list[float] = []
        for candidate in state.candidates:
            curve.append(min(candidate.microseconds, curve[-1] if curve else math.inf))
        return Outcome(tuple(curve), " > ".join(step.split(" ", 1)[0] for step in state.best.done))

    def reached(self, microseconds: float, budget: int) -> int:
        """The evaluation at which it was this fast."""
        return next((n for n, took in enumerate(self.curve, 1) if took <= microseconds), budget + 1)


def searched(task: Task, seed: int, budget: int, policy: PolicyTable, cache: Path) -> State:
    settings = Settings(seed=seed, budget=budget, chains=0)
    with ClockJudges(cache) as judges:
        return optimise(task, settings, judges, policy=copy.deepcopy(policy))


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """Both arms of a pair, seed by seed."""

    name: str
    empty: Sequence[Outcome]
    carried: Sequence[Outcome]
    budget: int

    @property
    def best(self) -> float:
        return min(outcome.curve[-1] for outcome in (*self.empty, *self.carried))

    def counts(self, arm: Sequence[Outcome]) -> list[int]:
        return [outcome.reached(self.best / NEAR, self.budget) for outcome in arm]

    @property
    def share(self) -> float:
        return sum(self.counts(self.carried)) / sum(self.counts(self.empty))


def of_pair(name: str, seeds: Sequence[int], budget: int, cache: Path) -> PairOutcome:
    """All searches of a pair."""
    pair = {**PAIRS, **MORE}[name]
    first, second = pair.first.load(), pair.second.load()
    empty, carried = [], []
    for seed in seeds:
        learnt = searched(first, seed, budget, PolicyTable(), cache).learnt
        empty.append(Outcome.of(searched(second, seed, budget, PolicyTable(), cache)))
        carried.append(Outcome.of(searched(second, seed, budget, learnt, cache)))
        print(f"# {name}, seed {seed}: {empty[-1].curve[-1]:.1f} and {carried[-1].curve[-1]:.1f} us", flush=True)
    return PairOutcome(name, empty, carried, budget)


def table(pairs: Sequence[PairOutcome]) -> str:
    """A row per pair, and all of them."""
    lines = [
        "| first > second | best, us | evaluations to 95 % of it, empty policy | with the first one's | share |",
        "|---|---|---|---|---|",
    ]
    for pair in pairs:
        empty, carried = (", ".join(map(str, pair.counts(arm))) for arm in (pair.empty, pair.carried))
        lines.append(f"| {pair.name} | {pair.best:.1f} | {empty} | {carried} | {100 * pair.share:.0f} % |")
    both = [sum(sum(pair.counts(arm)) for pair in pairs for arm in (side(pair),)) for side in (_carried, _empty)]
    met = sum(pair.share <= GOAL for pair in pairs)
    lines.append(
        f"| all | | {both[1]} | {both[0]} | {100 * both[0] / both[1]:.0f} %, at most 60 % in {met} of {len(pairs)} |"
    )
    return "\n".join(lines)


def _empty(pair: PairOutcome) -> Sequence[Outcome]:
    return pair.empty


def _carried(pair: PairOutcome) -> Sequence[Outcome]:
    return pair.carried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default=",".join(PAIRS))
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--cache", type=Path, default=Path("agent-learning.jsonl"))
    parser.add_argument("--print-way", action="store_true", help="the steps to the best kernel of every search")
    args = parser.parse_args()
    found = [of_pair(name, seeds_of(args.seeds), args.budget, args.cache) for name in args.pairs.split(",")]
    print(f"{table(found)}\n\nTimes are simulated; nothing was executed.")
    for pair in found if args.print_way else ():
        for which, arm in (("empty", pair.empty), ("carried", pair.carried)):
            for seed, outcome in zip(seeds_of(args.seeds), arm, strict=True):
                print(f"{pair.name}, {which}, seed {seed}: {outcome.way}")


if __name__ == "__main__":
    main()

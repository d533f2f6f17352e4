"""What the parts of the agent are worth: the same search without one of them, five seeds, 40 evaluations, one table.

    python -m bench.agent_ablation [--tasks gemm,softmax] [--seeds 5] [--budget 40] [--journal DIR] [--workers 1]

    full            bandit, feedback (repair from counterexamples), knowledge (prerequisites, gains, bottlenecks)
    no feedback     what the judge refutes is not repaired
    no knowledge    proposals by lot, without prerequisites
    random          proposals by lot, with prerequisites and repair
    carried over    full, and every seed starts from the policy the one before it left

Every run stands in one journal, and a question that was answered there is not asked again: the judge's data have one
seed for all runs, so equal sources cost one judgement, and a table that was interrupted goes on where it was. `best`
is the fastest kernel of all runs of the task. `wasted` are candidates that did not pass; `first wrong` the share of
proposals (not repairs) that are refuted, unreadable or not compiled; `to 90 %` the evaluation at which a run first had
a kernel within 90 % of the best (the budget + 1 where it never had one). Mean over seeds, least and most in brackets.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from argus.agent.journal import Journal
from argus.agent.judging import Judges
from argus.agent.optimise import optimise
from argus.agent.policy import PolicyTable
from argus.agent.record import RunRecorder
from argus.agent.search_state import Settings, State
from argus.tasks.task import Task, load_task

ARMS = {
    "full": Settings(),
    "no feedback": Settings(feedback=False),
    "no knowledge": Settings(knowledge=False),
    "random": Settings(planner="random"),
    "carried over": Settings(),
}
SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: microseconds after each evaluation, and what did not pass."""

    best: tuple[float, ...]
    wasted: int
    proposals: int
    wrong: int

    @staticmethod
    def of(state: State) -> Outcome:
        times: list[float] = []
        for candidate in state.candidates:
            times.append(min(candidate.microseconds, times[-1] if times else math.inf))
        tried = state.candidates[1:]
        first = [c for c in tried if not c.done[-1].startswith("repair")]
        stages = ("read", "contract", "check", "compile")
        return Outcome(
            tuple(times),
            sum(c.judgement.verdict != "pass" for c in tried),
            len(first),
            sum(c.judgement.verdict != "pass" and c.judgement.stage in stages for c in first),
        )

    def reached(self, microseconds: float, budget: int) -> int:
        """The evaluation at which a run was this fast."""
        return next((n + 1 for n, took in enumerate(self.best) if took <= microseconds), budget + 1)


def search(journal: Journal, task: Task, settings: Settings, policy: PolicyTable, workers: int) -> State:
    recorder = RunRecorder.begin(journal, task, settings, policy, task.name)
    with Judges(workers, recorder.remembered) as judges:
        state = optimise(task, settings, judges, policy=policy, listen=recorder.listen)
    recorder.end(state)
    return state


def arm(journal: Journal, task: Task, name: str, seeds: int, budget: int, workers: int) -> list[Outcome]:
    """All seeds of one arm."""
    found = []
    policy = PolicyTable()
    for seed in range(seeds):
        if name != "carried over":
            policy = PolicyTable()
        settings = replace(ARMS[name], seed=seed, budget=budget)
        started = time.monotonic()
        state = search(journal, task, settings, policy, workers)
        policy = state.policy
        found.append(Outcome.of(state))
        took = time.monotonic() - started
        print(
            f"# {task.name}, {name}, seed {seed}: {state.best.microseconds:.1f} us at {state.best.number + 1} of "
            f"{state.spent}, {took:.0f} s",
            flush=True,
        )
    return found


def spread(values: Sequence[float], digits: int = 0) -> str:
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def table(task: Task, outcomes: dict[str, list[Outcome]], budget: int) -> str:
    best = min(outcome.best[-1] for runs in outcomes.values() for outcome in runs)
    lines = [
        f"\n{task.name}: best of all runs {best:.1f} us, simulated",
        "| arm | final us | evaluations | to 90 % of best | wasted | first wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name, runs in outcomes.items():
        wrong = 100 * sum(r.wrong for r in runs) / max(1, sum(r.proposals for r in runs))
        lines.append(
            f"| {name} | {spread([r.best[-1] for r in runs], 1)} | {spread([len(r.best) for r in runs])} "
            f"| {spread([r.reached(best / SHARE, budget) for r in runs])} | {spread([r.wasted for r in runs])} "
            f"| {wrong:.0f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="gemm,softmax")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--journal", default="argus-ablation")
    args = parser.parse_args()
    for name in args.tasks.split(","):
        task = load_task(name)
        with Journal.write(Path(args.journal)) as journal:
            outcomes = {
                each: arm(journal, task, each, args.seeds, args.budget, args.workers) for each in args.arms.split(",")
            }
        print(table(task, outcomes, args.budget), flush=True)


if __name__ == "__main__":
    main()

"""`python -m bench.agent_models`: the table of the recorded episodes, pairs per task.

    python -m bench.agent_models                    every recording of examples/agent/episodes
    python -m bench.agent_models --folder DIR       another folder of recordings
    python -m bench.agent_models --order 7          in which order to record: task, arm and number, drawn by lot
    python -m bench.agent_models --no-roofs         without the clock's roofs, which take ten seconds of CPU

Times are simulated. The last table has the clock's roof of each task (`bench.agent_models.clock_roofs`) beside the
judge's, and the best of each arm against it. An arm is compared with `full` episode by episode, same task and number; a
mean over pairs is shown only from twelve pairs on.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from argus.agent.free_edit.arms import ARMS
from argus.tasks.task import load_task
from bench.agent_models.clock_roofs import ClockRoof, clock_roof
from bench.agent_models.episodes import EPISODES, NEAR, TASKS, RecordedEpisode, read_episode

ENOUGH = 12
NEVER = "–"


def table(episodes: Sequence[RecordedEpisode]) -> str:
    """One row per episode."""
    lines = [
        "| task | arm | no. | evaluations | first proved edit at | edits refused | best µs | share of the roof | "
        "answers | tool calls | characters or tokens | model | commit |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in sorted(episodes, key=lambda e: (e.head["task"], list(ARMS).index(e.head["arm"]), e.head["number"])):
        best, first = one.best, one.first_proved
        refused = sum(a["verdict"] != "pass" for a in one.attempts)
        effort = f"{one.tokens} tokens" if one.tokens else f"{one.characters} characters"
        took = NEVER if best is None else f"{best['microseconds']:.1f}"
        share = NEVER if best is None else f"{100 * best['roof_share']:.0f} %"
        lines.append(
            f"| {one.head['task']} | {one.head['arm']} | {one.head['number']} | {len(one.attempts)} | "
            f"{NEVER if first is None else first} | {refused} | {took} | {share} | {one.asked} | {one.calls} | "
            f"{effort} | {one.head['model']} | {one.head['commit']} |"
        )
    return "\n".join(lines)


def pairs(episodes: Sequence[RecordedEpisode], arm: str) -> list[tuple[RecordedEpisode, RecordedEpisode]]:
    """Episodes of `full` and of the arm with the same task and number."""
    by = {(e.head["task"], e.head["number"], e.head["arm"]): e for e in episodes}
    found = [(e, by.get((task, number, arm))) for (task, number, name), e in by.items() if name == "full"]
    return [(full, other) for full, other in found if other is not None]


def compared(episodes: Sequence[RecordedEpisode]) -> str:
    """Best times of each arm over those of `full`, pair by pair."""
    lines = ["| arm against `full` | pairs | best time over that of `full`, by task | mean |", "|---|---|---|---|"]
    for arm in ARMS:
        if arm == "full":
            continue
        ratios = []
        shown = []
        for full, other in pairs(episodes, arm):
            if full.best is not None and other.best is not None:
                ratio = float(other.best["microseconds"]) / float(full.best["microseconds"])
                ratios.append(ratio)
                shown.append(f"{full.head['task']} {full.head['number']}: {ratio:.2f}")
        mean = f"{fmean(ratios):.2f}" if len(ratios) >= ENOUGH else f"not claimed from {len(ratios)} pairs"
        lines.append(f"| {arm} | {len(ratios)} | {'; '.join(shown) or NEVER} | {mean} |")
    return "\n".join(lines)


def against_roofs(episodes: Sequence[RecordedEpisode], roofs: Mapping[str, ClockRoof]) -> str:
    """The clock's roof of each task, and what share of it the best kernel of each arm has."""
    lines = [
        "| task | judge's roof, µs | clock's roof, µs | set by | clock, MHz | best, µs | "
        f"{' | '.join(ARMS)} | best of all |",
        "|---|---|---|---|---|---|" + "---|" * len(ARMS) + "---|",
    ]
    for task, roof in roofs.items():
        best = {one.head["arm"]: one.best for one in episodes if one.head["task"] == task and one.best is not None}
        times = {arm: float(found["microseconds"]) for arm, found in best.items() if found is not None}
        if not times:
            continue
        shares = [f"{100 * roof.microseconds / times[arm]:.0f} %" if arm in times else NEVER for arm in ARMS]
        least = min(times, key=lambda arm: times[arm])
        found = best[least]
        judged = NEVER if found is None else f"{found['roof_share'] * times[least]:.1f}"
        limits = "" if found is None else _limits(found)
        lines.append(
            f"| {task} | {judged} | {roof.text()} | {roof.by} | {roof.clock_mhz:.0f} | {times[least]:.1f}{limits} | "
            f"{' | '.join(shares)} | {100 * roof.microseconds / times[least]:.0f} % |"
        )
    return "\n".join(lines)


def _limits(attempt: Mapping[str, Any]) -> str:
    """The interval of an attempt with one shape, where the recording has it."""
    bounds = list(attempt["interval"].values())
    return f" ({bounds[0]['low']:.1f} to {bounds[0]['high']:.1f})" if len(bounds) == 1 else ""


def order(seed: int, number: int = 1) -> list[str]:
    """All episodes in an order drawn by lot."""
    found = [f"{task} {arm} {number}" for task in NEAR for arm in ARMS]
    random.Random(seed).shuffle(found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=EPISODES)
    parser.add_argument("--order", type=int, metavar="SEED")
    parser.add_argument("--no-roofs", action="store_true")
    args = parser.parse_args()
    if args.order is not None:
        print("\n".join(order(args.order)))
        return
    episodes = [read_episode(path) for path in sorted(args.folder.glob("*.jsonl"))]
    print(f"{len(episodes)} episodes; times simulated\n\n{table(episodes)}\n\n{compared(episodes)}")
    if not args.no_roofs:
        tasks = {name: load_task(TASKS / f"{name}.py") for name in NEAR}
        roofs = {name: clock_roof(task, task.shapes[0]) for name, task in tasks.items()}
        print(f"\n{against_roofs(episodes, roofs)}")


if __name__ == "__main__":
    main()

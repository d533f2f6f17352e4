"""`python -m bench.agent_models`: the table of the recorded episodes, pairs per task.

    python -m bench.agent_models                    every recording of examples/agent/episodes
    python -m bench.agent_models --folder DIR       another folder of recordings
    python -m bench.agent_models --order 7          in which order to record: task, arm and number, drawn by lot

Times are simulated. An arm is compared with `full` episode by episode, same task and number; a mean over pairs is shown
only from twelve pairs on.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from argus.agent.free_edit.arms import ARMS
from bench.agent_models.episodes import EPISODES, NEAR, RecordedEpisode, read_episode

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


def order(seed: int, number: int = 1) -> list[str]:
    """All episodes in an order drawn by lot."""
    found = [f"{task} {arm} {number}" for task in NEAR for arm in ARMS]
    random.Random(seed).shuffle(found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=EPISODES)
    parser.add_argument("--order", type=int, metavar="SEED")
    args = parser.parse_args()
    if args.order is not None:
        print("\n".join(order(args.order)))
        return
    episodes = [read_episode(path) for path in sorted(args.folder.glob("*.jsonl"))]
    print(f"{len(episodes)} episodes; times simulated\n\n{table(episodes)}\n\n{compared(episodes)}")


if __name__ == "__main__":
    main()

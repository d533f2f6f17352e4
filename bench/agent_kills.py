"""A run that is killed again and again and resumed, beside one that is left alone: the same events, the same end.

    python -m bench.agent_kills [--kills 50] [--budget 40] [--seed 0]

The task is the built-in softmax at small shapes, with everything a run has: the planner, the judge's own processes, the
journal. `argus optimize` is started and killed with SIGKILL at a random moment, while it starts, judges or writes,
until it has been killed so often; then it may end. It alone is killed: after every kill the processes it had started
must go by themselves (one that is just starting or compiling finishes that first). What the journal held before must
still be there, event by event; at the end the events must be those of the run that was left alone, and the best kernel
the same, with the same evidence. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from argus.agent.journal import Journal, JournalError
from bench.kills import Lives

SHAPES = {
    "shapes=[dict(M=8192, N=4096)]": "shapes=[dict(M=512, N=1024)]",
    "held_out=[dict(M=64, N=2048), dict(M=32, N=512)]": "held_out=[dict(M=32, N=512)]",
    "small=[dict(M=8, N=1024)]": "small=[dict(M=4, N=512)]",
}
Events = list[tuple[str, object]]


def small_task(folder: Path) -> Path:
    text = files("argus.tasks").joinpath("naive").joinpath("softmax.py").read_text(encoding="utf-8")
    for old, new in SHAPES.items():
        if old not in text:
            raise SystemExit(f"the softmax task no longer has {old}")
        text = text.replace(old, new)
    path = folder / "small_softmax.py"
    path.write_text(text, encoding="utf-8")
    return path


def command(journal: Path, arguments: Sequence[str]) -> list[str]:
    fixed = ["--journal", str(journal), "--workers", "1", "--json"]
    return [sys.executable, "-m", "argus.cli.main", "optimize", *arguments, *fixed]


def events(journal: Path) -> Events:
    """What is written so far; nothing while there is no journal."""
    try:
        with Journal.read(journal) as opened:
            return [(event.key, event.payload) for event in opened.events()]
    except (JournalError, OSError):
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    lives = Lives(random.Random(args.seed))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = small_task(folder)
        asked = [str(task), "--budget", str(args.budget), "--patience", str(args.budget), "--batch", "1"]
        kills = 0
        journal = folder / "killed"
        while True:
            held = events(journal)
            arguments = ["--resume"] if held else asked
            if kills == args.kills:
                subprocess.run(command(journal, arguments), check=True, stdout=subprocess.DEVNULL)
                break
            if not lives.one(command(journal, arguments), lambda: len(events(journal))):
                break
            kills += 1
            now = events(journal)
            if now[: len(held)] != held:
                raise SystemExit(f"kill {kills}: events that were written are gone")
            print(f"# kill {kills}: {len(now)} events", flush=True)
        subprocess.run(command(folder / "quiet", asked), check=True, stdout=subprocess.DEVNULL)
        killed, quiet = events(journal), events(folder / "quiet")
        same = killed == quiet
        end = dict(killed).get("end")
    took = time.monotonic() - started
    print(
        f"{kills} kills, {len(killed)} events, {len(quiet)} in the quiet run, the same: {same}; end {end}; {took:.0f} s"
    )
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()

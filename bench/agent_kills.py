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
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from argus.agent.journal import Journal, JournalError

SHAPES = {
    "shapes=[dict(M=8192, N=4096)]": "shapes=[dict(M=512, N=1024)]",
    "held_out=[dict(M=64, N=2048), dict(M=32, N=512)]": "held_out=[dict(M=32, N=512)]",
    "small=[dict(M=8, N=1024)]": "small=[dict(M=4, N=512)]",
}
POLL = 0.05
GRACE = 30.0  # seconds for the processes of a killed run to go
WINDOW, LONGER = 1.25, 1.1
Events = list[tuple[str, object]]
Process = tuple[int, str]  # its number and when it was started: numbers are given again


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


def running() -> dict[Process, int]:
    """Every process of this machine and its parent; not those that have ended and wait to be asked for their code."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = path.read_text().split(" ", 1)
        except (OSError, ValueError):
            continue
        state, parent, *more = rest.rpartition(")")[2].split()
        if state not in "ZX":
            found[int(number), more[17]] = int(parent)
    return found


def descendants(pid: int) -> set[Process]:
    """What a process has started, and what that has started."""
    alive = running()
    found: set[Process] = set()
    parents = {pid}
    while parents:
        children = {process for process, parent in alive.items() if parent in parents}
        parents = {process[0] for process in children - found}
        found |= children
    return found


def left(processes: set[Process], grace: float = GRACE) -> set[Process]:
    """Those that are still there when the time is over."""
    until = time.monotonic() + grace
    while (still := processes & running().keys()) and time.monotonic() < until:
        time.sleep(POLL)
    return still


def called(process: Process) -> str:
    """Number and command line."""
    words = Path(f"/proc/{process[0]}/cmdline").read_bytes().split(b"\0")
    return f"{process[0]} {b' '.join(words).decode(errors='replace')}"


@dataclass
class Lives:
    """Starts and kills. A life ends at a random moment of a window a little longer than the first step takes."""

    dice: random.Random
    window: float = 10.0

    def one(self, journal: Path, arguments: Sequence[str]) -> bool:
        """Start the run and kill it; False if it ended before."""
        before = len(events(journal))
        started = time.monotonic()
        child = subprocess.Popen(command(journal, arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = started + self.dice.uniform(0.0, self.window)
        first = 0.0
        while child.poll() is None and time.monotonic() < until:
            time.sleep(POLL)
            if not first and len(events(journal)) > before:
                first = time.monotonic() - started
        killed = child.poll() is None
        child.send_signal(signal.SIGSTOP)
        started_by_it = descendants(child.pid) if killed else set()
        child.send_signal(signal.SIGKILL)
        child.wait()
        if still := left(started_by_it):
            raise SystemExit(f"processes of the killed run are left: {', '.join(sorted(map(called, still)))}")
        if not killed and child.returncode:
            raise SystemExit(f"the run ended with exit code {child.returncode}")
        self.window = WINDOW * first if first else LONGER * self.window
        return killed


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
            if not lives.one(journal, arguments):
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

"""Processes that are killed again and again, for benchmarks of runs that can be resumed.

    lives = Lives(random.Random(0))
    lives.one(command, progress)      start `command`, kill it with SIGKILL at a random moment; False if it ended before

A life ends at a random moment of a window a little longer than the first progress takes, so about every second life
gets something done. The command alone is killed: the processes it had started must go by themselves (one that is just
starting or compiling finishes that first); those that stay end the benchmark.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

POLL = 0.05
GRACE = 30.0  # seconds for the processes of a killed run to go
WINDOW, LONGER = 1.25, 1.1
Process = tuple[int, str]  # its number and when it was started: numbers are given again


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

    def one(self, command: Sequence[str], progress: Callable[[], int]) -> bool:
        """Start the command and kill it; False if it ended before. `progress` counts what it has written."""
        before = progress()
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = started + self.dice.uniform(0.0, self.window)
        first = 0.0
        while child.poll() is None and time.monotonic() < until:
            time.sleep(POLL)
            if not first and progress() > before:
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

"""A run on Ray whose worker is killed while it judges, beside the same run alone: the same winner and evidence.

    python -m bench.ray_kill [--task gemm] [--budget 40] [--seed 0] [--kills 2]

`argus optimize` runs twice with the same seed: with judge processes of its own, and with `--ray local --workers 2`. In
the second run a worker that is just judging is killed with SIGKILL, `--kills` times, spread over the run. Every event
of the journal must be the same in both, in the same order: every candidate, every judgement with its evidence, the
policy, the winner. No judgement may be missing or stand there twice.
Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from argus.agent.journal import Journal
from bench.agent_kills import events
from bench.kills import Process, called, descendants

POLL = 0.2
JUDGING = "ray::worker"
"""What Ray calls the process of a worker while it works; an idle one is called `ray::IDLE`."""


def command(journal: Path, args: argparse.Namespace, more: list[str]) -> list[str]:
    fixed = ["--budget", str(args.budget), "--patience", str(args.budget), "--seed", str(args.seed), "--workers", "2"]
    start = [sys.executable, "-m", "argus.cli.main", "optimize", args.task, "--journal", str(journal)]
    return [*start, *fixed, "--json", "--no-report", *more]


def judging(pid: int) -> list[Process]:
    """Workers below a process that are at work."""
    found = []
    for process in descendants(pid):
        try:
            if JUDGING in called(process):
                found.append(process)
        except OSError:
            continue
    return sorted(found)


def killed_run(journal: Path, args: argparse.Namespace) -> list[Process]:
    """The run on Ray; the workers that were killed, each while it was judging."""
    child = subprocess.Popen(command(journal, args, ["--ray", "local"]), stdout=subprocess.DEVNULL)
    moments = [args.budget * (n + 1) // (args.kills + 1) for n in range(args.kills)]
    killed: list[Process] = []
    while child.poll() is None:
        time.sleep(POLL)
        judged = sum(key.startswith("judgement:") for key, _ in events(journal))
        if len(killed) < args.kills and judged >= moments[len(killed)] and (workers := judging(child.pid)):
            os.kill(workers[0][0], signal.SIGKILL)
            killed.append(workers[0])
            print(f"# killed worker {workers[0][0]} after {judged} judgements", flush=True)
    if child.returncode:
        raise SystemExit(f"the run on Ray ended with exit code {child.returncode}")
    return killed


def machines(journal: Path) -> Counter[str]:
    """Which process judged how much."""
    with Journal.read(journal) as opened:
        found = [event.meta.get("machine", {}) for event in opened.events() if event.kind == "judgement"]
    return Counter(f"{machine.get('host')}:{machine.get('process')}" for machine in found)


def end_of(found: list[tuple[str, Any]]) -> tuple[Any, str]:
    """How a run ended, and the evidence of its best candidate."""
    by_key = dict(found)
    best = str(by_key["end"]["best"])
    return by_key["end"], str(by_key[f"judgement:{best.removeprefix('c')}"]["evidence"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="gemm")
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        alone, ray = Path(name) / "alone", Path(name) / "ray"
        started = time.monotonic()
        killed = killed_run(ray, args)
        between = time.monotonic()
        subprocess.run(command(alone, args, []), check=True, stdout=subprocess.DEVNULL)
        took = (time.monotonic() - between, between - started)
        first, second = events(alone), events(ray)
        by = machines(ray)
    judged = [key for key, _ in second if key.startswith("judgement:")]
    candidates = {key for key, _ in second if key.startswith("candidate:")}
    same = first == second and len(judged) == len(set(judged)) == len(candidates)
    (end, evidence), (ray_end, ray_evidence) = end_of(first), end_of(second)
    print(f"alone: {len(first)} events, {took[0]:.0f} s; best {end}, evidence {evidence}")
    print(f"on Ray: {len(second)} events, {took[1]:.0f} s; best {ray_end}, evidence {ray_evidence}")
    print(f"{len(killed)} workers killed while judging; judgements by process: {dict(by)}")
    for here, there in zip(first, second, strict=False):
        if here != there:
            print(f"first difference, alone: {here}\non Ray: {there}"[:4000])
            break
    print(f"the same events, winner and evidence, {len(judged)} judgements, none twice: {same}")
    return 0 if same and len(killed) == args.kills and evidence == ray_evidence else 1


if __name__ == "__main__":
    sys.exit(main())

"""`argus bench kernelbench DIR --run-python`: KernelBench's tasks as plans, judged one by one.

The tasks are Python files; they are executed in a worker process, and only if `--run-python` says so. Every task gets a
line as soon as it is judged, with how many are left and how long they will take at this pace. Records go to a file
(`--records`), from which an interrupted run goes on. `--workers` tasks are judged at a time, here or on Ray (`--ray`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from argus.bench.kernelbench.asking import ClusterTask, TaskAsker, TaskProcess
from argus.bench.kernelbench.campaign import campaign
from argus.bench.kernelbench.summary import line, read_eager, summary
from argus.bench.kernelbench.task_files import TaskFile, Timing, tasks_of
from argus.cli.answers import KernelBenchAnswer, emit
from argus.cli.many_machines import cluster
from argus.cli.usage import GOOD, UsageError
from argus.clock import LABEL
from argus.report.kernelbench_page import task_page

RECORDS = Path("out") / "kernelbench.jsonl"


def handle(args: argparse.Namespace) -> int:
    folder = Path(args.family[1]) if len(args.family) == 2 else None
    if folder is None or not folder.is_dir():
        raise UsageError("kernelbench takes one folder, with level1 and level2 in it: argus bench kernelbench DIR")
    tasks = tasks_of(folder, args.level, args.task)
    if not tasks:
        raise UsageError(f"there is no such task below {folder}")
    if not args.run_python:
        raise UsageError(f"the {len(tasks)} tasks are Python and would be executed; say --run-python if they may")
    if args.dtype not in ("f32", "bf16"):
        raise UsageError(f"kernelbench takes --dtype f32 or bf16, not {args.dtype}")
    if args.eager is not None and args.dtype != "bf16":
        raise UsageError("--eager: measured times are of bf16 runs; f32 is judged without a time beside it")
    if args.time_only and args.no_time:
        raise UsageError("--time-only and --no-time leave nothing to do")
    if find_spec("torch") is None:
        raise ModuleNotFoundError("argus bench kernelbench needs torch", name="torch")
    try:
        eager = {} if args.eager is None else read_eager(args.eager)
    except (OSError, ValueError) as error:
        raise UsageError(f"--eager: {error}") from error
    if not args.json:
        print(LABEL)
    with askers(args) as asked:
        found = _judged(args, tasks, asked, eager)
    found.sort(key=lambda record: (record["level"], record["task"]))
    if args.html is not None:
        args.html.write_text(task_page(found, eager, LABEL), encoding="utf-8")
    if args.json:
        emit(KernelBenchAnswer, {"label": LABEL, "records": found})
    else:
        print("\n".join(["", *summary(found, eager)]))
    return GOOD


@contextmanager
def askers(args: argparse.Namespace) -> Iterator[list[TaskAsker]]:
    """As many as tasks are judged at a time: processes of this machine, or places on the cluster."""
    with cluster(args) as pool:
        made: list[TaskAsker] = [TaskProcess() if pool is None else ClusterTask(pool) for _ in range(args.workers)]
        try:
            yield made
        finally:
            for asker in made:
                asker.close()


def _judged(
    args: argparse.Namespace, tasks: Sequence[TaskFile], asked: Sequence[TaskAsker], eager: Mapping[str, float]
) -> list[dict[str, Any]]:
    """All records; each is printed as soon as it is there."""
    found: list[dict[str, Any]] = []
    started, made = time.monotonic(), 0
    timing: Timing = "only" if args.time_only else not args.no_time
    for record, known in campaign(tasks, args.dtype, args.records, asked, timing):
        found.append(record)
        made += not known
        pace = (time.monotonic() - started) / made if made else 0.0
        if not args.json:
            left = len(tasks) - len(found)
            print(line(record, eager), flush=True)
            print(f"  {len(found)} of {len(tasks)}, about {pace * left / 60:.0f} min left", end="\r", file=sys.stderr)
    return found

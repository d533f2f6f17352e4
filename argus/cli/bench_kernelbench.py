"""`argus bench kernelbench DIR --run-python`: KernelBench's tasks as plans, judged one by one.

The tasks are Python files; they are executed in a worker process, and only if `--run-python` says so. Every task gets a
line as soon as it is judged, with how many are left and how long they will take at this pace. Records go to a file
(`--records`), from which an interrupted run, or another sitting, goes on: at the end it says how many were kept, and
why the others were made. `--workers` tasks are judged at a time, here or on Ray (`--ray`).

`--summary` judges nothing: it prints the records that hold as a table. Where the planner or a template has changed,
that is known once the plans are made again, which `--run-python` allows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from argus.bench.kernelbench.asking import ClusterTask, TaskAsker, TaskProcess
from argus.bench.kernelbench.campaign import TaskRecord, campaign, compacted
from argus.bench.kernelbench.summary import each_task, line, read_eager, read_published, summary, table
from argus.bench.kernelbench.task_files import TaskFile, Timing, numbers_of, tasks_of
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
    try:
        tasks = tasks_of(folder, args.level, None if args.task is None else numbers_of(args.task))
    except ValueError as error:
        raise UsageError(f"--task takes numbers, as 19 or 1,3,40-49, not {args.task}") from error
    if not tasks:
        raise UsageError(f"there is no such task below {folder}")
    if not args.run_python and not args.summary:
        raise UsageError(f"the {len(tasks)} tasks are Python and would be executed; say --run-python if they may")
    if args.dtype not in ("f32", "bf16"):
        raise UsageError(f"kernelbench takes --dtype f32 or bf16, not {args.dtype}")
    if args.eager is not None and args.dtype != "bf16":
        raise UsageError("--eager: measured times are of bf16 runs; f32 is judged without a time beside it")
    if args.time_only and args.no_time:
        raise UsageError("--time-only and --no-time leave nothing to do")
    if args.each and not args.summary:
        raise UsageError("--each is a table of records; it goes with --summary")
    if args.summary and (args.time_only or args.no_time):
        raise UsageError("--summary judges and times nothing, so it takes neither --time-only nor --no-time")
    if args.run_python and find_spec("torch") is None:
        raise ModuleNotFoundError("argus bench kernelbench needs torch", name="torch")
    try:
        eager = {} if args.eager is None else read_eager(args.eager)
    except (OSError, ValueError) as error:
        raise UsageError(f"--eager: {error}") from error
    if not args.json:
        print(LABEL)
    with askers(args) as asked:
        recorded = _judged(args, tasks, asked, eager)
    found = sorted((each.record for each in recorded), key=lambda record: (record["level"], record["task"]))
    if not args.summary:
        compacted(args.records)
    if args.html is not None:
        args.html.write_text(task_page(found, eager, LABEL), encoding="utf-8")
    if args.json:
        emit(KernelBenchAnswer, {"label": LABEL, "records": found})
    elif args.summary:
        levels = {level: [t.number for t in tasks if t.level == level] for level in sorted({t.level for t in tasks})}
        print("\n".join(["", *table(found, eager, levels)]))
        if args.each:
            published = {} if args.eager is None else read_published(args.eager)
            print("\n".join(["", *each_task(found, eager, published)]))
    else:
        print("\n".join(["", *kept_and_made(recorded), *summary(found, eager)]))
    return GOOD


def kept_and_made(recorded: Sequence[TaskRecord]) -> list[str]:
    """How many records were kept, how many made, and why."""
    lines = []
    for known, word in ((True, "kept"), (False, "made")):
        counts = Counter(each.why for each in recorded if each.known == known)
        reasons = "; ".join(f"{count} ({why})" for why, count in counts.most_common())
        lines.append(f"{counts.total()} records {word}" + (f": {reasons}" if reasons else ""))
    return lines


@contextmanager
def askers(args: argparse.Namespace) -> Iterator[list[TaskAsker]]:
    """As many as tasks are judged at a time: processes of this machine, or places on the cluster."""
    if not args.run_python:
        yield []
        return
    with cluster(args) as pool:
        made: list[TaskAsker] = [TaskProcess() if pool is None else ClusterTask(pool) for _ in range(args.workers)]
        try:
            yield made
        finally:
            for asker in made:
                asker.close()


def _judged(
    args: argparse.Namespace, tasks: Sequence[TaskFile], asked: Sequence[TaskAsker], eager: Mapping[str, float]
) -> list[TaskRecord]:
    """All records; each is printed as soon as it is there."""
    found: list[TaskRecord] = []
    started, made = time.monotonic(), 0
    timing: Timing = "only" if args.time_only else not args.no_time
    for each in campaign(tasks, args.dtype, args.records, asked, "plan" if args.summary else timing):
        found.append(each)
        made += not each.known
        pace = (time.monotonic() - started) / made if made else 0.0
        if not args.json and not args.summary:
            left = len(tasks) - len(found)
            print(line(each.record, eager), flush=True)
            print(f"  {len(found)} of {len(tasks)}, about {pace * left / 60:.0f} min left", end="\r", file=sys.stderr)
    return found

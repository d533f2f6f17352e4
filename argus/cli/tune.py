"""`argus tune`: the plan of a module, of KernelBench's tasks, or of a product, tuned at its decision points.

Every point for which something was tried is printed with its alternatives and their simulated times. With `--write`,
what is proved, right and surely faster goes to the dispatch table (`argus/kernels/choices.json`), from which plans are
made. Modules are Python and executed in a process of their own, only if `--run-python` says so; products need no torch.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from argus.agent.tuning.table import TABLE, tuned_json, write
from argus.agent.tuning.tuner import TuningSettings, tune
from argus.bench.kernelbench.task_files import TaskFile, numbers_of, tasks_of
from argus.bench.tuning import ClockBench
from argus.cli.answers import TuneAnswer, emit
from argus.cli.usage import GOOD, UsageError
from argus.clock import LABEL
from argus.plan.choices import shipped
from argus.plan.graph import Graph, PlanError
from argus.plan.one_product import one_product

WORKER = "argus.bench.tune_worker"


def handle(args: argparse.Namespace) -> int:
    named = [bool(args.file), bool(args.product), args.kernelbench is not None]
    if sum(named) != 1:
        raise UsageError("argus tune takes a MODULE.py, --product MxNxK or --kernelbench DIR, one of them")
    if args.budget < 0:
        raise UsageError(f"--budget is a number of alternatives, not {args.budget}")
    settings = TuningSettings(tuple(args.decision), args.budget)
    source = _products(args, settings) if args.product else _modules(args, settings)
    if not args.json:
        print(LABEL)
    points: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for found in source:
        (refused if "code" in found else points).append(found)
        if not args.json:
            print(_text(found), flush=True)
    rows = [found["row"] for found in points if found["row"] is not None]
    if args.write and rows:
        write(rows)
    written = bool(args.write and rows)
    if args.json:
        emit(TuneAnswer, {"label": LABEL, "points": points, "refused": refused, "written": written})
    else:
        print(f"{len(points)} decision points, {len(rows)} rows" + (f", written to {TABLE}" if written else ""))
    return GOOD


def _products(args: argparse.Namespace, settings: TuningSettings) -> Iterator[dict[str, Any]]:
    rows = [*shipped()]
    for text in args.product:
        graph = _product(text, args.dtype)
        small = [_product(f"65x96x160{text.lstrip('0123456789x')}", args.dtype)]
        for found in tune(graph, partial(iter, small), ClockBench(), rows, settings):
            rows = rows if found.row is None else [found.row, *rows]
            yield {"task": text, **tuned_json(found)}


def _product(text: str, dtype: str) -> Graph:
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)(a?)(b?)", text)
    if match is None:
        raise UsageError(f"--product takes MxNxK, with `a` or `b` behind for an operand stored by k, not {text!r}")
    m, n, k = (int(part) for part in match.groups()[:3])
    return one_product(m, n, k, dtype, a_by_k=bool(match[4]), b_by_k=bool(match[5]))


def _modules(args: argparse.Namespace, settings: TuningSettings) -> Iterator[dict[str, Any]]:
    tasks = _tasks(args)
    if not args.run_python:
        raise UsageError("modules are Python and would be executed, in a process of their own; say --run-python")
    if find_spec("torch") is None:
        raise ModuleNotFoundError("argus tune needs torch for modules", name="torch")
    named = [{"level": t.level, "task": t.number, "name": t.name, "path": str(t.path)} for t in tasks]
    return _asked({"tasks": named, "dtype": args.dtype, "decisions": settings.decisions, "budget": settings.budget})


def _tasks(args: argparse.Namespace) -> Sequence[TaskFile]:
    if args.file:
        path = Path(args.file)
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
        return [TaskFile(0, 0, path.stem, path)]
    try:
        tasks = tasks_of(args.kernelbench, args.level, None if args.task is None else numbers_of(args.task))
    except ValueError as error:
        raise UsageError(f"--task takes numbers, as 19 or 1,3,40-49, not {args.task}") from error
    if not tasks:
        raise UsageError(f"there is no such task below {args.kernelbench}")
    return tasks


def _asked(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the worker answers, as it comes."""
    command = [sys.executable, "-W", "ignore", "-m", WORKER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(request) + "\n")
        worker.stdin.close()
        for line in worker.stdout:
            yield json.loads(line)
    if worker.returncode:
        raise PlanError("ARG-G106", f"the worker process ended with {worker.returncode}")


def _text(found: Mapping[str, Any]) -> str:
    if "code" in found:
        return f"{found['task']}: {found['reason']}"
    shape = " ".join(f"{name}={value}" for name, value in found["shape"].items())
    lines = [f"{found['task']}: {found['decision']}  {shape}"]
    lines += [f"  {found['taken_us']:10.1f} us  {_words(found['taken'])}  (now)"]
    for tried in found["tried"]:
        time = f"{tried['us']:10.1f} us" if "us" in tried else f"{'-':>13}"
        lines.append(f"  {time}  {_words(tried['take'])}" + (f"  {tried['why']}" if "why" in tried else ""))
    row = found["row"]
    if row is None:
        return "\n".join([*lines, f"  no row: {found['why']}"])
    ratio = row["paired"]
    if ratio is None:
        return "\n".join([*lines, f"  row: {_words(row['take'])}; what the rule takes does not compile"])
    took = f"{ratio['ratio']:.2f} of the time, less under {ratio['won']} of {ratio['clocks']} perturbed clocks"
    return "\n".join([*lines, f"  row: {_words(row['take'])}, {took}, {len(row['kernels'])} kernels proved"])


def _words(take: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in take.items())

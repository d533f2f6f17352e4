"""Which records of an earlier sitting still hold, part by part.

    now = code_now()
    needed(record, task_digest(task), now, timed=True)      RecordNeed("nothing"), or what has to be done again and why
    standing(record, task_digest(task), now)                the record without what no longer holds; None: nothing does

A record has `rests`, digests of everything it depends on:

    task        the task's file
    plan        the plan at full size and the text of every kernel it launches (`plan_digest`)
    reduced     the same of the plans at reduced sizes, with the values of their parameters
    judge       the code that proves, compiles, executes and compares: what the worker imports, versions of packages;
                not the search for counterexamples, which makes no verdict `proved`
    clock       the code that times a launch; a judgement does not depend on it
    planner     what makes plans: front end, planner, dispatch tables and templates, and all they import

If `planner` is the same, so are the plans. If it is not, the plans are made again, which costs a few seconds, and the
record holds if their digests are what they were. A change of the clock leaves judgements alone, and the other way
round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from argus.bench.kernelbench.task_files import TaskFile, Timing
from argus.provenance import NAME, PACKAGE, closure, imported, source

WORKER, CLOCK = "argus.bench.kernelbench.worker", "argus.bench.kernelbench.timing"
REFUTERS = "argus.check.explain.refuters"
"""What it alone imports looks for counterexamples where a proof has failed: no task is solved by it. A record of a
kernel that is not proved holds with the message of its time."""
JUDGES = (
    "argus.plan", "argus.plan.plan", "argus.plan.views", "argus.plan.runner", "argus.plan.meaning",
    "argus.torch.compiled", "argus.torch.module_file", "argus.ops.launch", "argus.ops.arrays",
)  # fmt: skip
"""Modules of front end, planner and library that judge: they hold a plan, run it, make modules and their inputs."""
PLANNERS = ("argus.plan", "argus.torch", "argus.ops")
"""Packages whose other modules have a say through plans alone, if any, and so do those that nothing else imports."""
PACKAGES = ("torch", "numpy", "llvmlite", "z3-solver")
TIMES = ("simulated_us", "low_us", "high_us", "protocol", "costs")
TIMED = ("solved", "unsampled", "timed")
"""Statuses of records that have times."""
DIGITS = 16


@dataclass(frozen=True, slots=True)
class CodeNow:
    """Digests of the code that is there."""

    judge: str
    clock: str
    planner: str


@dataclass(frozen=True, slots=True)
class RecordNeed:
    """What a record lacks: `plan` means that its plans have to be compared first."""

    what: Literal["nothing", "plan", "time", "judge"]
    why: str = ""


@cache
def code_now() -> CodeNow:
    """The digests, of the files as they are."""
    judge, clock = reached([WORKER], without=[CLOCK, REFUTERS]), reached([CLOCK], without=[REFUTERS])
    planners = closure(module for module in closure([WORKER]) if plans(module))
    kernels = (path for path in (PACKAGE / "kernels").iterdir() if path.suffix in (".py", ".json"))
    return CodeNow(
        _digest(_files(judge), PACKAGES),
        _digest(_files(clock), PACKAGES),
        _digest([*_files(planners), *kernels], PACKAGES),
    )


def plans(module: str) -> bool:
    """Whether a module has a say through plans alone."""
    return module not in JUDGES and any(module == name or module.startswith(f"{name}.") for name in PLANNERS)


def reached(roots: Iterable[str], without: Collection[str] = ()) -> set[str]:
    """Modules of this package that the roots import, but for those that plan and those that are left out: a judgement
    does not depend on what these alone import."""
    seen: set[str] = set()
    open_ = [*roots]
    while open_:
        module = open_.pop()
        if module in seen or module in without or module == NAME or plans(module) or source(module) is None:
            continue
        seen.add(module)
        open_ += [*imported(module), module.rpartition(".")[0]]
    return seen


def _files(modules: Iterable[str]) -> list[Path]:
    """Sources, and the data files beside them."""
    sources = {path for module in modules if (path := source(module)) is not None}
    return [*sources, *(path for folder in {path.parent for path in sources} for path in folder.glob("*.json"))]


def _digest(files: Iterable[Path], versions: Iterable[str]) -> str:
    found = sha256(" ".join(f"{name} {_version(name)}" for name in versions).encode())
    for path in sorted(set(files)):
        found.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:DIGITS]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def task_digest(task: TaskFile) -> str:
    return sha256(task.path.read_bytes()).hexdigest()[:DIGITS]


def needed(record: Mapping[str, Any] | None, task: str, now: CodeNow, timed: Timing) -> RecordNeed:
    """What has to be done for a record of a task; `timed` as for `judging`."""
    if record is None:
        return RecordNeed("judge", "no record")
    rests: Mapping[str, str] = record["rests"]
    if rests.get("task") != task:
        return RecordNeed("judge", "the task's file has changed")
    if timed != "only" and record["status"] == "timed":
        return RecordNeed("judge", "timed, not judged")
    if timed != "only" and rests.get("judge") != now.judge:
        return RecordNeed("judge", "checker, compiler, machine or judge have changed")
    if rests.get("planner") != now.planner:
        if "plan" not in rests or (timed != "only" and "reduced" not in rests):
            return RecordNeed("judge", "the planner has changed, and the record has no plan")
        return RecordNeed("plan", "the planner or a template has changed")
    if timed is not False and record["status"] in TIMED:
        if "simulated_us" not in record:
            return RecordNeed("time", "no time")
        if rests.get("clock") != now.clock:
            return RecordNeed("time", "the clock has changed")
    return RecordNeed("nothing")


def same_plans(record: Mapping[str, Any], made: Mapping[str, Any], timed: Timing) -> bool:
    """Whether plans made again are those of the record."""
    rests, new = record["rests"], made.get("rests", {})
    return all(rests.get(name) == new.get(name) for name in (("plan",) if timed == "only" else ("plan", "reduced")))


def standing(record: Mapping[str, Any], task: str, now: CodeNow) -> dict[str, Any] | None:
    """The record, without a time of another clock; with its time alone, where the judgement does not hold; None where
    nothing does, or where that is not known before its plans are made again."""
    rests = record["rests"]
    if rests.get("task") != task or rests.get("planner") != now.planner:
        return None
    found = dict(record)
    if rests.get("clock") != now.clock:
        found = {name: value for name, value in found.items() if name not in TIMES}
    if rests.get("judge") == now.judge and found["status"] != "timed":
        return found
    if "simulated_us" not in found:
        return None
    kept = ("level", "task", "name", "dtype", "family", "launches", "rests", *TIMES)
    return {name: found[name] for name in kept if name in found} | {"status": "timed", "code": "", "reason": ""}

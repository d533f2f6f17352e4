"""A cheap look at a kernel before it is judged: the clock and the checker, nothing else.

    clocked(source, task, 40.0)     microseconds, simulated; infinite where it is not proved or does not serve the task

The clock is asked first. What takes longer than the limit is not worth a judgement whether it is proved or not, so the
checker is asked only about the others.

It decides what is worth a judgement and is no judgement: nothing is executed for its results, and no number of it is
reported. Kernels come from our own transformations.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

from argus.agent.journal.store import Run
from argus.agent.judge import Judgement, Problem, Violation
from argus.agent.judge.contract import broken
from argus.agent.repair import repairs
from argus.check.report import Report
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.compile.cache import compile_cached
from argus.device.guards import LaunchRefused
from argus.ir.compile_error import CompileError
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.lang.errors import ProgramError
from argus.machine.errors import MachineError
from argus.pipeline import report_of
from argus.tasks.task import Task
from argus.tasks.work import work_of


def journaled_clock(run: Run, task: Task) -> Callable[[str, float], float]:
    """`clocked`, asked once for every source: a resumed run finds the answer in its journal."""

    def asked(source: str, limit: float) -> float:
        key = f"clock:{hashlib.sha256(source.encode()).hexdigest()}"
        known = run.journal.event(run.id, key)
        if known is None:
            took = clocked(source, task, limit) if task.device == "simulated" else math.inf
            run.record(0, key, "clock", {"microseconds": took if math.isfinite(took) else None})
            return took
        found = known.payload["microseconds"]
        return math.inf if found is None else float(found)

    return asked


def clocked(source: str, task: Task, limit: float = math.inf) -> float:
    """The geometric mean over the task's shapes; up to `limit` that of a proved kernel. What the compiler refuses is
    looked at with the repair it would get after the judgement that refuses it."""
    try:
        return _clocked(source, task, limit)
    except CompileError as error:
        refused = Judgement("fail", "compile", (Violation(error.code, error.message),))
        for repair in repairs(source, refused)[:1]:
            try:
                return _clocked(repair.source, task, limit)
            except CompileError:
                break
        return math.inf


def _clocked(source: str, task: Task, limit: float) -> float:
    try:
        kernel = read(source, beside=dict(task.beside), target=task.kernel.target)
        if any(True for _ in broken(kernel, task.kernel, Problem.of(task))):
            return math.inf
        program = scheduled(kernel)
        code = compile_cached(program).object
        logs = []
        for sizes in task.shapes:
            work = work_of(kernel, code, sizes, 0, task.routing, task.kernel)
            seen = sample(work)
            took = time_prepared(work, prepared(seen), matrix_element(seen))[1].sustained.microseconds
            logs.append(math.log(float(took)))
        mean = math.exp(sum(logs) / len(logs))
        if mean > limit:
            return mean
        report: Report = report_of(program, run=False)
        return mean if report.proved else math.inf
    except (ProgramError, LaunchRefused, MachineError):
        return math.inf

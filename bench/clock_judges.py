"""Judges that prove, compile and time a kernel and execute nothing: for experiments about the search, not for results.

    with ClockJudges(Path("looks.jsonl")) as judges:
        state = optimise(task, settings, judges)

The stages read, contract, check, compile and time are those of the judge (`argus.agent.judge.court`), with the same
names and violations, at the task's timed shapes; the stages in which a candidate runs on data are left out. A search
takes the same way with both as long as nothing fails there. What passes here was not judged and is no result of Argus.
Answers are kept in a file, one line each, so that equal sources of many searches are looked at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from argus.agent.judge import Judgement, Problem, Violation
from argus.agent.judge.contract import broken
from argus.agent.judge.price import prices
from argus.agent.judge.problem import shape_text
from argus.agent.judging import Judges
from argus.clock.bottleneck import main_stalls
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.compile.cache import compile_cached
from argus.ir.compile_error import CompileError
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import ProgramError, read
from argus.machine import MachineError
from argus.pipeline import report_of
from argus.tasks.task import Task
from argus.tasks.work import work_of

NONE = "proved and timed, not executed"
"""Stands where a judgement has its evidence, so that a search ranks what passes here."""


class ClockJudges(Judges):
    """In this process; `asked` counts sources that the file did not have."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, Judgement] = {}
        self.asked = 0
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            entry = json.loads(line)
            self._kept[entry["key"]] = Judgement.from_json(entry["judgement"], {})

    def judge(self, sources: Sequence[str], task: Task, *, seed: int) -> Iterator[Judgement]:
        problem = Problem.of(task)
        for source in sources:
            key = hashlib.sha256(f"{problem.digest()}\n{source}".encode()).hexdigest()
            if key not in self._kept:
                self.asked += 1
                found = self._kept[key] = looked_at(source, task, problem)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "judgement": found.to_json()}) + "\n")
            yield self._kept[key]

    def close(self) -> None:
        """There is no process to end."""


def looked_at(source: str, task: Task, problem: Problem) -> Judgement:
    """Proof and time of one source."""
    try:
        kernel = read(source, beside=dict(task.beside), target=task.kernel.target)
    except ProgramError as error:
        said = f"{error.diagnostic.code}: {error.diagnostic.message}"
        return Judgement("error", "read", (Violation("read", said, error.diagnostic.span.line, "error"),))
    wrong = tuple(broken(kernel, task.kernel, problem))
    if wrong:
        return Judgement("fail", "contract", wrong)
    program = scheduled(kernel)
    refused = _unproved(program)
    if refused is not None:
        return refused
    try:
        code = compile_cached(program).object
        times: dict[str, float] = {}
        bottleneck: dict[str, object] = {}
        for sizes in problem.shapes:
            work = work_of(kernel, code, sizes, 0, task.routing, task.kernel)
            seen = sample(work)
            recorded = prepared(seen)
            timing, launch = time_prepared(work, recorded, matrix_element(seen))
            times[shape_text(sizes)] = float(launch.sustained.microseconds)
            bottleneck = bottleneck or {
                "bound": launch.bound,
                "stalls": main_stalls(timing),
                "helps": prices(recorded, timing),
            }
    except CompileError as error:
        return Judgement("fail", "compile", (Violation(error.code, error.message, status="error"),))
    except MachineError as error:
        return Judgement("fail", "time", (Violation(error.report.code, str(error.report)),))
    return Judgement("pass", "time", (), times, {}, bottleneck, evidence=NONE)


def _unproved(program: Scheduled) -> Judgement | None:
    """What the checker does not prove; a counterexample counts more than what is open."""
    verdicts = report_of(program, kept=False).verdicts
    refuted = [v for v in verdicts if v.status == "refuted"]
    open_ = [v for v in verdicts if v.status == "unknown"]
    if not (refuted or open_):
        return None
    violations = tuple(
        Violation(
            v.rule,
            v.counterexample.message if v.counterexample is not None else v.reason,
            v.span.line,
            v.status,
            v.counterexample.help if v.counterexample is not None else v.help,
        )
        for v in (*refuted, *open_)
    )
    return Judgement("fail" if refuted else "unknown", "check", violations)

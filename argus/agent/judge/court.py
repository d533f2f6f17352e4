"""The stages of a judgement, in order; the first that finds something wrong ends it.

    read       the file is a program of the language
    contract   it solves the task that was set, at every shape of the task
    check      every rule is proved, on the program as it is scheduled; `unknown` ends here as `unknown`
    compile    it becomes a code object, and the audit of the object holds
    small      small shapes, whole, on the checking interpreter: no reports, right results, under several orders of
               waves, bit-identical where the task says so, on several kinds of data
    algebra    one workgroup of the first small shape in exact algebra: other numbers than specified, however near
    shapes     the task's shapes on the JIT, a few workgroups each, on data of a hidden seed
    held_out   shapes the candidate was not asked to be fast at, whole or in part
    time       the clock, or the GPU (`measure`), at the task's shapes; below nine tenths of the least possible time
               nothing is believed

The candidate is read and never executed as Python. Its object runs in the machine, which bounds every access.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from argus.agent.judge.contract import broken
from argus.agent.judge.data import poisoned
from argus.agent.judge.evidence import evidence, question
from argus.agent.judge.exact import exactly
from argus.agent.judge.floor import ALLOWED, least_microseconds
from argus.agent.judge.measure import Contender, UnbelievableError
from argus.agent.judge.measure import MeasuringBench as Measuring
from argus.agent.judge.price import prices
from argus.agent.judge.problem import Judgement, Sizes, Verdict, Violation, fault, shape_text
from argus.agent.judge.trials import Ended, TrialBench, Trials
from argus.check.report import counterexample_json
from argus.check.rounding import ErrorBound, rounding
from argus.clock.bottleneck import main_stalls
from argus.clock.observe import SHORT
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.clock.uncertainty import interval_of
from argus.compile.cache import compile_cached
from argus.device.hip_calls import HipError
from argus.device.hip_calls import load as load_hip
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.ir.types import Span
from argus.lang import ProgramError, read
from argus.lang.source import SOURCE_NAME
from argus.machine import MachineError
from argus.pipeline import report_of
from argus.tasks.work import work_of


class Court(TrialBench):
    """One problem; judges any number of candidates."""

    def judge(self, source: str, seed: int) -> Judgement:
        """Never raises for what a candidate does; a fault of the judge is an `error` of the rule `judge`."""
        return _Case(self, source, seed).judgement()


@dataclass
class _Case:
    court: Court
    source: str
    seed: int
    seconds: dict[str, float] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    roof: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, dict[str, Any]] = field(default_factory=dict)
    bottleneck: dict[str, Any] = field(default_factory=dict)
    proved: int = 0
    unknown: int = 0
    code: bytes = b""

    def judgement(self) -> Judgement:
        try:
            self._stages()
        except Ended as end:
            return self._answer(end.verdict, end.stage, end.violations)
        return self._answer("pass", "time", ())

    def _answer(self, verdict: Verdict, stage: str, violations: tuple[Violation, ...]) -> Judgement:
        asked = question(self.source, self.court.problem, self.seed)
        rests = {"verdict": verdict, "stage": stage, **self.found}
        if self.court.problem.device == "simulated":
            rests["times"] = self.times
        return Judgement(
            verdict,
            stage,
            violations,
            self.times if verdict == "pass" else {},
            self.roof,
            self.bottleneck,
            self.proved,
            self.unknown,
            evidence(asked, self.code, rests),
            self.seconds,
            self.intervals if verdict == "pass" else {},
        )

    def _stages(self) -> None:
        problem = self.court.problem
        with self._stage("read"):
            kernel = self._read()
        with self._stage("contract"):
            wrong = tuple(broken(kernel, self.court.naive, problem))
            if wrong:
                raise Ended("fail", "contract", wrong)
        with self._stage("check"):
            program = scheduled(kernel)
            self._check(program)
        with self._stage("compile"):
            self._compile(program)
        with self._stage("small"):
            trials = Trials(self.court, kernel, self.code, self.seed, self._bound(program))
            trials.small()
        with self._stage("algebra"):
            for sizes in problem.small[:1]:
                self._exactly(kernel, sizes, trials)
        with self._stage("shapes"):
            trials.sampled("shapes", problem.shapes)
        with self._stage("held_out"):
            trials.sampled("held_out", problem.held_out)
            self.found["results"] = trials.passed
        with self._stage("time"):
            for sizes in problem.shapes:
                self._time(kernel, sizes, trials.executed.get(shape_text(sizes), 0))

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        except Ended:
            raise
        except MachineError as error:
            raise Ended("fail", name, (_machine(error),)) from error
        except Exception as error:
            raise Ended("error", name, (fault(error),)) from error
        finally:
            self.seconds[name] = round(time.perf_counter() - started, 3)

    def _read(self) -> Kernel:
        try:
            return read(self.source, beside=self.court.problem.beside, target=self.court.problem.target)
        except ProgramError as error:
            seen = error.diagnostic
            message = f"{seen.code}: {seen.message}"
            raise Ended("error", "read", (Violation("read", message, _line(seen.span), "error"),)) from error

    def _check(self, program: Scheduled) -> None:
        report = report_of(program, kept=False)
        counts = report.count()
        self.proved, self.unknown = counts["proved"], counts["unknown"]
        self.found["verdicts"] = [[v.rule, v.status, v.span.line] for v in report.verdicts]
        refuted = [v for v in report.verdicts if v.status == "refuted"]
        open_ = [v for v in report.verdicts if v.status == "unknown"]
        violations = tuple(
            Violation(
                v.rule,
                v.counterexample.message if v.counterexample is not None else v.reason,
                _line(v.span),
                v.status,
                v.counterexample.help if v.counterexample is not None else v.help,
                counterexample_json(v.counterexample) if v.counterexample is not None else {},
            )
            for v in (*refuted, *open_)
        )
        if violations:
            raise Ended("fail" if refuted else "unknown", "check", violations)

    def _exactly(self, kernel: Kernel, sizes: Sizes, trials: Trials) -> None:
        """*Different* ends the judgement; *not followed* is evidence."""
        court, executed = self.court, trials.executed.get(shape_text(sizes), 0)
        given, scalars = court.given("small", sizes, "normal", self.seed), court.scalars("normal", self.seed)
        found = exactly(kernel, self.code, court.spec, sizes, given, scalars, self.seed, executed)
        self.found["algebra"] = None if found is None else found.to_json()
        if found is not None and found.comparison.verdict == "different":
            said = f"{found.place}: {found.comparison}"
            raise Ended("fail", "algebra", (Violation("algebra", said, detail=found.comparison.to_json()),))

    def _bound(self, program: Scheduled) -> ErrorBound | None:
        """The error bound of the candidate's arithmetic."""
        bound = rounding(program.kernel).of(self.court.spec.result)
        return bound if isinstance(bound, ErrorBound) else None

    def _compile(self, program: Scheduled) -> None:
        try:
            self.code = compile_cached(program).object
        except CompileError as error:
            said = Violation(error.code, error.message, _line(error.span), "error", "; ".join(error.notes))
            raise Ended("fail", "compile", (said,)) from error

    def _time(self, kernel: Kernel, sizes: Sizes, instructions: int) -> None:
        """`instructions`: of the first workgroup, as far as known; where it is long, no interpreter need try it."""
        work = work_of(kernel, self.code, sizes, self.seed, self.court.problem.routing, self.court.naive)
        seen = sample(work, self.seed, "jit" if instructions > SHORT else "auto")
        recorded = prepared(seen, self.seed)
        timing, launch = time_prepared(work, recorded, matrix_element(seen))
        name = shape_text(sizes)
        least = least_microseconds(self.court.naive, sizes, self.court.spec)
        if self.court.problem.device == "hip":
            took = self._measured(kernel, sizes, least)
        else:
            took = float(launch.sustained.microseconds)
            self.intervals[name] = interval_of(launch).to_json()
        certain = least_microseconds(self.court.naive, sizes, self.court.spec, certain=True)
        if took < ALLOWED * certain:
            message = f"{name}: {took:.1f} µs, less than the least possible {certain:.1f} µs"
            raise Ended("fail", "time", (Violation("speed of light", message),))
        self.times[name], self.roof[name] = took, least
        if not self.bottleneck:
            self.bottleneck = {
                "bound": launch.bound,
                "stalls": main_stalls(timing),
                "helps": prices(recorded, timing),
                "utilisation": {unit: round(share, 4) for unit, share in timing.utilisation.items()},
                "clock_mhz": launch.sustained.clock_mhz,
            }

    def _measured(self, kernel: Kernel, sizes: Sizes, least: float) -> float:
        """Microseconds on the GPU, beside the naive kernel on the same data."""
        naive = self.court.naive
        data = {**self.court.given("time", sizes, "normal", self.seed), **poisoned(kernel, sizes)}
        scalars = self.court.scalars("normal", self.seed)
        mine = Contender(kernel, self.code, sizes, data, scalars)
        theirs = Contender(naive, compile_cached(scheduled(naive)).object, sizes, data, scalars)
        try:
            found = Measuring(load_hip()).compare(theirs, mine, least=1e-6 * least)
        except (HipError, UnbelievableError) as error:
            raise Ended("error", "time", (Violation("measure", str(error), status="error"),)) from error
        return 1e6 * found["candidate"].median


def _line(span: Span) -> int:
    """The line of the candidate's own text; 0 for a place in a file it imports, which no edit of it can change."""
    return span.line if span.file == SOURCE_NAME else 0


def _machine(error: MachineError) -> Violation:
    report = error.report
    return Violation(report.code, str(report), detail=report.to_json())

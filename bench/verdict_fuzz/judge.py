"""One source before checker and machine, and what is wrong between the two.

    record = judge(program, source)
    record.verdict    "proved", "refuted", "unknown", "unreadable", "hang" or "traceback"
    record.truth      "right", "wrong", "hazard", "rounded", "refused", "beyond", "untested" (`truth`)
    record.exact      what exact algebra says of the object: "equal", "different", "not followed", … (`exact`)
    record.fault      a disagreement, or nothing

Faults, worst first: *proved and wrong*, *proved and hazard*, *right and refuted*, *traceback*, *hang* (more than LIMIT
seconds of CPU time).
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.engine import check
from argus.check.executed.inputs import data_of
from argus.check.executed.premises import outside
from argus.check.explain.value_witness import launch_of
from argus.check.report import Counterexample, Report
from argus.check.rounding import ErrorBound, rounding
from argus.device.simulated import JitDevice
from argus.ir.interp import extents
from argus.ir.kernel import Kernel
from argus.ir.ops import Atomic, Load, Store, walk
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang.errors import ProgramError
from argus.lang.reader import read
from argus.spec import Bounded, ResultSpec, evaluate
from argus.spec.compare import compare
from argus.tasks.inputs import in_memory
from bench.verdict_fuzz.compiled_once import compiled_once
from bench.verdict_fuzz.exact import largest
from bench.verdict_fuzz.kept_truth import kept_truth, object_of
from bench.verdict_fuzz.program import Arrays, Generated
from bench.verdict_fuzz.truth import Truth, truth_of, written_once

LIMIT = 10.0
FAR = 0.1
SPEED_RULES = frozenset({"bank_free", "vector", "coalesced"})
FOLDER = TemporaryDirectory(prefix="verdict_fuzz")


class Hang(BaseException):
    """The time limit; no `except Exception` of the checker may take it for an error of its own."""


@dataclass(frozen=True)
class Record:
    verdict: str
    truth: str
    detail: str = ""
    rules: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0
    fault: str = ""
    exact: str = ""
    lost: str = ""
    object: str = ""
    notes: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """At most so much CPU time."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def program_of_text(program: Generated, source: str) -> Scheduled:
    """The kernel of a text, in its final order; the file has the same name always, so that texts alone differ."""
    path = Path(FOLDER.name) / "kernel.py"
    path.write_text(source)
    return scheduled(read(path, settings=dict(program.settings), kernel=program.kernel))


def verdict_of(report: Report) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The verdict of the rules about correctness, the rules that refute, and why others do not know."""
    relevant = [v for v in report.verdicts if v.rule not in SPEED_RULES]
    refuting = tuple(dict.fromkeys(v.rule for v in relevant if v.status == "refuted"))
    reasons = tuple(dict.fromkeys(f"{v.rule}: {v.reason}" for v in relevant if v.status == "unknown"))
    return ("refuted" if refuting else "unknown" if reasons else "proved"), refuting, reasons


def judge(
    program: Generated, source: str, intended_right: bool = False, before: Mapping[str, Any] | None = None
) -> Record:
    """Read, check, compile and run one text. `intended_right`: the generator says that it is right; `before`: its row
    of an earlier run, whose truth is taken where it still holds (`kept_truth`)."""
    try:
        with limited(2 * LIMIT):
            made = program_of_text(program, source)
    except ProgramError as error:
        return Record("unreadable", "untested", detail=str(error).splitlines()[0][:200])
    except (Exception, Hang):
        return Record("traceback", "untested", detail=last_lines(), fault="traceback while reading")
    start = process_time()
    report: Report | None = None
    verdict, detail = "traceback", ""
    rules: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    try:
        with limited(4 * LIMIT):
            report = check(made)
        verdict, rules, reasons = verdict_of(report)
    except Hang:
        verdict = "hang"
    except Exception:
        detail = last_lines()
    seconds = process_time() - start
    internal = [r for r in reasons if ": internal: " in r]
    suggested = tuple(
        v.counterexample.sizes for v in report.verdicts if v.counterexample is not None
    ) if report is not None else ()  # fmt: skip
    truth = kept_truth(before, verdict, made) if before is not None else None
    if truth is None:
        truth = _told(program, made, suggested[:2], source)
    fault = fault_of(verdict, truth.kind, bool(internal), seconds, intended_right)
    if fault == "right and refuted" and report is not None and broken_rules(program, made, report):
        fault = ""  # the results are right, and yet the rule is broken as it says
    shown = _shown(report) if verdict == "refuted" and report is not None else ""
    exact, lost = (truth.exact.verdict, truth.exact.detail) if truth.exact is not None else ("", "")
    return Record(
        verdict, truth.kind, detail or truth.detail, rules, reasons, seconds, fault, exact, lost, object_of(made),
        {"shown": shown},
    )  # fmt: skip


def _told(program: Generated, made: Scheduled, suggested: tuple[Mapping[str, int], ...], source: str) -> Truth:
    try:
        with limited(6 * LIMIT):
            return truth_of(program, made, suggested, source)
    except Hang:
        return Truth("untested", "the machine took too long")
    except Exception:
        return Truth("untested", "traceback: " + last_lines())


def broken_rules(program: Generated, made: Scheduled, report: Report) -> tuple[str, ...]:
    """Refuted rules, seen broken although no launch of the program shows it: an element not written once (also by a
    wide store that runs into the next row), a coordinate outside, an object that differs at the inputs of the
    counterexample."""
    found = []
    for v in report.verdicts:
        shown = v.counterexample
        if v.status != "refuted" or shown is None:
            continue
        if v.rule == "covers" and not written_once(program, made.kernel, shown.sizes):
            found.append("covers")
        if v.rule == "value" and another_value(made, shown):
            found.append("value")
        outside = _outside(made.kernel, shown) or not written_once(program, made.kernel, shown.sizes)
        if v.rule == "in_bounds" and outside:
            found.append("in_bounds")
    return tuple(found)


def another_value(made: Scheduled, shown: Counterexample) -> bool:
    """The object, launched with the inputs of a counterexample, holds another number than the specification, where no
    number is beyond its type: another whole number, or a float outside the bound that its own types give."""
    kernel, launch = made.kernel, launch_of(shown)
    given, symbols = data_of(kernel, launch)
    if outside(kernel, launch):
        return False
    memory = in_memory(kernel, launch.sizes, given)
    JitDevice().launch(kernel, compiled_once(made), dict(launch.sizes), memory, symbols)
    derived, names = rounding(kernel), {**launch.sizes, **symbols}
    for spec in kernel.computes.results if kernel.computes is not None else ():
        got = np.asarray(memory[spec.result])
        with np.errstate(all="ignore"):
            want = evaluate(spec, {spec.result: got, **given}, names)
            if got.dtype.kind in "iu":
                if not want.error.any() and compare(got, want).first_wrong is not None:
                    return True
            elif _outside_bound(got, want, derived.of(spec.result), spec, given, names):
                return True
    return False


def _outside_bound(
    got: NDArray[Any], want: Bounded, bound: object, spec: ResultSpec, given: Arrays, names: Mapping[str, float]
) -> bool:
    """A finite specified element that the result misses by more than the derived bound; where there is none, as behind
    a test of rounded numbers, by more than a tenth of its size and that of its neighbors."""
    usual = float(np.sqrt(np.mean(np.square(want.value[np.isfinite(want.value)])))) if want.value.size else 0.0
    far = FAR * (np.abs(want.value) + usual)
    most = bound.at(spec, given, names, want.value) if isinstance(bound, ErrorBound) else far
    judged = np.isfinite(want.value) & np.isfinite(most) & (np.abs(want.value) + most <= largest(got.dtype))
    return bool((judged & ~(np.abs(got.astype(np.float64) - want.value) <= most)).any())


def _outside(kernel: Kernel, shown: Counterexample) -> bool:
    """A named access begins outside of an axis, or runs beyond its end: its later elements are of the next row."""
    accesses = [op.access for op in walk(kernel.body) if op.id == shown.op and isinstance(op, Load | Store | Atomic)]
    for party in shown.operands:
        tensor = next((t for t in kernel.tensors if t.name == party.tensor), None)
        if tensor is not None:
            limits = dict(zip(tensor.axes, extents(tensor, shown.sizes), strict=True))
            if any(not 0 <= at < limits.get(axis, at + 1) for axis, at in party.coords.items()):
                return True
            for access in accesses:
                axis = tensor.axes[access.axis]
                if access.memory is tensor and party.coords[axis] + access.count > limits[axis]:
                    return True
    return False


def fault_of(verdict: str, truth: str, internal: bool, seconds: float, intended_right: bool) -> str:
    if verdict == "proved" and truth == "wrong":
        return "proved and wrong"
    if verdict == "proved" and truth == "hazard":
        return "proved and hazard"
    if verdict == "refuted" and truth in ("right", "rounded", "beyond"):
        return "right and refuted"
    if verdict == "traceback" or internal:
        return "traceback"
    if verdict == "hang" or seconds > LIMIT:
        return "hang"
    if intended_right and truth in ("wrong", "hazard", "rounded"):
        return "meant to be right"
    return ""


def _shown(report: Report) -> str:
    for v in report.verdicts:
        if v.status == "refuted":
            message = v.counterexample.message if v.counterexample is not None else v.reason
            return f"{v.rule} line {v.span.line}: {message}"
    return ""


def last_lines() -> str:
    return " | ".join(line.strip() for line in traceback.format_exc().splitlines()[-3:])[:400]

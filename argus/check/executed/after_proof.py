"""A proved kernel is executed; if it disagrees with its specification, nothing about it is proved any more.

    report = after_proof(program, check(program))
    report.executed.note()       executed 6 launches

A disagreement (ARG-K101) is a mistake of the checker or of the interpreter, or a loss of digits that is not bounded
(`log(exp(x))`), which is then said. The verdict becomes `unknown`, and a folder is saved with the kernel's source and
the launch, from which `argus check` shows the same again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from time import process_time

from argus.check.executed.execute import execute
from argus.check.executed.outcome import NOT_ASKED, Disagreement, Executed
from argus.check.report import Report, Verdict
from argus.check.rules.isolation import internal
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.stages import Scheduled

CODES = {"ARG-K101": "a proof disagrees with its execution"}
BEYOND = "look for a constant or a factor that makes an exponential, a product or a quotient too large or too small"
SAVED = "disagreements"
"""Folder beside the kept proofs."""


def after_proof(program: Scheduled, report: Report, folder: Path, run: bool = True) -> Report:
    """The report with what was executed. Reproductions are saved in `folder`."""
    if not report.proved:
        return report
    if not run:
        return replace(report, executed=Executed(skipped=NOT_ASKED))
    start = process_time()
    try:
        found = execute(insert_waits(program.kernel))
    except Exception as error:  # the proof stands; that it was not executed is said
        found = Executed(skipped=internal(error))
    stats = {**report.stats, "executed": process_time() - start}
    if found.problem is not None:
        return disagreeing(replace(report, stats=stats), found.problem, folder)
    if found.beyond is not None:
        reason = f"with ordinary inputs a number leaves its type at every launch tried: {found.beyond.sentence()}"
        return withdrawn(replace(report, stats=stats), reason, BEYOND)
    return replace(report, executed=found, stats=stats)


def disagreeing(report: Report, problem: Disagreement, folder: Path) -> Report:
    """The report without its proofs of values."""
    path = saved(report.kernel, problem, folder)
    where = f"saved as {path}" if path is not None else f"{folder} cannot be written to, so nothing was saved"
    reason = f"ARG-K101: {CODES['ARG-K101']}: {problem.sentence()}"
    lost = f"digits are lost ({problem.rounding}), or it is " if problem.rounding else ""
    advice = f"{lost}a mistake of the checker, please report it with the reproduction ({where}); argus explain K101"
    return withdrawn(report, reason, advice)


def withdrawn(report: Report, reason: str, advice: str) -> Report:
    """The report with `value` unknown."""
    verdicts = tuple(
        replace(v, status="unknown", decided_by="execution", reason=reason, help=advice) if v.rule == "value" else v
        for v in report.verdicts
    )
    if all(v.rule != "value" for v in verdicts):
        more = Verdict("value", "unknown", report.kernel.span, -1, "execution", reason=reason, help=advice)
        verdicts = (*verdicts, more)
    return replace(report, verdicts=verdicts)


def saved(kernel: Kernel, problem: Disagreement, folder: Path) -> Path | None:
    """A folder with the kernel's files and `launch.json`; None if it cannot be written."""
    launch = {
        "kernel": kernel.name, "file": Path(kernel.file).name, "settings": dict(kernel.settings), **asdict(problem),
    }  # fmt: skip
    text = json.dumps(launch, indent=2, default=str)
    name = hashlib.sha256(f"{kernel.full_source}\0{text}".encode()).hexdigest()[:12]
    path = folder / SAVED / f"{kernel.name}-{name}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        for file, source in kernel.files():
            (path / Path(file).name).write_text(source)
        (path / "launch.json").write_text(text + "\n")
    except OSError:
        return None
    return path

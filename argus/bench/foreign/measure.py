"""One case on one executor: result, rates, what the checks reported.

    row = measure(root, case, "jit", ())        MeasuredRow; row.failure is "" if the result is within its bounds

Rates are wave instructions and floating-point (or integer) operations per CPU second of the launch itself, arguments
copied in and out included, translation by the JIT not (it is done once, before). A kernel that cannot be run, or that
the machine stops, is a failure with the machine's sentence; findings of the checks are not, they are shown.

A kernel with a known flaw (a race, a missing wait) gives different results for different orders of waves. It is
judged on the interpreter with waves taking turns at every instruction and memory completing at once, as near to the
hardware's timing as the machine has; the checks get a launch of their own. On the JIT, which runs a wave from barrier
to barrier, the error is shown but not judged. Neither is a kernel that the JIT leaves to the interpreter.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from argus import machine
from argus.bench.foreign.case import CaseJudgement, ForeignCase
from argus.machine.checks import CheckName
from argus.machine.errors import MachineReport
from argus.machine.jit.errors import JitError, JitUnsupported
from argus.machine.jit.executor import translate
from argus.machine.launch import Executor, Options


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """What the table shows of one case."""

    case: ForeignCase
    executor: Executor
    judgement: CaseJudgement | None = None
    instructions: int = 0
    seconds: float = 0.0
    reports: list[MachineReport] = field(default_factory=list)
    stopped: str = ""
    left_out: str = ""
    """Why the result is not judged, if it is not."""

    @property
    def failure(self) -> str:
        if self.left_out:
            return ""
        if self.judgement is None:
            return self.stopped
        if not self.judgement.ok:
            return f"off by {self.judgement.share:.3g} times what rounding may do"
        return ""

    @property
    def found(self) -> str:
        """Reports by code, such as "ARG-M101 x2"; notes, which are no errors, behind a slash."""
        errors = Counter(report.code for report in self.reports if report.level == "error")
        notes = Counter(report.code for report in self.reports if report.level != "error")
        shown = [", ".join(f"{code} x{count}" for code, count in sorted(c.items())) for c in (errors, notes)]
        return (shown[0] or "none") + (f" / {shown[1]}" if notes else "")


def measure(
    root: Path, build: Callable[[], ForeignCase], executor: Executor, checks: Sequence[CheckName]
) -> MeasuredRow:
    """Run a case once (with a flaw and checks: twice); `build` makes it, with fresh arguments."""
    case = build()
    try:
        if not (case.flaw and checks):
            return _launch(root, case, executor, checks)
        plain, checked = _launch(root, case, executor, ()), _launch(root, build(), executor, checks)
        return replace(plain, reports=checked.reports)
    except JitUnsupported as why:
        return MeasuredRow(case, executor, left_out=str(why))
    except (machine.LoadError, machine.MachineError, JitError) as why:
        return MeasuredRow(case, executor, stopped=str(why).splitlines()[0])


def _launch(root: Path, case: ForeignCase, executor: Executor, checks: Sequence[CheckName]) -> MeasuredRow:
    kernel = machine.load(root / case.path).kernel()
    if executor == "jit":
        translate(kernel.code, kernel.info.name, full_waves=case.block % 64 == 0)
    start = time.process_time()
    options = Options(checks=tuple(checks), quantum=1 if case.flaw else Options().quantum)
    result = kernel(case.grid, case.block, *case.args, offsets=case.offsets, executor=executor, options=options)
    seconds = time.process_time() - start
    left_out = case.flaw if executor == "jit" else ""
    return MeasuredRow(case, executor, case.judge(), result.instructions, seconds, result.reports, left_out=left_out)

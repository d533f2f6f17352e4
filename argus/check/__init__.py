"""Data-flow invariants of a kernel, proved before anything runs.

    report = check(kernel)
    report.status            proved, refuted or unknown
    print(report.render())   text for people; report.to_json() for programs

The kernel is first given its waits (`argus.ir.waits`), then walked once (`flow`); each rule listens and gives its
verdicts. Rules hold for all launches that satisfy `requires`, with the bounds printed beside each proof and the
hardware tables as they stand in `argus.gfx942`. Not covered: rounding, LLVM, timing.
"""

from __future__ import annotations

from argus.check.engine import check
from argus.check.report import Counterexample, Operand, Report, Status, Verdict

__all__ = ["Counterexample", "Operand", "Report", "Status", "Verdict", "check"]

"""Data-flow invariants of a kernel, proved before anything runs.

    report = check(kernel)
    report.status            proved, refuted or unknown
    print(report.render())   text for people; report.to_json() for programs

The kernel is first given its waits (`argus.ir.passes.insert_waits`), then walked once (`walk`); each rule listens and
gives its verdicts. Rules hold for all launches that satisfy `requires`, with the bounds printed beside each proof and
the hardware tables as they stand in `argus.gfx942`. Not covered: rounding, LLVM, timing.
"""

from __future__ import annotations

from argus.check.engine import check
from argus.check.report import Counterexample, Party, Report, Status, Verdict

__all__ = ["Counterexample", "Party", "Report", "Status", "Verdict", "check"]

"""A stated `conform` is an assertion: what else is proved does not change with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of

PAGED = Path("examples/agent/uncovered/paged_scores.py").read_text()
LAST = "    I[b, t].store(total, width=4, guard=ag.lane() < 32)\n"


@pytest.mark.parametrize("axes", [("B",), ("G",), ("D",), ("B", "G", "D")])
def test_an_assertion_about_any_common_axis_leaves_the_rest_proved(axes: tuple[str, ...]) -> None:
    assert PAGED.endswith(LAST)
    stated = "".join(f'    ag.check.conform(ag.mfma, "{axis}")\n' for axis in axes)
    report = report_of(scheduled(read(PAGED + stated)), run=False)
    assert {verdict.status for verdict in report.verdicts} == {"proved"}
    assert {"value", "placed", "reduced", "covers"} <= {verdict.rule for verdict in report.verdicts}

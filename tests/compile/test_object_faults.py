"""One changed instruction at a time: whatever alters behavior on the machine is seen by the audit or the re-check.

A sample of what `python -m bench.object_faults` does with every fault and with the GEMM."""

from __future__ import annotations

import pytest

from bench.object_fault_cases import CASES, FaultCase
from bench.object_faults import CHANGES, run

SMALL = [case for case in CASES if case.name != "gemm"]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_what_alters_behavior_is_seen(case: FaultCase) -> None:
    missed: list[str] = []
    rows = run(case, limit=24, show=missed.append)
    assert not missed
    assert sum(row.alters for row in rows.values()) >= 10


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_fault(case: FaultCase) -> None:
    missed: list[str] = []
    rows = run(case, show=missed.append)
    assert not missed
    assert set(rows) <= {*CHANGES, "access moved across a barrier"}

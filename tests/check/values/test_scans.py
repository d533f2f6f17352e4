"""Scans of the library are proved with their specification, in little time; intervals of loops that walk downwards."""

from __future__ import annotations

import itertools
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest

from argus.check import check
from argus.check.domain.reduction_footprint import FootprintPart, Over
from argus.check.domain.reduction_intervals import intervals
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.layout import expr as E

SCAN = Path(__file__).parents[3] / "argus" / "kernels" / "scan.py"
WAYS = list(itertools.product((False, True), (False, True)))
SETTINGS = [
    *(
        ("scan", {"OP": op, "EXCLUSIVE": e, "REVERSE": r, "CHUNKS": 1})
        for op in ("sum", "prod", "max")
        for e, r in WAYS
    ),
    *(("scan_masked", {"EXCLUSIVE": e, "REVERSE": r, "CHUNKS": 1}) for e, r in WAYS[1::2]),
    *(("scan_axis", {"OP": op, "EXCLUSIVE": True, "REVERSE": True}) for op in ("sum", "prod", "min")),
    ("scan", {"DTYPE": "bf16", "CHUNKS": 2}),
]


@pytest.mark.parametrize(("kernel", "settings"), SETTINGS, ids=str)
def test_every_scan_is_proved(kernel: str, settings: dict[str, Any]) -> None:
    program = scheduled(read(SCAN, settings=settings, kernel=kernel))
    start = process_time()
    report = check(program)
    assert report.proved, report.render()
    assert any(v.rule == "value" for v in report.verdicts)
    assert process_time() - start < 5.0  # 0.2 to 0.8 s on a free core


@pytest.mark.parametrize(("width", "step"), [(64, 64), (64, -64), (64, 32), (64, -128), (1, -1), (8, 9)])
def test_loops_that_walk_either_way(width: int, step: int) -> None:
    """Against sets: an interval is claimed only where each coordinate is taken once and none is left out."""
    turn, turns = E.var("j", 0, 100), 5
    start = E.const(1000) + step * turn
    loop = Over(turn, E.const(0), E.const(turns), 1, (FootprintPart(start - 1000, 1000, (1 << width) - 1),))
    prover = SimpleNamespace(base=(), holds=lambda facts, goal: True if goal is E.TRUE else None)
    flow: Any = SimpleNamespace(prover=prover, tables=SimpleNamespace(axis_names=["N"]))
    found = intervals(flow, (), (loop,), 0)
    taken = sorted(1000 + step * j + n for j in range(turns) for n in range(width))
    whole = taken == list(range(taken[0], taken[-1] + 1))
    assert isinstance(found, list) == whole
    if isinstance(found, list):
        ((low, high),) = found
        assert (low.value, high.value) == (taken[0], taken[-1] + 1)

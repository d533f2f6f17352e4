"""Every kind of hazard is noted, with its line and reason, of a kernel that is proved; verdicts stay."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from argus.check.engine import check
from argus.check.rounding import rounding
from argus.check.rounding.hazards import HazardKind
from argus.ir.stages import Scheduled
from argus.pipeline import program_of
from tests.check.rounding.hazard_kernels import HAZARDS


def program(name: str, folder: Path) -> Scheduled:
    path = folder / "k.py"
    path.write_text(HAZARDS[name].source)
    return program_of(path, {}, "k")


@pytest.mark.parametrize("name", HAZARDS)
def test_noted_with_line_and_reason(name: str, tmp_path: Path) -> None:
    made = program(name, tmp_path)
    lines = HAZARDS[name].source.splitlines()
    found = [(h.kind, lines[h.line - 1].strip(), h.reason) for h in rounding(made.kernel).hazards]
    wanted = HAZARDS[name].noted
    assert len(found) == len(wanted)
    for (kind, line, reason), (want_kind, start, part) in zip(found, wanted, strict=True):
        assert kind == want_kind
        assert line.startswith(start)
        assert part in reason


@pytest.mark.parametrize("name", ["narrowing", "test", "saturation"])
def test_verdicts_stay(name: str, tmp_path: Path) -> None:
    report = check(program(name, tmp_path))
    assert report.proved
    assert "note: line 13" in report.render()
    assert report.to_json()["hazards"][0]["line"] == 13


def test_every_kind_has_a_kernel() -> None:
    assert {kind for h in HAZARDS.values() for kind, _, _ in h.noted} == set(get_args(HazardKind))

"""`python -m bench.clock.choice`: what a kept line says with the present clock, and that nothing is simulated twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from argus.bench.hipblaslt import Entry, Table
from argus.clock.profile import Profile
from argus.clock.protocol import floor
from bench.clock import choice
from bench.clock.rows import code_of

FACTS = {
    "MacroTile0": 64,
    "MacroTile1": 64,
    "GlobalSplitU": 1,
    "AssertFree0ElementMultiple": 1,
    "AssertFree1ElementMultiple": 1,
    "AssertSummationElementMultiple": 1,
}


def line(size: tuple[int, int, int], code: str = "older", **clocks: float) -> dict[str, Any]:
    """A size at which the solutions named take so many clocks; the first is the chosen one."""
    profiles = {name: Profile(compute=((1250, count), (2100, count))).to_json() for name, count in clocks.items()}
    return {"table": "T", "size": list(size), "chosen": next(iter(clocks)), "launches": profiles, "code": code}


def test_a_line_is_timed_with_the_present_numbers() -> None:
    times = choice.timed(line((1, 2, 3), fast=21_000.0, slow=42_000.0))
    assert times["fast"] == pytest.approx(10 + floor("graph"))
    assert times["slow"] == pytest.approx(20 + floor("graph"))


def test_the_report_counts_first_near_and_names_the_others() -> None:
    lines = [
        line((1, 1, 1), code_of("choice"), a=1e5, b=2e5, c=2e5, d=2e5),
        line((2, 2, 2), a=1.01e5, b=1e5, c=2e5, d=2e5),
        line((3, 3, 3), a=2e5, b=1e5, c=2e5, d=2e5),
    ]
    text = choice.report(lines)
    assert "3 x 3 x 3: a" in text
    assert "2 x 2 x 2" not in text
    assert "3 sizes, at least 4 solutions each" in text
    assert "first at 1, first or within 3% of it at 2 (67%); 1 sizes were simulated by the present code" in text


def test_a_file_is_read_without_objects_and_the_last_line_of_a_size_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "choice.jsonl"
    lines = [line((1, 1, 1), a=2e5, b=1e5), line((1, 1, 1), a=1e5, b=2e5)]
    out.write_text("".join(json.dumps(each) + "\n" for each in lines))
    monkeypatch.setattr(sys, "argv", ["choice", "--out", str(out)])
    assert choice.main() == 0
    assert "1 sizes, at least 2 solutions each: the chosen one is first at 1" in capsys.readouterr().out


def test_rivals_are_choices_of_the_nearest_sizes_that_may_take_this_one(tmp_path: Path) -> None:
    folder = tmp_path / "Cijk_Alik_Bljk_BBS_BH_UserArgs"
    folder.mkdir()
    rows = [[512, 512, 1, 512, 0, 0.0], [512, 512, 1, 1024, 1, 0.0], [512, 512, 1, 2048, 2, 0.0], [8, 8, 1, 8, 3, 0.0]]
    (folder / "table.json").write_text(json.dumps({"kind": "Equality", "rows": rows}))
    for index, depth in enumerate((32, 64, 96, 128)):
        relies = {"AssertFree0ElementMultiple": 1000} if index == 1 else {}
        (folder / f"{index}.co").write_bytes(b"")
        (folder / f"{index}.json").write_text(json.dumps({**FACTS, **relies, "DepthU": depth}))
    found = choice.rivals(Table(folder), Entry(512, 512, 1, 512, 0, 0.0))
    assert [solution.index for solution in found] == [0, 2, 3]

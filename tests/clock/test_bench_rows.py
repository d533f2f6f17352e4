"""`python -m bench.clock`: a run that was cut off goes on, rows say which code made them, and failures are named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import argus
from argus.clock.calibration import read_rows
from argus.clock.sampled import Work
from bench.clock import __main__ as runner
from bench.clock import coverage, smoke
from bench.clock.families import FAMILIES, Family, tasks_of
from bench.clock.hipblaslt import contradicted, unlisted
from bench.clock.rows import Folders, LeftOut, Task, code_of, deciding


def run(monkeypatch: pytest.MonkeyPatch, out: Path, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench.clock", "--smoke", "--out", str(out), "--jobs", "1", *words])
    return runner.main()


def test_a_cut_off_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.jsonl"
    assert run(monkeypatch, out) == 0
    whole = out.read_text()
    lines = whole.splitlines()
    assert len(read_rows([out])) == len(lines) == 4
    assert all(json.loads(line)["simulated"]["code"] == code_of("smoke") for line in lines)
    out.write_text("\n".join(lines[:2]) + "\n" + lines[2][:100])
    capsys.readouterr()
    assert run(monkeypatch, out) == 0
    assert "4 rows, 2 to simulate, 0 held from other code" in capsys.readouterr().out
    assert [json.loads(line)["program"] for line in out.read_text().splitlines()] == [
        json.loads(line)["program"] for line in lines
    ]


def test_rows_of_other_code_are_counted_and_made_anew_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.jsonl"
    run(monkeypatch, out)
    first, *rest = (json.loads(line) for line in out.read_text().splitlines())
    first["simulated"]["code"] = "older"
    out.write_text("".join(json.dumps(line) + "\n" for line in (first, *rest)))
    capsys.readouterr()
    assert run(monkeypatch, out) == 0
    assert "0 to simulate, 1 held from other code" in capsys.readouterr().out
    assert run(monkeypatch, out, "--again") == 0
    assert "1 to simulate, 1 held from other code" in capsys.readouterr().out
    assert "older" not in out.read_text()


def test_the_digest_covers_what_decides_a_row_and_nothing_else() -> None:
    """The simulation, its translator and the chip's data; no fitted number, no checker, no process that compiles."""
    package = Path(argus.__file__).parent
    found = {"/".join(path.parts[-2:]) for path in deciding()}
    assert {"clock/sampled.py", "clock/cu.py", "machine/interp.py", "jit/translator.py", "gfx942/chip.json"} <= found
    assert not {"clock/parameters.json", "clock/residuals.json", "jit/compilers.py", "jit/objects.py"} & found
    rooms = {path.relative_to(package).parts[0] for path in deciding() if path.is_relative_to(package)}
    assert {"clock", "machine", "gfx942"} <= rooms
    assert not {"check", "compile", "lang", "ops"} & rooms


def test_a_row_that_fails_is_named_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> list[Work]:
        raise ValueError("no such object")

    def rows(folders: Folders) -> Iterator[Task | LeftOut]:
        first, second, *_ = smoke.rows(folders)
        yield replace(first, works=broken)
        yield second

    monkeypatch.setattr(runner, "SMOKE", {"smoke": Family("smoke", rows, ())})
    out = tmp_path / "rows.jsonl"
    assert run(monkeypatch, out) == 1
    assert "FAILED, ValueError: no such object" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 1


def test_a_family_without_its_folder_is_left_out_with_a_word() -> None:
    (item,) = tasks_of("fmha", FAMILIES["fmha"], Folders())
    assert item == LeftOut("fmha", 0, "no folder given for facts, aiter")


def test_an_unknown_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="what is it"):
        runner.folders([tmp_path])


def fact(m: int, n: int, k: int, us: float, logic: str = "a") -> dict[str, str]:
    return {"logic": logic, "M": str(m), "N": str(n), "K": str(k), "us": str(us)}


def test_a_time_above_that_of_a_larger_product_is_contradicted() -> None:
    large = fact(1024, 1024, 1024, 10.0)
    assert contradicted(fact(512, 1024, 1024, 11.0), [large])
    assert not contradicted(fact(512, 1024, 1024, 9.0), [large])
    assert not contradicted(fact(512, 2048, 1024, 11.0), [large])
    assert not contradicted(fact(512, 1024, 1024, 11.0, "b"), [large])


def test_speeds_of_a_table_that_no_list_has_are_rows_to_validate_on(tmp_path: Path) -> None:
    folder = tmp_path / "T"
    folder.mkdir()
    rows = [[64, 32, 1, 16, 0, 50.0], [64, 64, 1, 16, 1, 60.0], [64, 64, 1, 32, 2, 70.0], [8, 8, 1, 8, 1, 0.0]]
    (folder / "table.json").write_text(json.dumps({"kind": "Equality", "rows": rows}))
    (folder / "1.co").write_bytes(b"")
    facts = {"MacroTile0": 64, "MacroTile1": 32, "DepthU": 16, "GlobalSplitU": 1}
    (folder / "1.json").write_text(json.dumps(facts))
    found = list(unlisted(tmp_path, [fact(64, 32, 16, 1.0, "aquavanjaram_T.yaml")]))
    assert [row and (row["role"], row["solution"], row["us"], row["macro_tile"]) for row in found] == [
        ("validate", "1", "2.18", "64x32x16"),
        None,
    ]


def test_every_reason_of_the_coverage_table_says_something() -> None:
    assert all(rule.reason or rule.family for rule in coverage.RULES)
    assert coverage.placed({"source": "nobody knows", "kernel": "", "role": "fit"}).reason == coverage.UNKNOWN

"""`argus clock explain` as a user calls it: its text is a stored file and a block of the docs, its JSON has a schema.

`python -m tests.cli.test_clock_explain` writes both texts anew; look at the difference before keeping them.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from argus.cli.main import main

ROOT = Path(__file__).parents[2]
VADD = ROOT / "argus" / "kernels" / "vadd.py"
GOLDEN = Path(__file__).parent / "golden" / "clock_explain_vadd.txt"
COMMAND = ["clock", "explain", str(VADD), "--shape", "N=1048576"]
PAGE = ROOT / "docs" / "clock_explain.md"
SHOWN = re.compile(r"```\n\$ argus (clock explain [^\n]*)\n(.*?)```\n", re.DOTALL)
NUMBER = (int, float)
SHAPES: dict[str, Any] = {
    "schema": str,
    "version": int,
    "source": str,
    "model": str,
    "title": str,
    "microseconds": NUMBER,
    "bound": {"class": str, "why": str},
    "launch": dict,
    "occupancy": {
        "resident_workgroups": int,
        "possible_workgroups": int,
        "waves": int,
        "waves_per_simd": NUMBER,
    },
    "utilization": dict,
    "stack": [{"cause": str, "group": str, "title": str, "microseconds": NUMBER, "share": NUMBER}],
    "wave_clocks": {"total": int, "waves": int, "cycles": int, "clock_mhz": NUMBER, "causes": dict},
    "causes": dict,
    "lines": [{"place": str, "wave_clocks": NUMBER, "causes": dict}],
    "instructions": [
        {
            "pc": int,
            "text": str,
            "place": str,
            "executed": int,
            "wave_clocks": NUMBER,
            "causes": dict,
            "bank_conflict_clocks": NUMBER,
        }
    ],
    "waits": [
        {
            "pc": int,
            "place": str,
            "cause": str,
            "served_by": str,
            "for_pc": (int, type(None)),
            "for_place": str,
            "wave_clocks": NUMBER,
        }
    ],
    "lds_conflicts": list,
    "what_if": [{"name": str, "group": str, "microseconds": NUMBER, "saved": NUMBER}],
    "counters": [{"name": str, "value": NUMBER, "unit": str, "match": str, "note": str}],
    "notes": list,
}


def _output(command: list[str]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main(command) == 0
    return text.getvalue()


def _conforms(value: Any, shape: Any, where: str) -> None:
    if isinstance(shape, dict):
        assert set(value) == set(shape), where
        for name, inner in shape.items():
            _conforms(value[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert value, where
        for item in value:
            _conforms(item, shape[0], where)
    else:
        assert isinstance(value, shape), where


def test_the_text_is_the_stored_one() -> None:
    assert _output(COMMAND) == GOLDEN.read_text(encoding="utf-8")


def _shown(page: str) -> tuple[list[str], str]:
    """The command of the page, and what it says the command prints."""
    found = SHOWN.search(page)
    assert found is not None
    words = [str(ROOT / word) if word.endswith(".py") else word for word in found[1].split()]
    return words, found[2]


def test_the_page_shows_the_real_output() -> None:
    command, text = _shown(PAGE.read_text(encoding="utf-8"))
    assert _output(command) == text


def test_the_page_has_every_counter_with_its_match() -> None:
    table = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.endswith(("| same |", "| similar |"))
    ]
    gemm = ["clock", "explain", str(ROOT / "argus/kernels/gemm.py"), "--shape", "M=128,N=128,K=64", "--json"]
    for counter in json.loads(_output(gemm))["counters"]:
        family = re.sub(r"(MFMA(_MOPS)?)_[A-Z0-9]+$", r"\1_*", counter["name"])
        (row,) = [line for line in table if f"`{family}`" in line]
        assert row.endswith(f"| {counter['match']} |"), family


def test_the_json_has_its_schema_and_says_the_same() -> None:
    found = json.loads(_output([*COMMAND, "--json"]))
    _conforms(found, SHAPES, "explain")
    assert (found["schema"], found["version"], found["source"]) == ("argus.clock.explain", 1, "simulated")
    assert sum(part["microseconds"] for part in found["stack"]) == pytest.approx(found["microseconds"])
    assert sum(found["wave_clocks"]["causes"].values()) == pytest.approx(found["wave_clocks"]["total"])
    assert {part["cause"] for part in found["stack"]} >= set(found["wave_clocks"]["causes"])
    assert set(found["wave_clocks"]["causes"]) <= set(found["causes"])
    assert {counter["match"] for counter in found["counters"]} == {"same", "similar"}
    assert found["launch"]["interval"]["low"] < found["microseconds"] < found["launch"]["interval"]["high"]
    assert found["microseconds"] == found["launch"]["sustained"]["microseconds"]


def test_bank_conflicts_name_buffer_and_line(tmp_path: Path) -> None:
    """The GEMM without its swizzle: fragment reads of both buffers meet in the banks, at their lines."""
    text = (ROOT / "argus/kernels/gemm.py").read_text(encoding="utf-8").replace('.xor(chunk="row[0:3]")', "")
    (tmp_path / "plain.py").write_text(text, encoding="utf-8")
    command = ["clock", "explain", str(tmp_path / "plain.py"), "--shape", "M=128,N=128,K=64", "--no-check"]
    found = json.loads(_output([*command, "--json"]))
    lines = text.splitlines()
    assert {row["buffer"] for row in found["lds_conflicts"]} == {"sA", "sB"}
    for row in found["lds_conflicts"]:
        assert f"{row['buffer']}.load" in lines[int(row["place"].partition(":")[2]) - 1]
    assert "LDS bank conflicts by buffer and line" in _output(command)


def test_an_object_is_explained_by_instruction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(VADD), "-o", str(tmp_path)]) == 0
    capsys.readouterr()
    arrays = ["--arg", "f32[65536]:normal", "--arg", "f32[65536]:normal", "--arg", "f32[65536]", "--arg", "i32=65536"]
    path = next(tmp_path.rglob("*.hsaco"))
    text = _output(["clock", "explain", str(path), "--grid", "64", "--block", "256", *arrays])
    assert "source lines" not in text
    assert "s_waitcnt" in text
    assert "time by cause" in text


def test_mistakes_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--top", "0"]) == 2
    assert "--top takes at least 1" in capsys.readouterr().err


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(_output(COMMAND), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    words, old = _shown(text)
    line = f"$ argus {SHOWN.search(text)[1]}\n"  # type: ignore[index]
    PAGE.write_text(text.replace(f"```\n{line}{old}```", f"```\n{line}{_output(words)}```", 1), encoding="utf-8")

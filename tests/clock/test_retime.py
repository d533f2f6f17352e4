"""`python -m bench.clock.retime`: other numbers of the clock on kept rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.clock import retime

ROWS = Path(__file__).parents[2] / "bench" / "clock" / "rows.jsonl"


def test_a_held_number_changes_the_scores_and_unknown_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "rows.jsonl"
    few.write_text("\n".join(ROWS.read_text(encoding="utf-8").splitlines()[::8]) + "\n", encoding="utf-8")
    monkeypatch.setattr(retime, "GENERATIONS", 2)
    monkeypatch.setattr(retime, "SEEDS", (0,))

    def printed(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["retime", str(few), *words])
        assert retime.main() == 0
        return capsys.readouterr().out

    plain, long = printed(), printed("launch_floor_graph=50")
    assert plain.startswith("as it is: mean error of the logarithm on")
    assert long.startswith("{'launch_floor_graph': 50.0}")
    small = "small or latency-bound"
    assert plain.split(small)[1].split(",")[0] != long.split(small)[1].split(",")[0]
    with pytest.raises(KeyError, match="no parameter 'floor'"):
        printed("floor=1")

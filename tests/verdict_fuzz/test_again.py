"""Sources that are judged once more: which ones, and that their last judgement counts."""

from __future__ import annotations

import json
from pathlib import Path

from bench.verdict_fuzz.__main__ import matching
from bench.verdict_fuzz.report import AGAIN, rows_of
from bench.verdict_fuzz.sources import source

SEED = 17


def written(folder: Path, name: str, verdicts: dict[int, str]) -> None:
    lines = [json.dumps({"seed": SEED, "n": n, "verdict": verdict}) for n, verdict in verdicts.items()]
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


def test_the_last_judgement_of_a_source_counts(tmp_path: Path) -> None:
    written(tmp_path, f"{SEED}-{AGAIN}0of1.jsonl", {3: "unknown"})
    written(tmp_path, f"{SEED}-0of2.jsonl", {1: "proved", 3: "proved"})
    written(tmp_path, f"{SEED}-1of2.jsonl", {2: "refuted"})
    assert {row["n"]: row["verdict"] for row in rows_of(tmp_path)} == {1: "proved", 3: "unknown", 2: "refuted"}


def test_those_that_match_and_are_not_refuted(tmp_path: Path) -> None:
    verdicts = {n: "refuted" if n % 5 == 0 else "proved" for n in range(20)}
    written(tmp_path, f"{SEED}-0of1.jsonl", verdicts)
    wanted = [n for n in range(20) if n % 5 and "bf16" in source(SEED, n).text]
    shards = [list(matching(tmp_path, SEED, "bf16", (part, 2))) for part in (0, 1)]
    assert wanted
    assert sorted(shards[0] + shards[1]) == wanted


def test_a_fault_is_judged_once_more_whatever_its_text_and_verdict(tmp_path: Path) -> None:
    row = {"seed": SEED, "n": 4, "verdict": "refuted", "fault": "right and refuted"}
    (tmp_path / f"{SEED}-0of1.jsonl").write_text(json.dumps(row) + "\n")
    assert list(matching(tmp_path, SEED, "no text has this", (0, 1))) == [4]

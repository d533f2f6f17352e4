"""Truths that are kept in the repository are those of the run they came from, and each holds only of its own object."""

from __future__ import annotations

import json
from pathlib import Path

from bench.verdict_fuzz.packed_truths import kept, pack
from bench.verdict_fuzz.rows import answer

SEED = 5


def test_a_run_that_begins_with_its_own_truths_says_the_same(tmp_path: Path) -> None:
    run, truths = tmp_path / "run", tmp_path / "truths"
    run.mkdir()
    rows = [answer({"seed": SEED, "n": n}) for n in range(4)]
    (run / "5-0of1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (written,) = pack(run, truths)
    assert written.name == f"{SEED}-{rows[0]['oracle']}.jsonl"
    found = kept(SEED, truths)
    assert sorted(found) == [row["n"] for row in rows if row["truth"] != "untested"]
    for row in rows:
        again = answer({"seed": SEED, "n": row["n"], "before": found.get(row["n"])})
        assert [again[k] for k in ("verdict", "truth", "fault", "object")] == [
            row[k] for k in ("verdict", "truth", "fault", "object")
        ]


def test_packing_adds_to_what_is_kept(tmp_path: Path) -> None:
    row = {"seed": SEED, "oracle": "a", "verdict": "proved", "object": "x", "exact": "equal", "detail": ""}
    for n, truth in ((7, "right"), (3, "wrong"), (9, "untested"), (7, "vague")):
        run = tmp_path / f"run{n}{truth}"
        run.mkdir()
        (run / "rows.jsonl").write_text(json.dumps({**row, "n": n, "truth": truth}) + "\n")
        pack(run, tmp_path / "truths")
    found = kept(SEED, tmp_path / "truths")
    assert {n: found[n]["truth"] for n in found} == {3: "wrong", 7: "vague"}
    assert kept(SEED + 1, tmp_path / "truths") == {}

"""A hundred sources of the verdict fuzzer, with a fixed seed: no disagreement between checker and machine.

Findings that are open (`tests/check/found`) are not repeated here: their numbers stand in KNOWN with the file.
"""

from __future__ import annotations

import pytest

from bench.verdict_fuzz.rows import answer

SEED, SOURCES, PARTS = 1, 100, 10
KNOWN: dict[int, str] = {}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_disagreement(part: int) -> None:
    rows = [answer({"seed": SEED, "n": n}) for n in range(part, SOURCES, PARTS) if n not in KNOWN]
    assert [(r["n"], r["fault"], r["detail"] or r["shown"]) for r in rows if r["fault"]] == []
    assert all(r["verdict"] in ("proved", "refuted", "unknown") for r in rows)
    assert all(r["exact"] in ("equal", "exact", "not followed") for r in rows if r["truth"] in ("right", "vague"))


@pytest.mark.parametrize("n", [601, 3846, 5161])
def test_a_specification_that_saturates_otherwise_is_meant_to_be_wrong(n: int) -> None:
    row = answer({"seed": 83, "n": n})
    assert row["mutation"] == "specification"
    assert (row["truth"], row["fault"]) == ("wrong", "")


def test_an_access_that_runs_into_the_next_row_breaks_in_bounds_though_results_are_right() -> None:
    """Sixteen rows of one element: every lane writes four, those of the next rows with what stands there anyway."""
    row = answer({"seed": 83, "n": 8202})
    assert (row["verdict"], row["truth"], row["rules"]) == ("refuted", "right", ("in_bounds",))
    assert row["fault"] == ""

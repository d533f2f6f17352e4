"""Truth of an earlier run is taken only where it still holds of the same object and verdict."""

from __future__ import annotations

from typing import Any

import pytest

from bench.verdict_fuzz.judge import program_of_text
from bench.verdict_fuzz.kept_truth import kept_truth
from bench.verdict_fuzz.rows import answer
from bench.verdict_fuzz.sources import source

SEED, N = 5, 1


@pytest.fixture(scope="module")
def row() -> dict[str, Any]:
    found = answer({"seed": SEED, "n": N})
    assert (found["verdict"], found["truth"]) == ("proved", "right")
    return found


def kept(row: dict[str, Any], now: str = "proved", **changed: str) -> bool:
    one = source(SEED, N)
    return kept_truth({**row, **changed}, now, program_of_text(one.program, one.text)) is not None


def test_the_same_object_keeps_its_truth(row: dict[str, Any]) -> None:
    assert kept(row)


@pytest.mark.parametrize("name", ["object", "oracle"])
def test_another_object_or_oracle_is_judged_whole(row: dict[str, Any], name: str) -> None:
    assert not kept(row, **{name: "another"})


def test_another_verdict_is_judged_whole(row: dict[str, Any]) -> None:
    assert not kept(row, "unknown")


def test_right_and_refuted_is_judged_whole(row: dict[str, Any]) -> None:
    assert not kept(row, "refuted", verdict="refuted")


def test_verdicts_anew_with_a_kept_truth_that_is_wrong_are_a_fault(row: dict[str, Any]) -> None:
    again = answer({"seed": SEED, "n": N, "before": {**row, "truth": "wrong"}})
    assert again["fault"] == "proved and wrong"


def test_an_older_oracle_counts_where_it_is_trusted_and_said_right(row: dict[str, Any]) -> None:
    older = {**row, "oracle": "older", "trusted": True}
    assert kept(older)
    assert not kept(older, truth="wrong")

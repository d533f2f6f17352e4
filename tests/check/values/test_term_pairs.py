"""Terms of unequal formulas are not called equal; `python -m bench.term_pairs` tries 5,000 pairs."""

from __future__ import annotations

from bench.term_pairs import run


def test_unequal_formulas_are_not_called_equal() -> None:
    counts, faults = run(150, seed=7)
    assert not faults, faults[0]
    assert counts["same, called equal"] > 30

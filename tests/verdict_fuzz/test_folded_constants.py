"""A function of constants that the compiler has evaluated is a number of the code: not followed, never different."""

from __future__ import annotations

import pytest

from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.sources import source


@pytest.mark.parametrize("n", [12891, 13391])
def test_an_evaluated_exponential_is_no_difference(n: int) -> None:
    one = source(29, n)
    assert "ag.exp(ag.min(ag.where(" in one.text
    found = judge(one.program, one.text, not one.mutation)
    assert (found.verdict, found.truth, found.fault) == ("proved", "right", "")

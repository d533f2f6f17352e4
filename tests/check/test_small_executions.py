"""The search for small launches ends, whatever the number of sizes."""

from __future__ import annotations

import math

import pytest

from argus.check.explain.small_executions import MAX_COMBINATIONS, fewer


@pytest.mark.parametrize("sizes", [1, 5, 14, 15, 40])
def test_choices_are_few_enough(sizes: int) -> None:
    """Fifteen sizes of two values each are more than are tried; every size keeps its smallest."""
    made = fewer([[1, 2, 3, 5, 8] for _ in range(sizes)])
    assert math.prod(map(len, made)) <= MAX_COMBINATIONS
    assert all(choice[0] == 1 for choice in made)

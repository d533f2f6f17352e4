"""Every operation of the algebra against its pointwise meaning, mixed radix included."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.layout.laws import LAWS, digits_exist, linear_exists, points, representable

CASES = 360  # per operation; bench/layout_laws.py runs 100,000 in total


@pytest.mark.parametrize("law", sorted(LAWS))
def test_law(law: str) -> None:
    outcomes: Counter[str] = Counter()
    for i in range(CASES):
        outcome = LAWS[law](random.Random(f"test/{law}/{i}"))
        assert outcome != "mismatch", f"seed test/{law}/{i}"
        outcomes[outcome] += 1
    assert outcomes["held"] >= CASES // 4, outcomes
    assert outcomes["held"] >= 0.95 * (outcomes["held"] + outcomes["missed"]), outcomes


def test_the_oracle_itself() -> None:
    assert digits_exist([0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35])
    assert not digits_exist([0, 1, 2, 16, 17])
    assert linear_exists({(x,): x ^ x >> 1 for x in range(16)}, (16,))
    assert not linear_exists({(x,): x * 3 % 16 for x in range(16)}, (16,))
    gray = {p: p[0] ^ p[0] >> 1 for p in points((6,))}
    assert representable(gray, (6,))
    assert not representable({(0,): 0, (1,): 0, (2,): 1}, (3,))

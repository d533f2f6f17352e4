"""`python -m bench.clock.outliers`: rows beyond the limit are shown with their sign, the others are counted."""

from __future__ import annotations

from argus.clock.calibration import Row
from argus.clock.profile import Profile
from argus.clock.validation import judge
from bench.clock.outliers import shares, table


def row(program: str, microseconds: float) -> Row:
    profile = Profile(compute=((1250, 210_000), (2100, 210_000)), matrix={"bf16": 105_000}, vmem=21_000)
    return Row("fit", "F", program, "S", "bf16", 1.0, 1.0, microseconds, "graph", (profile,))


def test_rows_beyond_the_limit_are_shown_with_their_sign() -> None:
    predicted = row("a", 1.0).predicted_us()
    rows = [row("right", predicted), row("slow", predicted / 1.3), row("fast", predicted / 0.7)]
    text = table(judge(rows, roles=("fit", "validate")), 0.15)
    assert "| +30% | fit | F | slow, S |" in text
    assert "| -30% | fit | F | fast, S |" in text
    assert "right, S" not in text
    assert "dense GEMM: of 3 rows 1 too slow and 1 too fast by more than 15%" in text


def test_shares_are_of_the_time_at_the_sustained_clock() -> None:
    (judged,) = judge([row("a", 100.0)], roles=("fit",))
    found = shares(judged)
    assert abs(found["matrix"] - 0.5) < 1e-9
    assert abs(found["L1 path"] - 0.1) < 1e-9
    assert found["HBM"] == 0.0

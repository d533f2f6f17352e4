"""Tiles of products in plans: the times of a few sizes carried over to others."""

from __future__ import annotations

from typing import Any

import pytest

from argus.plan.carried_tiles import DOUBT, HBM, LAUNCH, carried, carried_row


def row(m: int, tile: int, us: float) -> dict[str, Any]:
    knobs = {"BM": tile, "BN": tile, "WM": 2, "WN": 2, "INST": 32, "DEPTH": 1, "STAGES": 1, "XM": 0, "GROUP": 1}
    return {"M": m, "N": m, "K": m, "kernel": "matmul", "knobs": knobs, "us": us}


def test_a_time_is_carried_over_by_rounds_and_steps() -> None:
    large = row(4096, 256, 200.0)
    assert carried(large, 4096, 4096, 4096) == 200.0
    assert carried(large, 4096, 4096, 8192) == pytest.approx((LAUNCH + 2 * (200.0 - LAUNCH)) * DOUBT)
    assert carried(large, 8192, 4096, 4096) == pytest.approx((LAUNCH + 2 * (200.0 - LAUNCH)) * DOUBT)
    assert carried(large, 2048, 4096, 4096) == pytest.approx(200.0 * DOUBT)
    assert carried(large, 64, 65536, 64) >= 2 * 64 * 65536 / HBM


def test_between_the_rows_the_least_time_decides() -> None:
    rows = [row(1024, 64, 10.0), row(4096, 256, 200.0)]
    assert carried_row(rows, 1280, 1280, 1280)["knobs"]["BM"] == 64
    assert carried_row(rows, 3584, 3584, 3584)["knobs"]["BM"] == 256
    near_is_slow = [*rows, row(2048, 64, 500.0)]
    assert carried_row(near_is_slow, 2304, 2304, 2304)["knobs"]["BM"] == 256

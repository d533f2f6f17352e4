"""Occupancy against the published table and against a direct packing of waves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.gfx942.occupancy import (
    Occupancy,
    occupancy,
    vector_registers,
    waves_by_scalar_registers,
    waves_by_vector_registers,
)

TABLE = [(64, 8), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)]


def test_published_table_of_vector_registers() -> None:
    for total in range(1, 513):
        vgprs, agprs = min(total, 256), max(total - 256, 0)
        expected = next(waves for top, waves in TABLE if total <= top)
        assert waves_by_vector_registers(vgprs, agprs) == expected, total


def test_acc_registers_start_at_a_multiple_of_four() -> None:
    assert vector_registers(vgprs=61, agprs=1) == 72
    assert vector_registers(vgprs=61, agprs=0) == 64
    assert vector_registers(vgprs=256, agprs=256) == 512


def test_scalar_registers() -> None:
    assert waves_by_scalar_registers(96) == 8
    assert waves_by_scalar_registers(102) == 7


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((128, 0, 40, 32768, 4), Occupancy(2, 2, "lds")),
        ((256, 256, 60, 65536, 4), Occupancy(1, 1, "vector registers")),
        ((32, 0, 32, 0, 1), Occupancy(8, 32, "wave slots")),
        ((32, 0, 32, 0, 2), Occupancy(8, 16, "wave slots")),
        ((16, 0, 16, 0, 16), Occupancy(8, 2, "wave slots")),
        ((128, 0, 40, 1024, 3), Occupancy(4, 5, "vector registers")),
    ],
)
def test_examples(arguments: tuple[int, int, int, int, int], expected: Occupancy) -> None:
    assert occupancy(*arguments) == expected


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.integers(1, 256), st.integers(0, 256), st.integers(1, 102), st.integers(0, 65536), st.integers(1, 16))
def test_one_more_workgroup_would_not_fit(vgprs: int, agprs: int, sgprs: int, lds: int, waves: int) -> None:
    def fits(groups: int) -> bool:
        per_simd = -(-groups * waves // 4)
        share = -(-(vgprs if agprs == 0 else -(-vgprs // 4) * 4 + agprs) // 8) * 8
        return (
            per_simd <= 8
            and per_simd * share <= 512
            and per_simd * (-(-sgprs // 16) * 16) <= 800
            and groups * (-(-lds // 512) * 512) <= 65536
            and (waves == 1 or groups <= 16)
        )

    if not fits(1):
        with pytest.raises(ValueError, match="does not fit"):
            occupancy(vgprs, agprs, sgprs, lds, waves)
        return
    groups = occupancy(vgprs, agprs, sgprs, lds, waves).workgroups_per_cu
    assert fits(groups)
    assert not fits(groups + 1)


def test_impossible_requests() -> None:
    with pytest.raises(ValueError, match="at most 256 VGPRs"):
        vector_registers(257, 0)
    with pytest.raises(ValueError, match="1 to 16 waves"):
        occupancy(32, 0, 32, 0, 17)
    with pytest.raises(ValueError, match="does not fit on a compute unit: lds"):
        occupancy(32, 0, 32, 65537, 4)

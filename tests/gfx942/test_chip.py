"""Chip facts: complete provenance, and the published peaks follow from the counts."""

from __future__ import annotations

import pytest

from argus.gfx942.chip import CUS, FACTS, count, fact, matrix_peak_tflops, xcd_of_workgroup
from argus.gfx942.mfma import MFMA


def test_every_fact_says_where_it_comes_from() -> None:
    for row in FACTS.values():
        assert row.unit
        assert row.source
        assert row.confidence in set("VDMLSX"), row.name
        assert row.value > 0


@pytest.mark.parametrize(
    ("element", "tflops"),
    [
        ("bf16", 1307.4),
        ("f16", 1307.4),
        ("fp8", 2614.9),
        ("i8", 2614.9),
        ("xf32", 653.7),
        ("f32", 163.4),
        ("f64", 163.4),
    ],
)
def test_published_peaks(element: str, tflops: float) -> None:
    assert matrix_peak_tflops(element) == pytest.approx(tflops, abs=0.06)


def test_peaks_agree_with_the_instruction_table() -> None:
    best: dict[str, int] = {}
    for row in MFMA.values():
        best[row.a] = max(best.get(row.a, 0), row.flops_per_clock_cu)
    for element, per_clock in best.items():
        assert matrix_peak_tflops(element) == pytest.approx(CUS * per_clock * 2100e-6)


def test_caches_are_made_of_whole_lines() -> None:
    assert count("l2_bytes") == count("l2_channels") * 256 * 1024
    assert count("l1_bytes") == count("l1_ways") * 4 * count("l1_line")
    assert CUS == 304


def test_workgroups_alternate_over_the_dies() -> None:
    assert [xcd_of_workgroup(i) for i in range(10)] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]


def test_unknown_names_are_answered() -> None:
    with pytest.raises(KeyError, match="no chip fact 'l3'"):
        fact("l3")
    with pytest.raises(KeyError, match="no matrix peak for elements of type 'f8'"):
        matrix_peak_tflops("f8")
    with pytest.raises(ValueError, match="not a whole number"):
        count("launch_floor")

"""Computed indices in specifications: scales per block, rows that are looked up. Right kernels are proved, wrong never.

Every wrong variant changes one place of a right kernel in a way that changes its result for some launch and some input.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.lang import read

KERNELS = Path(__file__).parent / "kernels"
RIGHT = ["blockscale", "gathered"]

WRONG = {
    "blockscale": {
        "scales of the first block": ("32 * wm, kb]", "32 * wm, 0]"),
        "scales of the block before": ("SB[bn // 2, kb]", "SB[bn // 2, (kb + KB - 1) % KB]"),
        "column scale of another block": ("bn // 2", "bn // 4"),
        "every wave takes the same rows' scales": ("SA[bm * 64 + 32 * wm, kb]", "SA[bm * 64, kb]"),
        "one scale is missing": ('sa * sb.without("z")', "sa"),
        "a scale counts twice": ('sa * sb.without("z")', 'sa * sa * sb.without("z")'),
        "a quarter of every block is missing": ("ag.unroll(4)", "ag.unroll(3)"),
        "blocks of another size": ("SA[m, k // 128]", "SA[m, k // 64]"),
        "columns' blocks of another size": ("SB[n // 128,", "SB[n // 64,"),
        "sums of earlier blocks are scaled again": ("acc + part * (", "(acc + part) * ("),
        "the last block is lost": ("ag.range(K // 128)", "ag.range(K // 128 - 1)"),
        "scaled by the reciprocal": ('part * (sa * sb.without("z"))', 'part / (sa * sb.without("z"))'),
    },
}


def status(report: Report, rule: str) -> set[str]:
    return {v.status for v in report.verdicts if v.rule == rule}


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_proved(name: str) -> None:
    report = check(read(str(KERNELS / f"{name}.py")))
    assert report.status == "proved", report.render()
    assert status(report, "value") == status(report, "placed") == status(report, "reduced") == {"proved"}


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, cases in WRONG.items() for what in cases])
def test_wrong_variants_are_not_proved(tmp_path: Path, name: str, what: str) -> None:
    old, new = WRONG[name][what]
    text = (KERNELS / f"{name}.py").read_text()
    assert old in text, f"{name} no longer contains {old!r}"
    file = tmp_path / f"{name}.py"
    file.write_text(text.replace(old, new))
    report = check(read(str(file)))
    assert report.status != "proved", report.render()
    assert "proved" not in status(report, "value")

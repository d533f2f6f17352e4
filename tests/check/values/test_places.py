"""Computed indices in specifications: scales per block, rows that are looked up. Right kernels are proved, wrong never.

Every wrong variant changes one place of a right kernel in a way that changes its result for some launch and some input.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parent / "kernels"
RIGHT = ["blockscale", "gathered", "combine", "quantise", "handed_on", "skipped"]

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
    "gathered": {
        "scales of the row's number, not of its token": ("SX[mine, kb]", "SX[bm, kb]"),
        "the expert of the first block": ("expert[bm]", "expert[0]"),
        "gate and up exchanged": ("gate, up = sums", "up, gate = sums"),
        "tokens of the wrong half": ("token[bm * BM + 32 * p]", "token[bm * BM]"),
        "scales of the other half's tokens": ("token[bm * BM + 32 * wm]", "token[bm * BM]"),
        "weights of another tile": ("2 * bn + wn, 8 * kb + 2 * ks", "2 * bn + wn, 8 * kb + ks"),
        "lanes exchanged within a tile": ('r="lane%32"', 'r="(lane + 1)%32"'),
        "scale of the other plane": ("SW[e, g,", "SW[e, 1 - g,"),
        "experts are numbered by other blocks": ("expert[m // 64], 0, n // 32", "expert[m // 32], 0, n // 32"),
        "no exponential": ("ag.exp2(gate * -LOG2E)", "ag.exp2(gate * -1.0)"),
        "stored in place of its token": ("X[rows[p], kb", "X[bm * BM + 32 * p, kb"),
    },
    "combine": {
        "one row of three is missing": ("range(3)", "range(2)"),
        "the first row three times": ("slot[t, s].load", "slot[t, 0].load"),
        "weights of the first slot": ("weight[t, s].load", "weight[t, 0].load"),
        "rows of the first token": ("slot[t, s].load", "slot[0, s].load"),
        "not weighted": ("to(f32), w, total", "to(f32), 1.0, total"),
        "rows by their number": ("Y[row, 512 * bn]", "Y[s, 512 * bn]"),
    },
    "handed_on": {
        "the first row twice": ("now = x[0,", "now = x[1,"),
        "one row too far ahead": ("x[j + 2, b", "x[j + 3, b"),
        "not handed on": ("        now = ahead\n", ""),
        "the last row is lost": ("ag.range(M)", "ag.range(M - 1)"),
    },
    "skipped": {
        "the last block is lost": ("if b < N // 256:", "if b < N // 256 - 1:"),
        "the first block is lost": ("if b < N // 256:", "if b > 0:"),
        "members of whole groups only": ("if b < N // 256:", "if 4 * group + 3 < N // 256:"),
        "groups overlap": ("b = 4 * group + member", "b = 3 * group + member"),
    },
    "quantise": {
        "the first result is wrong": ("largest * (1.0 / 240.0)", "largest * (1.0 / 448.0)"),
        "the second result is wrong": ("240.0 * ag.rcp", "448.0 * ag.rcp"),
        "no absolute value": ("ag.abs(x).max", "x.max"),
        "maximum of half a block": ('ag.abs(x).max("j")', 'ag.abs(x.regs(0, 4)).max("j")'),
        "only every second block's scale": ("ag.thread() % 16 == 0", "ag.thread() % 32 == 0"),
    },
}
MANY = ("blockscale", "gathered")
"""Kernels whose wrong variants take long: every sixth one runs by default."""


def status(report: Report, rule: str) -> set[str]:
    return {v.status for v in report.verdicts if v.rule == rule}


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_proved(name: str) -> None:
    report = check(scheduled(read(str(KERNELS / f"{name}.py"))))
    assert report.status == "proved", report.render()
    assert status(report, "value") == status(report, "placed") == status(report, "covers") == {"proved"}


def variants() -> list[object]:
    found: list[object] = []
    for name, cases in WRONG.items():
        for n, what in enumerate(cases):
            marks = [pytest.mark.full] if name in MANY and n % 6 else []
            found.append(pytest.param(name, what, marks=marks))
    return found


@pytest.mark.parametrize(("name", "what"), variants())
def test_wrong_variants_are_not_proved(tmp_path: Path, name: str, what: str) -> None:
    old, new = WRONG[name][what]
    text = (KERNELS / f"{name}.py").read_text()
    assert old in text, f"{name} no longer contains {old!r}"
    file = tmp_path / f"{name}.py"
    file.write_text(text.replace(old, new))
    report = check(scheduled(read(str(file))))
    assert report.status != "proved", report.render()

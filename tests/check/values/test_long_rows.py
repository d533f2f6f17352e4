"""The library's kernels for rows that do not fit into registers: proved with their specification, wrong ones never."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import check
from argus.ir.passes.schedule import scheduled
from argus.lang import read

KERNELS = Path(__file__).parents[3] / "argus" / "kernels"
FAMILIES = ("softmax", "rmsnorm", "layernorm", "rowreduce")

WRONG = {
    "softmax": {
        "the last chunk is lost": (
            "for i in ag.range(ag.cdiv(N, SPAN)):\n        u",
            "for i in ag.range(N // SPAN):\n        u",
        ),
        "padding counts": ("ag.where(i * SPAN + u.n < N, u, -inf)", "u"),
        "each chunk's maximum": ("top = ag.max(top, largest(", "top = ag.max(-inf, largest("),
        "mask of the first chunk": ("(ag.where(i * SPAN + u.n < N", "(ag.where(u.n < N"),
        "maximum of the first chunk": ("x = X[row, i * SPAN]", "x = X[row, 0]"),
        "the sum of one wave": ("scale = ag.rcp(of_waves(sums))", "scale = ag.rcp(sums)"),
    },
    "rmsnorm": {
        "the first chunk only": ("squares = squares + added", "squares = squares * 0.0 + added"),
        "weights of the first chunk": ("W[i * SPAN]", "W[0]"),
        "chunks overlap": (
            'x = X[row, i * SPAN].load(ROW, width=WIDTH, guard="shape").to(f32)\n        squares',
            'x = X[row, i * (SPAN // 2)].load(ROW, width=WIDTH, guard="shape").to(f32)\n        squares',
        ),
    },
    "layernorm": {
        "padding deviates from the mean": ("ag.where(i * SPAN + x.n < N, x - mean, 0.0)", "x - mean"),
        "mean of one wave": ("mean = of_waves(sums)", "mean = sums"),
    },
    "rowreduce": {
        "starts at one": ("kept = ag.full(ONE, f32, START).without()", "kept = ag.full(ONE, f32, 1.0).without()"),
        "the last wave is lost": (
            'EACH = ag.Owner(t=LANES, i=WAVES, w="i")',
            'EACH = ag.Owner(t=LANES, i=WAVES - 1, w="i")',
        ),
    },
}
KNOBS = {"WAVES": 2, "CHUNKS": 1}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("waves", [1, 2])
def test_long_rows_are_proved(family: str, waves: int) -> None:
    knobs = {**KNOBS, "WAVES": waves}
    report = check(scheduled(read(KERNELS / f"{family}.py", settings=knobs, kernel=f"{family}_long")))
    assert report.status == "proved", report.render()
    assert {v.rule for v in report.verdicts} >= {"value", "placed", "reduced", "covers"}


@pytest.mark.parametrize(("family", "what"), [(family, what) for family, cases in WRONG.items() for what in cases])
def test_wrong_long_rows_are_not_proved(tmp_path: Path, family: str, what: str) -> None:
    old, new = WRONG[family][what]
    text = (KERNELS / f"{family}.py").read_text()
    head, body = text[: text.index(f"def {family}_long")], text[text.index(f"def {family}_long") :]
    shared = (KERNELS / "rows.py").read_text()
    assert [old in body, old in head, old in shared].count(True) == 1, f"{family} does not contain {old!r} once"
    (tmp_path / "rows.py").write_text(shared.replace(old, new))
    file = tmp_path / f"{family}.py"
    file.write_text(text.replace(old, new).replace("from argus.kernels.rows import", "from rows import"))
    report = check(scheduled(read(file, settings=KNOBS, kernel=f"{family}_long")))
    assert report.status != "proved", report.render()

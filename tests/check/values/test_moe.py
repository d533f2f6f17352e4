"""The fused mixture of experts with its specification: amounts added by token. Proved; wrong variants never are."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.check import Report, check
from argus.check.spec.scatter import scattered
from argus.ir.passes.schedule import scheduled
from argus.ir.specified import restated, specified
from argus.lang import read
from tests.check.kernels import MOE, PROGRAMS

LISTING = PROGRAMS / "moe.py"
WRONG = {
    "added to other rows": ("row = bm * BM + 32 * wm", "row = bm * BM"),
    "not weighted": ("acc * row_weight[row].load(ACC.per(\"m\"), width=4)", "acc * 1.0"),
    "weights of the first rows": ("acc * row_weight[row]", "acc * row_weight[32 * wm]"),
    "the first expert for all": ("block_expert[bm]", "block_expert[0]"),
    "rows of the first half twice": ("row_token[bm * BM + 32 * p]", "row_token[bm * BM]"),
    "half of every step": ("ag.unroll(BK // 16)", "ag.unroll(BK // 32)"),
    "stored instead of added": ('.atomic_add(weighted.without("m"))', '.store(weighted.without("m"), width=4)'),
    "the larger is kept": (".atomic_add(weighted", ".atomic_max(weighted"),
    "added by row, not by token": ("Y[mine, ", "Y[row, "),
    "columns of the first block": ("W[expert, bn * BN,", "W[expert, 0,"),
    "the last block is left out": ("ag.grid(R // BM, N // BN,", "ag.grid(R // BM - 1, N // BN,"),
}  # fmt: skip
BRIEF = ("added to other rows", "not weighted", "stored instead of added", "the larger is kept")
"""Those that run by default; the search for a launch that shows the others takes longer."""


def changed(folder: Path, old: str, new: str, computes: str = MOE) -> Report:
    text = LISTING.read_text()
    assert old in text, f"the listing no longer contains {old!r}"
    file = folder / "moe.py"
    file.write_text(text.replace(old, new))
    return check(scheduled(restated(read(str(file)), computes)))


def test_the_listing_is_proved() -> None:
    report = check(scheduled(restated(read(str(LISTING)), MOE)))
    assert report.status == "proved", report.render()
    assert {v.rule for v in report.verdicts} >= {"value", "placed", "reduced", "covers"}


@pytest.mark.parametrize("what", [pytest.param(w, marks=[] if w in BRIEF else [pytest.mark.full]) for w in WRONG])
def test_wrong_variants_are_not_proved(tmp_path: Path, what: str) -> None:
    assert changed(tmp_path, *WRONG[what]).status != "proved"


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new"),
    [("Y[t, n] + ", ""), ("== t", "== n"), ("r // 64", "r // 32"), ("row_weight[r] * ", ""), ("+ sum(", "- sum(")],
)
def test_other_specifications_are_not_proved(tmp_path: Path, old: str, new: str) -> None:
    assert old in MOE
    report = changed(tmp_path, "import argus as ag", "import argus as ag", MOE.replace(old, new))
    assert report.status != "proved"


def test_only_the_stated_form_is_read_as_adding() -> None:
    kernel = read(str(LISTING))
    tensors = {t.name: t for t in kernel.tensors}

    def reads(text: str) -> bool:
        (statement,) = specified(kernel, text).results
        return scattered(statement, tensors) is not None

    amount = "sum(where(row_token[r] == t, row_weight[r] * W[0, n, 0], 0), r)"
    assert reads(f"Y[t, n] = Y[t, n] + {amount}")
    assert not reads(f"Y[t, n] = Y[n, t] + {amount}")
    assert not reads(f"Y[t, n] = Y[t, n] + {amount.replace(', 0), r', ', 1), r')}")
    assert not reads(f"Y[t, n] = Y[t, n] + {amount.replace('row_weight[r]', 'Y[t, n]')}")
    assert reads(f"Y[t, n] = Y[t, n] + {amount.replace('row_weight[r]', 'sum(X[t, 0], t)')}")  # another t
    assert not reads(f"Y[t, n] = Y[t, n] + {amount.replace('row_token[r]', 'row_token[n]')}")

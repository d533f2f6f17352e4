"""Kernels that are right as formulas and leave their types: a proof of them is no fault, a refutation is."""

from __future__ import annotations

import pytest

from argus.check.engine import check
from bench.verdict_fuzz.judge import judge, program_of_text
from bench.verdict_fuzz.program import Generated
from bench.verdict_fuzz.stated import stated_meaning

TEXT = """import argus as ag
from argus import f32
ROW = ag.Owner(lane=64, e=4, n="lane*4 + e")


@ag.kernel(threads=64, requires="M >= 1 and N >= 1 and N % 4 == 0 and N <= 256",
           computes="Y[m, n] = exp(X[m, n] - max(X[m, j], j)) / sum(exp(X[m, i] - max(X[m, j], j)), i)",
           example=dict(M=3, N=256))
def k(X: ag.In["M N", f32], Y: ag.Out["M N", f32]):
    row = ag.grid(M)
    x = X[row, 0].load(ROW, width=16, guard="shape")
    u = ag.where(x.n < N, x, -ag.inf)
    top = u.max("n")
    e = ag.exp(u - top)
    Y[row, 0].store(e / e.sum("n"), width=16, guard="shape")
"""
LAUNCHES = ({"M": 1, "N": 256}, {"M": 2, "N": 132}, {"M": 1, "N": 4})


def program(text: str) -> Generated:
    """The text with the meaning that it states."""
    empty = Generated("rows", text, (), LAUNCHES, lambda *_: {})
    return Generated("rows", text, (), LAUNCHES, stated_meaning(program_of_text(empty, text).kernel, {}))


@pytest.mark.parametrize(
    ("old", "new"),
    [("top = u.max", "top = (u * 0.0).max"), ("top = u.max", "top = ag.where(x.n < 7, u, -ag.inf).max")],
)
def test_the_rightful_softmax_and_forms_that_leave_f32(old: str, new: str) -> None:
    found = judge(program(TEXT), TEXT)
    assert (found.verdict, found.truth, found.fault) == ("proved", "right", "")
    changed = judge(program(TEXT), TEXT.replace(old, new))
    assert changed.fault == ""
    assert changed.verdict in ("proved", "unknown")


@pytest.mark.parametrize(
    "top", ["ag.abs(ag.where(x.n < N, x, 0.0)).max", "2.0 * u.max", "ag.where(x.n < N, x, 0.0).sum"]
)
def test_a_softmax_whose_exponentials_vanish_is_not_refuted(top: str) -> None:
    """Equal as a formula; where all exponentials are too small, 0 / 0 is excluded by a premise."""
    found = judge(program(TEXT), TEXT.replace("u.max", top))
    assert (found.verdict in ("proved", "unknown"), found.fault) == (True, "")


COMPARED = """import argus as ag
from argus import f16, f32
P = ag.Owner(t=64, i="t")


@ag.kernel(threads=64, requires="N >= 1", computes="Z[i] = SPECIFIED", example=dict(N=65))
def k(X: ag.In["N", f32], Y: ag.In["N", f32], Z: ag.Out["N", f32]):
    at = 64 * ag.grid(ag.cdiv(N, 64))
    x = X[at].load(P, width=4, guard="shape")
    y = Y[at].load(P, width=4, guard="shape")
    one = ag.full(P, f32, 1.0)
    Z[at].store(STORED, width=4, guard="shape")
"""


@pytest.mark.parametrize(
    ("specified", "stored"),
    [
        ("where(X[i] > Y[i], 1, 0)", "ag.where(ag.exp(x - 300.0) > ag.exp(y - 300.0), one, 0.0)"),
        ("where(X[i] * Y[i] > 0, 1, 0)", "ag.where(x * 1e-30 * y * 1e-30 > 0.0, one, 0.0)"),
        ("maximum(X[i], Y[i])", "ag.max(x * 1e-30 * 1e-30, y * 1e-30 * 1e-30) * 1e30 * 1e30"),
    ],
)
def test_comparing_what_has_vanished_is_not_refuted(specified: str, stored: str) -> None:
    text = COMPARED.replace("SPECIFIED", specified).replace("STORED", stored)
    assert all(v.status != "refuted" for v in check(program_of_text(program(TEXT), text)).verdicts)


def test_a_softmax_without_its_maximum_is_beyond_its_type_and_not_wrong() -> None:
    text = TEXT.replace("ag.exp(u - top)", "ag.exp(u)")
    found = judge(program(TEXT), text)
    assert (found.verdict, found.truth, found.fault) == ("proved", "beyond", "")


def test_an_overflow_does_not_hide_a_wrong_kernel() -> None:
    """Wrong at ordinary numbers, too: one element of the sum is missing."""
    text = TEXT.replace("ag.exp(u - top)", "ag.where(x.n > 0, ag.exp(u), 0.0)")
    found = judge(program(TEXT), text)
    assert (found.verdict, found.truth, found.fault) == ("refuted", "wrong", "")

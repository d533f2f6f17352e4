"""Right kernels that a search for counterexamples once refuted: they may be unknown, but are never refuted."""

from __future__ import annotations

import pytest

from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.pipeline import report_of

HEAD = "import argus as ag\nfrom argus import f32, i32\n"

UPDATE = """
ROW = ag.Owner(lane=64, n="lane")
@ag.kernel(threads=64, requires="B >= 1 and N >= 1 and R >= 1", example=dict(B=3, N=50, R=9),
           computes="Y[b, t] = Y[b, t] + sum(where(WHERE, V[b, r], 0), r)")
def k(V: ag.In["B N", f32], token: ag.In["N", i32], Y: ag.InOut["B R", f32]):
    b, q = ag.grid(B, ag.cdiv(N, 64))
    v = V[b, q * 64].load(ROW, width=4, guard="shape")
    i = ag.as_index(token[q * 64].load(ROW, width=4), RANGE, name="i")
    Y[b, PLACE].atomic_add(v.without(), guard=q * 64 + ag.lane() < N)
"""
"""Rows of the result must not be said to depend on those of another b: indices keep to what is stated of them."""

TINY = """
P = ag.Owner(t=256, i="t")
@ag.kernel(threads=256, requires="N >= 1", computes="z[i] = x[i] + 1e-50", example=dict(N=1000))
def k(x: ag.In["N", f32], z: ag.Out["N", f32]):
    at = 256 * ag.grid(ag.cdiv(N, 256))
    z[at].store(x[at].load(P, width=4), width=4)
"""
"""What is too small for the output's type makes no difference."""

GRAM = """
from argus import bf16
from argus.gfx942 import mfma_16x16x16_bf16 as MMA
OP = MMA.operand(row="row", k="k")
@ag.kernel(threads=64, requires="M % 16 == 0 and K % 16 == 0", computes="O[m, n] = sum(A[m, k] * B[n, k], k)")
def gram(A: ag.In["M K", bf16], B: ag.In["M K", bf16], O: ag.Out["M N=M", f32]):
    bm, bn = ag.grid(M // 16, M // 16)
    acc = ag.zeros(MMA.acc(row="m", col="n"), f32)
    for t in ag.range(K // 16):
        acc = ag.mfma(A[16 * bm, 16 * t].load(OP, width=8), B[16 * bn, 16 * t].load(OP, width=8), acc)
    O[16 * bm, 16 * bn].store(acc, width=4)
"""
"""Rows against rows: with one name for both axes coordinates do not tell them apart; with another it is proved."""


def update(where: str, between: str, place: str) -> str:
    return UPDATE.replace("WHERE", where).replace("RANGE", between).replace("PLACE", place)


@pytest.mark.parametrize(
    "text",
    [
        update("token[r] == t + 1", "1, R", "i - 1"),
        update("token[r] - 1 == t", "1, R", "i - 1"),
        update("token[r] // 2 == t", "0, 2 * R - 1", "i // 2"),
        TINY,
        GRAM,
        GRAM.replace("B[n, k]", "A[n, k]").replace("B[16", "A[16").replace('B: ag.In["M K", bf16], ', ""),
    ],
)
def test_a_right_kernel_is_not_refuted(text: str) -> None:
    report = report_of(scheduled(read(HEAD + text)), run=False)
    assert not [verdict for verdict in report.verdicts if verdict.status == "refuted"]


def test_rows_against_rows_are_proved_with_a_name_for_each() -> None:
    report = report_of(scheduled(read(HEAD + GRAM.replace('B: ag.In["M K"', 'B: ag.In["N=M K"'))), run=False)
    assert {verdict.status for verdict in report.verdicts} == {"proved"}


def test_a_wrong_place_still_is() -> None:
    report = report_of(scheduled(read(HEAD + update("token[r] == t + 1", "0, R - 1", "i"))), run=False)
    assert "proved" not in {verdict.status for verdict in report.verdicts if verdict.rule in ("value", "placed")}

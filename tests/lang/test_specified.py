"""Kernels with specifications of every form: the checker judges or says unknown, and results are compared."""

from __future__ import annotations

import pytest

from argus.check import check
from argus.compile import compile_kernel
from argus.device.simulated import CheckingDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec import evaluate
from argus.spec.compare import combined, compare
from argus.tasks.inputs import make_arrays, make_scalars

HEAD = """import argus as ag
from argus import bf16, f32, i32
LANE = ag.Owner(lane=64, i="lane")
SWAP = ag.Owner(lane=64, i="lane ^ 1")
VEC = ag.Owner(lane=64, e=4, n="lane*4 + e")
ONE = ag.Owner(lane=64, x="lane*0")
"""

GATHER = """
@ag.kernel(threads=64, computes="out[b, n] = table[rows[b], n]", example=dict(P=30, B=5))
def k(table: ag.In["P n=256", f32], rows: ag.In["B", i32], out: ag.Out["B n=256", f32]):
    b = ag.grid(B)
    row = ag.as_index(rows[b].load(ONE, width=4), 0, P - 1, name="row")
    out[b].store(table[row].load(VEC, width=16), width=16)
"""
SHIFT = """
@ag.kernel(threads=64, computes="y[i] = x[i + 1] - x[i]", example=dict(N=200))
def k(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 64 * ag.grid(ag.cdiv(N, 64))
    y[start].store(x[start + 1].load(LANE, width=4) - x[start].load(LANE, width=4), width=4)
"""
TWO = """
@ag.kernel(threads=64, computes="s[m] = max(abs(X[m, n]), n); Y[m, n] = X[m, n] / max(abs(X[m, j]), j)",
           example=dict(M=6))
def k(X: ag.In["M n=256", f32], Y: ag.Out["M n=256", f32], s: ag.Out["M", f32]):
    row = ag.grid(M)
    x = X[row].load(VEC, width=16)
    top = ag.abs(x).max("n")
    s[row].store(top, width=4, guard=ag.lane() == 0)
    Y[row].store(x / top, width=16)
"""
PLACE = """
@ag.kernel(threads=64, computes="best[m] = argmax(X[m, n], n)", example=dict(M=6))
def k(X: ag.In["M n=256", f32], best: ag.Out["M", i32]):
    row = ag.grid(M)
    x = X[row].load(VEC, width=16)
    place = ag.where(x == x.max("n"), x.n, 256).min("n")
    best[row].store(place, width=4, guard=ag.lane() == 0)
"""
NAMED = """
@ag.kernel(threads=64, requires="N % 4 == 0", computes="y[n] = max(x[n] * 2, x[n])", example=dict(N=1000))
def k(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 256 * ag.grid(ag.cdiv(N, 256))
    v = x[start].load(VEC, width=16)
    y[start].store(ag.v_max_f32(ag.v_mul_f32(v, 2.0), v), width=16)
"""
LANES = """
@ag.kernel(threads=64, computes="y[i] = x[i]", example=dict(N=200))
def k(x: ag.In["N", f32], y: ag.Out["N", f32]):
    start = 64 * ag.grid(ag.cdiv(N, 64))
    v = x[start].load(LANE, width=4)
    y[start].store(ag.v_mov_b32_dpp(v, quad_perm=[1, 0, 3, 2]){held}, width=4)
"""
RIGHT_LANES = LANES.replace("{held}", ".held_as(SWAP)")


@pytest.mark.parametrize("text", [GATHER, SHIFT, TWO, PLACE, NAMED, RIGHT_LANES])
def test_right_kernels_compare_and_are_not_refuted(text: str) -> None:
    kernel = read(HEAD + text)
    assert {v.status for v in check(scheduled(kernel)).verdicts} <= {"proved", "unknown"}
    sizes = kernel.example
    arrays, scalars = make_arrays(kernel, sizes, 1), make_scalars(kernel, 1)
    given = {name: array.copy() for name, array in arrays.items()}
    outcome = CheckingDevice().launch(kernel, compile_kernel(scheduled(kernel)).object, sizes, arrays, scalars)
    assert not outcome.reports
    assert kernel.computes is not None
    specs = kernel.computes.results
    assert combined([compare(arrays[s.result], evaluate(s, given, {**sizes, **scalars})) for s in specs]).ok


def test_lane_exchanges_by_name_are_followed() -> None:
    assert {v.status for v in check(scheduled(read(HEAD + RIGHT_LANES))).verdicts} == {"proved"}
    wrong = check(scheduled(read(HEAD + LANES.replace("{held}", "")))).verdicts
    assert "placed" in {v.rule for v in wrong if v.status == "refuted"}


@pytest.mark.parametrize(
    "call", ["ag.ds_bpermute_b32(v.bitcast(i32), v)", "ag.v_perm_b32(v.bitcast(i32), w, 0x05040100)"]
)
def test_what_cannot_be_followed_is_not_proved(call: str) -> None:
    text = LANES.replace("ag.v_mov_b32_dpp(v, quad_perm=[1, 0, 3, 2]){held}", f"({call}){{cast}}")
    text = text.replace("{cast}", "" if "bpermute" in call else ".bitcast(f32)")
    text = text.replace("    y[start]", "    w = x[start + 1].load(LANE, width=4).bitcast(i32)\n    y[start]")
    found = {v.rule: v.status for v in check(scheduled(read(HEAD + text))).verdicts}
    assert found["placed"] != "proved" or found.get("value") != "proved"

"""Masks joined by `&`: max pooling with padding by -inf, right ones proved within their time, wrong ones not.

The oracle is numpy: windows of an array that is padded by -inf.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time

import numpy as np
import pytest

from argus.check import check
from argus.ir.interp import run
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f32, inf
OUT = ag.Owner(t=64, {e}p="t//16", q="{q}")
IN = ag.Owner(t=64, {e}h="{S}*(t//16)", w="{S}*({q})")
@ag.kernel(threads=64, requires="Z >= 1 and H >= 1 and W >= 1 and P >= 1 and Q >= 1",
    computes="Y[z, p, q] = max(max(where({S}*p + r - {pad} >= 0 and {S}*p + r - {pad} < H and {S}*q + s - {pad} >= 0 "
             "and {S}*q + s - {pad} < W, X[z, {S}*p + r - {pad}, {S}*q + s - {pad}], {none}), r, {K}), s, {K})",
    example=dict(Z=2, H=9, W=18, P=5, Q=9))
def k(X: ag.In["Z H W", f32], Y: ag.Out["Z P Q", f32]):
    z, bp, bq = ag.grid(Z, ag.cdiv(P, 4), ag.cdiv(Q, {across}))
    total = ag.full(OUT, f32, {start})
    for r, s in ag.unroll({K}, {K}):
        v = X[z, {S} * 4 * bp + r - {pad}, {S} * {across} * bq + s - {pad}].load(IN, width=4, guard="shape")
        v = v.held_as(OUT)
        h, w = {S} * (4 * bp + v.p) + r - {pad}, {S} * ({across} * bq + v.q) + s - {pad}
        total = ag.max(total, {masked})
    Y[z, 4 * bp, {across} * bq].store(total, width=4, guard="shape")
"""
AND = "ag.where((h >= 0) & (h < H) & (w >= 0) & (w < W), v, {none})"
NESTED = "ag.where(h >= 0, ag.where(h < H, ag.where(w >= 0, ag.where(w < W, v, {none}), {none}), {none}), {none})"
PAIRS = "ag.where((w >= 0) & (w < W), ag.where((h < H) & (h >= 0), v, {none}), {none})"
SECONDS = 10.0


def program(folder: Path, masked: str = AND, S: int = 1, K: int = 3, wide: int = 1, **more: str) -> Scheduled:
    words = {"none": "-inf", "start": "-inf", "pad": "1"} | more
    q, e = (f"{wide} * (t % 16) + e", f"e={wide}, ") if wide > 1 else ("t % 16", "")
    text = SOURCE.replace("{masked}", masked).format(S=S, K=K, q=q, e=e, across=16 * wide, **words)
    (folder / "k.py").write_text(text)
    return scheduled(read(folder / "k.py"))


def pooled(x: np.ndarray, S: int, K: int, pad: int, P: int, Q: int) -> np.ndarray:
    """Windows of x, padded by -inf on all sides."""
    wide = np.pad(x, ((0, 0), (pad, S * P + K), (pad, S * Q + K)), constant_values=-np.inf)
    taps = [wide[:, r : r + S * P : S, s : s + S * Q : S] for r in range(K) for s in range(K)]
    return np.max(taps, axis=0)


@pytest.mark.parametrize("masked", [AND, NESTED, PAIRS], ids=["and", "nested", "pairs"])
@pytest.mark.parametrize(("S", "K", "wide"), [(1, 3, 1), (2, 3, 1), (1, 2, 1), (2, 2, 4), (3, 5, 1)])
def test_right_pooling_is_proved(tmp_path: Path, masked: str, S: int, K: int, wide: int) -> None:
    made = program(tmp_path, masked, S, K, wide)
    start = process_time()
    assert check(made).proved
    assert process_time() - start < SECONDS
    x = np.random.default_rng(0).normal(size=(2, 9, 18)).astype(np.float32)
    sizes = {"Z": 2, "H": 9, "W": 18, "P": 9 // S, "Q": 18 // S}
    got = run(made.kernel, {"X": x}, sizes).arrays["Y"]
    assert np.array_equal(got, pooled(x, S, K, 1, sizes["P"], sizes["Q"]))


@pytest.mark.parametrize("none", ["-1e30", "5.0", "0.0"])
def test_other_padding_is_proved(tmp_path: Path, none: str) -> None:
    assert check(program(tmp_path, none=none)).proved


WRONG = {
    "past the edge": AND.replace("h < H", "h <= H"),
    "before the edge": AND.replace("w >= 0", "w >= 1"),
    "an edge is missing": AND.replace(" & (w < W)", ""),
    "the other size": AND.replace("h < H", "h < W"),
    "the other coordinate": AND.replace("(w >= 0)", "(h >= 0)"),
    "or": AND.replace("(h >= 0) &", "(h >= 0) |"),
    "turned around": "ag.where((h >= 0) & (h < H) & (w >= 0) & (w < W), {none}, v)",
    "no mask": "v",
    "padded by zero": AND.replace("{none}", "0.0"),
    "another tap": AND.replace("h < H", "h + 1 < H"),
    "a lane's own mask": AND.replace("h < H", "h + ag.lane() // 63 < H"),
}


@pytest.mark.parametrize("masked", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("S", [1, 2])
def test_wrong_pooling_is_not_proved(tmp_path: Path, masked: str, S: int) -> None:
    start = process_time()
    assert not check(program(tmp_path, masked, S)).proved
    assert process_time() - start < SECONDS


@pytest.mark.parametrize("start", ["0.0", "-1e30"])
def test_a_start_that_counts_is_not_proved(tmp_path: Path, start: str) -> None:
    assert not check(program(tmp_path, start=start)).proved


def test_a_truth_that_is_stored_is_followed(tmp_path: Path) -> None:
    """What a joined mask says, stored as a number."""
    text = """
import argus as ag
from argus import i32
OUT = ag.Owner(t=64, p="t // 8", q="t % 8")
@ag.kernel(threads=64, requires="H >= 1", computes="Y[p, q] = where({spec}, 1, 0)", example=dict(H=9))
def k(L: ag.In["H", i32], Y: ag.Out["P=8 Q=8", i32]):
    ag.grid(1)
    zero = ag.zeros(OUT, i32)
    Y[0, 0].store(ag.where((zero.p < H) & (zero.q < zero.p), 1, zero), width=4)
"""
    for spec, proved in (("p < H and q < p", True), ("p < H and q <= p", False), ("p < H", False)):
        (tmp_path / "k.py").write_text(text.format(spec=spec))
        assert check(scheduled(read(tmp_path / "k.py"))).proved is proved

"""Rule `fits`: conditions whose numbers wrap around on the machine are not proved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus import machine
from argus.check import check
from argus.check.engine import decide
from argus.check.rules.fits import Fits
from argus.compile.cache import compile_cached
from argus.ir.passes.schedule import scheduled
from argus.lang import read

TEXT = """import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, e=1, m="lane + e")


@ag.kernel(threads=64, requires="M % 64 == 0 and S >= 1{more}", computes="Y[s, m] = {means}", example=dict(M=64, S=3))
def far(A: ag.In["M", f32], Y: ag.Out["S M", f32]):
    s, b = ag.grid(S, M // 64)
    x = A[64 * b].load(ROW, width=4)
    {body}
"""
MASK = "Y[s, 64 * b].store(ag.where(x.m + 64 * b >= s * {far}, x, 0.0), width=4)"
GUARD = "Y[s, 64 * b].store(A[64 * b].load(ROW, width=4, guard=s * {far} <= 64 * b), width=4)"


def text(body: str, far: int, more: str = "") -> str:
    means = "where(m >= s * {far}, A[m], 0)" if body is MASK else "where(m // 64 * 64 >= s * {far}, A[m], 0)"
    return TEXT.format(body=body.format(far=far), means=means.format(far=far), more=more)


@pytest.mark.parametrize("body", [MASK, GUARD])
@pytest.mark.parametrize(
    ("far", "more", "fits"),
    [(2**31 - 1, "", False), (2**29, " and S <= 3 and M <= 1024", True), (100, " and M <= 1024", True)],
)
def test_numbers_of_conditions(body: str, far: int, more: str, fits: bool) -> None:
    report = check(scheduled(read(text(body, far, more))))
    assert ("fits" not in {v.rule for v in report.verdicts}) == fits, report.render()
    assert (report.status == "proved") <= fits


def test_it_wraps_around_indeed(tmp_path: Path) -> None:
    file = tmp_path / "far.py"
    file.write_text(text(MASK, 2**31 - 1))
    kernel = read(file)
    loaded = machine.load(compile_cached(scheduled(kernel)).object).kernel("far")
    a, y = np.ones(64, np.float32), np.full((3, 64), np.nan, np.float32)
    loaded((1, 3), 64, a, y, np.int32(64), np.int32(3))
    assert y[2].any(), "2 * (2**31 - 1) is -2 in 32 bits, and every m is more"


COPY = """import argus as ag
from argus import f32

P = ag.Owner(lane=64, i="lane")


@ag.kernel(threads=64, requires="N % 64 == 0", example=dict(N=128), computes="z[i] = {means}")
def copy(x: ag.In["N", f32], z: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    {body}
"""


def test_a_shift_by_a_size_is_unknown_without_an_internal_error() -> None:
    body = "z[64 * b].store(x[((64 * b) << N) >> N].load(P, width=4), width=4)"
    report = check(scheduled(read(COPY.format(body=body, means="x[i]"))))
    assert report.status == "unknown"
    assert {v.rule for v in report.verdicts if v.status != "proved"} >= {"fits"}
    assert not any("internal" in (v.reason or "") for v in report.verdicts)


SIGN = "s = ({number}) >> {amount}\n    z[64 * b].store(ag.where(s < 0, x[64 * b].load(P, width=4), 1.0), width=4)"


@pytest.mark.parametrize(
    ("number", "amount", "below", "status"),
    [
        ("0 - b", 31, "64 <= i", "proved"),
        ("0 - b", 30, "64 <= i", "proved"),
        ("3 - b", 31, "256 <= i", "proved"),
        ("0 - b", 31, "0 <= i", "refuted"),
        ("0 - b", 31, "128 <= i", "refuted"),
        ("1 - b", 31, "64 <= i", "refuted"),
        ("3 - b", 31, "64 <= i", "refuted"),
        ("0 - b * 2147483647", 31, "64 <= i", "unknown"),
        ("5 - b * b * b", 31, "N <= i", "refuted"),
        ("5 + b * b * b - b", 31, "N <= i", "unknown"),
    ],
)
def test_the_sign_by_a_shift_of_31(number: str, amount: int, below: str, status: str) -> None:
    body = SIGN.format(number=number, amount=amount)
    kernel = read(COPY.format(body=body, means=f"where({below}, x[i], 1)"))
    report = check(scheduled(kernel))
    assert report.status == status, report.render()
    if status == "proved":
        loaded = machine.load(compile_cached(scheduled(kernel)).object).kernel("copy")
        x, z = np.arange(2, 514, dtype=np.float32), np.full(512, np.nan, np.float32)
        loaded((8, 1), 64, x, z, np.int32(512))
        first = int(below.split()[0])
        assert (z == np.where(np.arange(512) >= first, x, 1)).all()


@pytest.mark.parametrize(
    ("axes", "end", "fits"),
    [
        ("M N", "M // 8 * (N // 32)", True),
        ("M N", "M * N", True),
        ("M N", "M * N * 4", True),
        ("M N", "M * N * 5", False),
        ("M N", "M * M", False),
        ("M N", "M * N * N", False),
        ("M", "M // 8 * (N // 32)", False),
        ("M", "M * N", False),
        ("N", "M * N", False),
    ],
)
def test_products_of_sizes_are_bounded_by_tensors_only(axes: str, end: str, fits: bool) -> None:
    text = f"""import argus as ag
from argus import f32

P = ag.Owner(lane=64, i="lane")


@ag.kernel(threads=64, requires="M % 8 == 0 and N % 32 == 0", example=dict(M=64, N=64), computes="z[i] = y[i]")
def loop(x: ag.In["{axes}", f32], v: ag.In["N", f32], y: ag.In["M", f32], z: ag.Out["M", f32]):
    b = ag.grid(ag.cdiv(M, 64))
    for t in ag.range({end}):
        if t < 1:
            z[64 * b].store(y[64 * b].load(P, width=4), width=4)
"""
    report = decide(read(text), [Fits()])
    assert (report.status == "proved") == fits, report.render()

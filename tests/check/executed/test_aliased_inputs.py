"""Inputs with overlapping strides: elements that are one place in memory are one number, whatever the strides are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check.engine import check
from argus.check.executed.inputs import arrays, places
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang.reader import read

TEXT = """import argus as ag
from argus import f32


@ag.kernel(threads=128, computes="Y[h, w] = Y[h, w] + X[h, w{ahead}]")
def k(X: ag.In["H W", f32, "{strides}"], Y: ag.InOut["H W", f32]):
    bh, bw = ag.grid(H, ag.cdiv(W + 1, 128))
    x = X[bh, 128 * bw].load(ag.Owner(t=128, w="t"), width=4, guard="shape")
    Y[bh, 128 * bw{back}].atomic_add(x, guard="shape")
"""
STRIDES = ("2 2", "1 1", "3 2", "sH 1", "sH sW")


def program(folder: Path, strides: str, ahead: str = "", back: str = "") -> Scheduled:
    path = folder / "k.py"
    path.write_text(TEXT.format(strides=strides, ahead=ahead, back=back))
    return scheduled(read(path))


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (3, 5, 4, 2), (4, 3, 1, 4), (1, 7, 3, 1), (6, 4, 2, 3)])
def test_one_place_is_one_number(tmp_path: Path, strides: str, sizes: tuple[int, ...]) -> None:
    kernel = program(tmp_path, strides).kernel
    given = dict(zip(("H", "W", "sH", "sW"), sizes, strict=True))
    held: dict[int, float] = {}
    made = arrays(kernel, given, "normal", 1)["X"]
    for place, number in zip(places(kernel.tensors[0], given).tolist(), made.reshape(-1).tolist(), strict=True):
        assert held.setdefault(place, number) == number
    assert len(np.unique(made)) == len(held)


WINDOWS = """import argus as ag
from argus import f32

I = ag.Owner(t=64, p="t")
O = ag.Owner(t=64, q="t")


@ag.kernel(threads=64, requires="P >= 3 and Q == P - 2", computes="Y[q] = {specified}")
def k(X: ag.In["P r=3", f32, "1 1"], Y: ag.Out["Q", f32]):
    b = ag.grid(ag.cdiv(Q, 64))
    x, y, z = [X[64 * b + n, 0].load(I, width=4, guard="shape").held_as(O) for n in (0, 1, 2)]
    Y[64 * b].store({stored}, width=4, guard="shape")
"""


@pytest.mark.parametrize(
    ("specified", "stored", "right"),
    [
        ("X[q, 1]", "y", True),
        ("X[q, 2]", "z", True),
        ("sum(X[q, r], r)", "x + y + z", True),
        ("max(X[q, r], r)", "ag.max(ag.max(x, y), z)", True),
        ("X[q, 1]", "z", False),
        ("sum(X[q, r], r)", "x + y + y", False),
    ],
)
def test_the_same_element_by_another_name(tmp_path: Path, specified: str, stored: str, right: bool) -> None:
    path = tmp_path / "k.py"
    path.write_text(WINDOWS.format(specified=specified, stored=stored))
    found = check(scheduled(read(path))).status
    assert found in ("proved", "unknown") if right else found in ("refuted", "unknown")


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize(("ahead", "back"), [("", ""), (" + 1", " - 1")])
def test_updates_by_an_overlapping_input_are_not_refuted(tmp_path: Path, strides: str, ahead: str, back: str) -> None:
    report = check(program(tmp_path, strides, ahead, back))
    assert all(v.status != "refuted" for v in report.verdicts)

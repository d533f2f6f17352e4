"""Scans of tiles against plain Python, for owners that spread an axis over registers and lanes in any order."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from argus.ir.interp import run
from argus.lang import ProgramError, read

KERNEL = """
import argus as ag
from argus import {dtype}

TILE = ag.Owner({inputs}, m="{m}", n="{n}")


@ag.kernel(threads={threads}, requires="M == {rows} and N == {columns}", example=dict(M={rows}, N={columns}))
def scan(X: ag.In["M N", {dtype}], Y: ag.Out["M N", {dtype}], Z: ag.Out["M N", {dtype}]):
    ag.grid(1)
    x = X.load(TILE, width={size})
    y = x.{call}
    Y.store(y, width={size})
    Z.store(x - x + y.{end}("n"), width={size})
"""
JOIN = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


class DrawnOwner:
    """Bits of the lane and digits of registers, each part of m or n, drawn by seed."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        digits = [
            *((f"lane//{1 << b}%2", 2, True) for b in range(6)),
            ("p", 2, False),
            ("e", draw.choice((1, 3, 4)), False),
        ]
        draw.shuffle(digits)
        if draw.random() < 0.6:  # registers, lanes, registers
            digits.sort(key=lambda d: 0 if d[0] == "e" else 1 if d[2] else 2)
        if draw.random() < 0.3:
            digits.append(("wave", 2, True))
        self.threads = 128 if digits[-1][0] == "wave" else 64
        self.count = {name: extent for name, extent, _ in digits if name in "pe"}
        self.kinds: list[bool] = []
        text, extent = {"m": "0", "n": "0"}, {"m": 1, "n": 1}
        for name, size, lane in digits:
            axis = "m" if name == "wave" or draw.random() < 0.25 else "n"
            text[axis] += f" + ({name})*{extent[axis]}"
            extent[axis] *= size
            self.kinds += [lane] if axis == "n" and size > 1 else []
        self.m, self.n, self.rows, self.columns = text["m"], text["n"], extent["m"], extent["n"]

    @property
    def in_order(self) -> bool:
        """No register digit stands between lane bits."""
        lanes = [i for i, lane in enumerate(self.kinds) if lane]
        return all(self.kinds[i] for i in range(lanes[0], lanes[-1])) if lanes else True

    def source(self, call: str, dtype: str, end: str) -> str:
        inputs = ", ".join(["lane=64", *(f"{name}={n}" for name, n in self.count.items())])
        inputs += ", wave=2" if self.threads == 128 else ""
        return KERNEL.format(
            dtype=dtype, size=4, inputs=inputs, m=self.m, n=self.n, threads=self.threads, rows=self.rows,
            columns=self.columns, call=call, end=end,
        )  # fmt: skip


def one_by_one(x: np.ndarray, name: str, exclusive: bool, reverse: bool) -> np.ndarray:
    neutral = {"cumsum": 0, "cumprod": 1, "cummax": -np.inf, "cummin": np.inf}[name]
    made = np.empty_like(x)
    for m, line in enumerate(x):
        taken = neutral
        for n in reversed(range(len(line))) if reverse else range(len(line)):
            after = JOIN[name](taken, line[n])
            made[m, n], taken = (taken if exclusive else after), after
    return made


@pytest.mark.parametrize("seed", range(60))
def test_a_scan_takes_what_stands_before_whoever_holds_it(seed: int, tmp_path: Path) -> None:
    owner, draw = DrawnOwner(seed), random.Random(seed)
    name = draw.choice(list(JOIN))
    exclusive, reverse = draw.random() < 0.5, draw.random() < 0.5
    end = draw.choice(("first", "last"))
    file = tmp_path / "scan.py"
    file.write_text(owner.source(f'{name}("n", exclusive={exclusive}, reverse={reverse})', "f32", end))
    if not owner.in_order:
        with pytest.raises(ProgramError, match="AG423"):
            read(file)
        return
    kernel = read(file)
    dice = np.random.default_rng(seed)
    x = dice.integers(1, 4, (owner.rows, owner.columns)).astype(np.float32) * 2.0 ** dice.integers(-1, 1)
    x *= dice.choice((-1.0, 1.0), x.shape).astype(np.float32)
    x = np.where(np.abs(x) > 1, np.sign(x), x).astype(np.float32) if name == "cumprod" else x
    found = run(kernel, {"X": x}, {"M": owner.rows, "N": owner.columns})
    assert not found.hazards
    want = one_by_one(x, name, exclusive, reverse)
    np.testing.assert_array_equal(found.arrays["Y"], want)
    last = want[:, -1:] if end == "last" else want[:, :1]
    np.testing.assert_array_equal(found.arrays["Z"], np.broadcast_to(last, want.shape))


def test_owners_of_both_kinds_were_drawn() -> None:
    kinds = [DrawnOwner(seed).in_order for seed in range(60)]
    assert 15 <= sum(kinds) <= 50


@pytest.mark.parametrize("name", ["cumsum", "cummax"])
def test_whole_numbers_have_their_own_neutral(name: str, tmp_path: Path) -> None:
    file = tmp_path / "scan.py"
    owner = next(owner for seed in range(60) if (owner := DrawnOwner(seed)).in_order and owner.columns > 64)
    file.write_text(owner.source(f'{name}("n", exclusive=True)', "i32", "last"))
    x = np.random.default_rng(1).integers(-9, 9, (owner.rows, owner.columns)).astype(np.int32)
    found = run(read(file), {"X": x}, {"M": owner.rows, "N": owner.columns})
    start = np.full((owner.rows, 1), 0 if name == "cumsum" else -(2**31), np.int32)
    want = JOIN[name].accumulate(np.concatenate([start, x[:, :-1]], axis=1), axis=1)
    np.testing.assert_array_equal(found.arrays["Y"], want)


BRANCH = """
import argus as ag
from argus import f32

ROW = ag.Owner(lane=64, {inputs}n="{n}")


@ag.kernel(threads=64, requires="N == 256", example=dict(N=256))
def scan(X: ag.In["N", f32], Y: ag.Out["N", f32]):
    ag.grid(1)
    x = X.load(ROW, width=4)
    if ag.lane() < 32:
        Y.store(x.cumsum("n"), width=4)
"""


@pytest.mark.parametrize(("inputs", "n"), [("e=4, ", "lane*4 + e"), ("e=4, ", "e*64 + lane")])
def test_a_scan_over_lanes_takes_all_lanes(inputs: str, n: str, tmp_path: Path) -> None:
    file = tmp_path / "scan.py"
    file.write_text(BRANCH.format(inputs=inputs, n=n))
    with pytest.raises(ProgramError, match="AG511"):
        read(file)


def test_a_scan_in_registers_may_stand_in_a_branch(tmp_path: Path) -> None:
    file = tmp_path / "scan.py"
    source = BRANCH.format(inputs="e=4, ", n="e").replace("N == 256", "N == 4").replace("N=256", "N=4")
    file.write_text(source)
    found = run(read(file), {"X": np.ones(4, np.float32)}, {"N": 4})
    assert found.arrays["Y"].tolist() == [1, 2, 3, 4]

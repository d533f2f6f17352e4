"""Loops in loops that may run zero times: what a loop inside has computed is not there afterwards without a turn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.device.simulated import CheckingDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import i32
P = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, example=dict(N=4, T=2))
def k(x: ag.In["N i=64", i32], z: ag.In["T i=64", i32], y: ag.Out["N i=64", i32], w: ag.Out["T i=64", i32]):
    b = ag.grid(1)
    for n in ag.range({start}, N{step}):
        u = x[n].load(P, width=4)
        for j in ag.range({turns}):
            u = u * 3 + j
        y[n].store(u, width=4)
    for t in ag.range(T):
        w[t].store(z[t].load(P, width=4) + ag.lane(), width=4)
"""


@pytest.mark.parametrize(("start", "step"), [("0", ""), ("1", ""), ("b", ", 2")])
@pytest.mark.parametrize("turns", ["T", "n % 3", "2"])
def test_results_are_those_of_python(start: str, step: str, turns: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SOURCE.format(start=start, step=step, turns=turns))
    program = scheduled(read(tmp_path / "k.py"))
    code = compile_kernel(program).object
    for n, t in ((1, 1), (1, 2), (5, 3), (4, 1)):
        x = np.arange(n * 64, dtype=np.int32).reshape(n, 64)
        z = np.arange(t * 64, dtype=np.int32).reshape(t, 64) * 7
        arrays = {"x": x, "z": z, "y": np.zeros_like(x), "w": np.zeros_like(z)}
        CheckingDevice().launch(program.kernel, code, {"N": n, "T": t}, arrays)
        wanted = np.zeros_like(x)
        for row in range(0 if start == "b" else int(start), n, 2 if step else 1):
            value = x[row].astype(np.int64)
            for j in range({"T": t, "n % 3": row % 3, "2": 2}[turns]):
                value = value * 3 + j
            wanted[row] = value.astype(np.int32)
        assert np.array_equal(arrays["y"], wanted)
        assert np.array_equal(arrays["w"], z + np.arange(64, dtype=np.int32))


BRANCHES = """
import argus as ag
from argus import i32
P = ag.Owner(t=64, i="t")
@ag.kernel(threads=64, example=dict(N=4, B=3))
def k(x: ag.In["B i=64", i32], z: ag.In["N i=64", i32], y: ag.Out["B i=64", i32]):
    b = ag.grid(B)
    u = x[b].load(P, width=4)
    if {condition}:
        for j in ag.range(N):
            u = u * 3
    {other}
    for j in ag.range(N - 1):
        u = u + j + ag.lane()
    y[b].store(u, width=4)
"""
OTHER = "else:\n        for j in ag.range(N):\n            u = u + j"


@pytest.mark.parametrize("condition", ["b > 0", "ag.lane() < 20"])
@pytest.mark.parametrize("other", ["", OTHER])
def test_loops_in_arms(condition: str, other: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(BRANCHES.format(condition=condition, other=other))
    program = scheduled(read(tmp_path / "k.py"))
    code = compile_kernel(program).object
    lanes = np.arange(64)
    for n, b in ((1, 1), (2, 3), (5, 2)):
        x = np.arange(b * 64, dtype=np.int32).reshape(b, 64)
        arrays = {"x": x, "z": np.zeros((n, 64), np.int32), "y": np.zeros_like(x)}
        CheckingDevice().launch(program.kernel, code, {"N": n, "B": b}, arrays)
        taken = (np.arange(b)[:, None] > 0) & (lanes >= 0) if condition == "b > 0" else (lanes < 20) & (x >= 0)
        wanted = np.where(taken, x.astype(np.int64) * 3**n, x + (sum(range(n)) if other else 0))
        wanted = wanted + sum(range(n - 1)) + (n - 1) * lanes
        assert np.array_equal(arrays["y"], wanted.astype(np.int32))

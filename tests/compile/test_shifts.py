"""Shifts have one meaning for every amount: that of whole numbers in Python, the interpreter and the object.

The rule is `shift-amount`: the amount modulo 32 (64 of i64), narrow elements in 32 bits. Amounts are -70 .. 70, as
constants, as tiles and from data. The checking machine and the compiled one run the same object.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.compile import compile_kernel
from argus.device.simulated import CheckingDevice, JitDevice
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read

TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64")
FAR = 70
LANES = 64

CONSTANTS = """
import argus as ag
from argus import {type}
P = ag.Owner(t=64, n="t")
@ag.kernel(threads=64, requires="N == 64", example=dict(N=64))
def k(X: ag.In["N", {type}], L: ag.Out["A={count} N", {type}], R: ag.Out["A={count} N", {type}]):
    ag.grid(1)
    x = X[0].load(P, width={bytes})
    for a in ag.unroll({count}):
        L[a, 0].store(x << {amount}, width={bytes})
        R[a, 0].store(x >> {amount}, width={bytes})
"""
DATA = """
import argus as ag
from argus import {type}
P = ag.Owner(t=64, e={each}, n="t*{each} + e")
@ag.kernel(threads=64, requires="A >= 1 and N == {row}", example=dict(A=9, N={row}))
def k(X: ag.In["A N", {type}], S: ag.In["A N", {type}], L: ag.Out["A N", {type}], R: ag.Out["A N", {type}]):
    a = ag.grid(A)
    x, s = X[a, 0].load(P, width={wide}), S[a, 0].load(P, width={wide})
    L[a, 0].store(x << s, width={wide})
    R[a, 0].store(x >> s, width={wide})
"""


def numbers(kind: np.dtype, count: int) -> np.ndarray:
    """The ends of the type, numbers around zero, and others of any size."""
    ends = np.iinfo(kind)
    dice = np.random.default_rng(9)
    some = dice.integers(ends.min, ends.max, count, dtype=kind, endpoint=True)
    some[:6] = ends.min, ends.max, 0, 1, ends.max // 2, ends.min + 1
    return some


def shifted(x: np.ndarray, amounts: np.ndarray, left: bool) -> np.ndarray:
    """By Python's whole numbers, which have no width."""
    modulus, bits = max(32, 8 * x.itemsize), 8 * x.itemsize
    made = np.zeros(x.shape, dtype=x.dtype)
    for place, number in np.ndenumerate(x):
        amount = int(amounts[place]) % modulus
        whole = int(number) << amount if left else int(number) >> amount
        made[place] = np.array(whole % 2**bits, dtype=np.uint64).astype(x.dtype)
    return made


def same_everywhere(made: Kernel, sizes: dict[str, int], given: dict[str, np.ndarray], amounts: np.ndarray) -> None:
    """Interpreter and both machines give L = x << amounts and R = x >> amounts."""
    x = np.broadcast_to(given["X"], amounts.shape)
    wanted = {"L": shifted(x, amounts, left=True), "R": shifted(x, amounts, left=False)}
    program = scheduled(made)
    code = compile_kernel(program).object
    found = {"interpreter": run(program.kernel, dict(given), sizes).arrays}
    for device in (CheckingDevice, JitDevice):
        memory = {**{n: v.copy() for n, v in given.items()}, **{n: np.full_like(v, 77) for n, v in wanted.items()}}
        device().launch(program.kernel, code, sizes, memory, {})
        found[device.__name__] = memory
    for who, arrays in found.items():
        for name, right in wanted.items():
            wrong = np.argwhere(arrays[name] != right)
            assert not len(wrong), (who, name, [(x[*n], amounts[*n], arrays[name][*n], right[*n]) for n in wrong[:4]])


def written(tmp_path: Path, text: str) -> Kernel:
    file = tmp_path / "k.py"
    file.write_text(text)
    return read(str(file))


@pytest.mark.parametrize("how", ["number", "tile"])
@pytest.mark.parametrize("name", TYPES)
def test_constant_amounts(tmp_path: Path, name: str, how: str) -> None:
    kind, least = np.dtype(f"{name[0]}{int(name[1:]) // 8}"), -FAR if name[0] == "i" else 0
    amounts = np.arange(least, FAR + 1)
    amount = f"({least} + a)" if how == "number" else f"ag.full(P, {name}, {least} + a)"
    text = CONSTANTS.format(type=name, bytes=kind.itemsize, count=len(amounts), amount=amount)
    every = np.broadcast_to(amounts[:, None], (len(amounts), LANES))
    same_everywhere(written(tmp_path, text), {"N": LANES}, {"X": numbers(kind, LANES)}, every)


@pytest.mark.parametrize("each", [4, 3])
@pytest.mark.parametrize("name", TYPES)
def test_amounts_from_data(tmp_path: Path, name: str, each: int) -> None:
    """All amounts in every element of a register, and the extremes of the type as amounts. Three narrow elements leave
    a part of a register undefined."""
    kind, row = np.dtype(f"{name[0]}{int(name[1:]) // 8}"), LANES * each
    ends = np.iinfo(kind)
    amounts = np.append(np.arange(-FAR, FAR + 1).astype(kind), np.array([ends.min, ends.max], dtype=kind))
    rows = -(-len(amounts) * 8 // row)
    s = np.resize(np.repeat(amounts, 7), (rows, row))
    x = np.random.default_rng(2).choice(numbers(kind, 40), s.shape)
    wide = min(16, 4 * kind.itemsize) if each == 4 else kind.itemsize
    made = written(tmp_path, DATA.format(type=name, wide=wide, each=each, row=row))
    same_everywhere(made, {"A": rows, "N": row}, {"X": x, "S": s}, s)

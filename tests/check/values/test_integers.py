"""Integers: a result is the specified whole number modulo 2^bits of its type. What wraps around on the way to a sum or
product makes no difference; whatever asks for the number itself is not proved unless the number fits its type.

Every kernel that is proved runs on the machine, over numbers of the whole type, and must agree with Python's integers
through the same comparison that `argus run` makes; every one that is not proved gives another number for some input.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import Report, check
from argus.ir.interp.numbers import NUMPY
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.ir.types import DTYPES
from argus.lang import read
from argus.spec import evaluate
from argus.spec.compare import compare
from tests.kernels.running import run

HEAD = """
import argus as ag
from argus import bf8, f16, f32, fp8, i8, i16, i32, i64, u8, u16, u32

P = ag.Owner(t=64, i="t")
ROW = ag.Owner(t=64, n="t")
"""
EACH = """
@ag.kernel(threads=64, requires="N >= 1", computes="z[i] = {computes}", example=dict(N=256))
def apply(x: ag.In["N", {given}], z: ag.Out["N", {made}]):
    b = ag.grid(ag.cdiv(N, 64))
    v = x[64 * b].load(P, width={wide})
    z[64 * b].store({stores}, width={narrow})
"""
SUMS = """
@ag.kernel(threads=64, requires="N >= 1", computes="z[m] = sum({summed}, n)", example=dict(M=2, N=64))
def rows(x: ag.In["M N", {given}], z: ag.Out["M", {made}]):
    m = ag.grid(M)
    acc = ag.zeros(ROW, {inside})
    for i in ag.range(ag.cdiv(N, 64)):
        v = x[m, 64 * i].load(ROW, width={wide}, guard="shape")
        acc = acc + {body}
    z[m].store({stores}, width={narrow})
"""
RIGHT = [
    ("v * v", "x[i] * x[i]", "u8", "u8"),
    ("v + v", "2 * x[i]", "i8", "i8"),
    ("v * 1000", "x[i] * 1000", "i16", "i16"),
    ("v * v * v * v * v", "x[i] * x[i] * x[i] * x[i] * x[i]", "i32", "i32"),
    ("v * v * v * v * v", "x[i] * x[i] * x[i] * x[i] * x[i]", "i64", "i64"),
    ("v - 100", "x[i] - 100", "u8", "u8"),
    ("v + 156", "x[i] - 100", "u8", "u8"),
    ("-v", "-x[i]", "u32", "u32"),
    ("v + 3000001", "x[i] + 3000001", "i32", "i32"),
    ("v * 4294967297", "x[i] * 4294967297", "i64", "i64"),
    ("v.to(i32) * v.to(i32)", "x[i] * x[i]", "u8", "i32"),
    ("(v.to(i32) * v.to(i32)).to(u8)", "x[i] * x[i]", "u8", "u8"),
    ("(v * v).to(u16)", "x[i] * x[i]", "i32", "u16"),
    ("v.to(i16) - 300", "x[i] - 300", "i8", "i16"),
    ("v.to(u16)", "x[i]", "i8", "u16"),
    ("v.to(u32)", "x[i]", "i32", "u32"),
    ("(v.to(i32) * v.to(i32)).to(f32)", "x[i] * x[i]", "i8", "f32"),
    ("ag.max(v, 3)", "max(x[i], 3)", "i8", "i8"),
    ("ag.max(v.to(i16) + v.to(i16), 3)", "max(2 * x[i], 3)", "i8", "i16"),
    ("ag.abs(v)", "abs(x[i])", "i8", "i8"),
    ("ag.abs(v.to(i32)).to(i64)", "abs(x[i])", "i8", "i64"),
    ("ag.max(v + v, 3) - ag.max(v + v, 3) + v", "x[i]", "u8", "u8"),
]
WRONG = [
    ("(v * v).to(i32)", "x[i] * x[i]", "u8", "i32"),
    ("(v + v).to(i16)", "2 * x[i]", "i8", "i16"),
    ("(v * v).to(f32)", "x[i] * x[i]", "i32", "f32"),
    ("(v + v).to(i64)", "2 * x[i]", "u32", "i64"),
    ("(v - 100).to(i32)", "x[i] - 100", "u8", "i32"),
    ("ag.max(v + v, 3)", "max(2 * x[i], 3)", "i8", "i8"),
    ("ag.min(v * v, 77)", "min(x[i] * x[i], 77)", "u8", "u8"),
    ("ag.abs(v + v)", "abs(2 * x[i])", "i8", "i8"),
    ("ag.abs(v).to(i32)", "abs(x[i])", "i8", "i32"),
    ("ag.where(v + v > 10, v, v - v)", "where(2 * x[i] > 10, x[i], 0)", "i8", "i8"),
    ("v + 3000001", "x[i] + 3000000", "i32", "i32"),
    ("v * 257", "x[i]", "u16", "u16"),
    ("v + 65536", "x[i]", "i32", "i32"),
    ("v.to(i8, saturate=True)", "x[i]", "i32", "i8"),
    ("v.to(i32)", "x[i]", "f32", "i32"),
    ("v.to(fp8, saturate=True)", "x[i]", "f32", "fp8"),
    ("v.to(bf8, saturate=True)", "x[i]", "f32", "bf8"),
    ("v.to(f16, saturate=True)", "x[i]", "f32", "f16"),
    ("(v * 1000.0).to(f16, saturate=True).to(f32)", "x[i] * 1000", "f32", "f32"),
]
CUT = [
    ("v.to(fp8, saturate=True)", "min(max(x[i], -240), 240)", "f32", "fp8"),
    ("v.to(f16, saturate=True)", "max(min(x[i], 65504), -65504)", "f32", "f16"),
]
"""A conversion that saturates is the specification's minimum and maximum."""


def made(folder: Path, stores: str, computes: str, given: str, into: str) -> Kernel:
    file = folder / "apply.py"
    sizes = {"wide": DTYPES[given].bytes, "narrow": DTYPES[into].bytes}
    file.write_text(HEAD + EACH.format(stores=stores, computes=computes, given=given, made=into, **sizes))
    return read(str(file))


def values(report: Report) -> set[str]:
    return {v.status for v in report.verdicts if v.rule == "value"}


def numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Over the whole type, its ends among them; floats as large as the narrow types' limits."""
    dice, into = np.random.default_rng(3), np.dtype(NUMPY[dtype])
    if into.kind == "f":
        return (dice.standard_normal(shape) * 2.0 ** dice.integers(-3, 18, shape)).astype(into)
    info = np.iinfo(into)
    drawn = dice.integers(info.min, info.max, shape, dtype=into, endpoint=True)
    drawn.reshape(-1)[:4] = info.min, info.max, 0, 1
    return drawn


def agrees(kernel: Kernel, sizes: dict[str, int], x: np.ndarray) -> bool:
    """What the machine makes of it is what the specification says."""
    assert kernel.computes is not None
    (spec,) = kernel.computes.results
    (out,) = (t for t in kernel.tensors if t.written)
    z = np.zeros([sizes[a] for a in out.axes], NUMPY[out.dtype.name])
    run(kernel, sizes, {"x": x, "z": z})
    with np.errstate(all="ignore"):
        return compare(z, evaluate(spec, {"x": x, "z": z}, sizes)).ok


@pytest.mark.parametrize(("stores", "computes", "given", "into"), [*RIGHT, *CUT])
def test_right_ones_are_proved_and_right(tmp_path: Path, stores: str, computes: str, given: str, into: str) -> None:
    kernel = made(tmp_path, stores, computes, given, into)
    report = check(scheduled(kernel))
    assert report.status == "proved", report.render()
    if (stores, computes, given, into) not in CUT:
        assert agrees(kernel, {"N": 200}, numbers(given, (200,)))


@pytest.mark.parametrize(("stores", "computes", "given", "into"), WRONG)
def test_wrong_ones_are_not_proved(tmp_path: Path, stores: str, computes: str, given: str, into: str) -> None:
    kernel = made(tmp_path, stores, computes, given, into)
    assert values(check(scheduled(kernel))) != {"proved"}
    assert not agrees(kernel, {"N": 200}, numbers(given, (200,)))


@pytest.mark.parametrize(
    ("given", "into", "inside", "body", "summed", "stores", "right"),
    [
        ("u8", "u8", "u8", "v", "x[m, n]", 'acc.sum("n")', True),
        ("i8", "i8", "i8", "v * v", "x[m, n] * x[m, n]", 'acc.sum("n")', True),
        ("u8", "i32", "i32", "v.to(i32)", "x[m, n]", 'acc.sum("n")', True),
        ("u8", "u8", "i32", "v.to(i32)", "x[m, n]", 'acc.sum("n").to(u8)', True),
        ("u8", "i32", "u8", "v", "x[m, n]", 'acc.sum("n").to(i32)', False),
        ("i8", "i32", "i32", "(v * v).to(i32)", "x[m, n] * x[m, n]", 'acc.sum("n")', False),
        ("u8", "f32", "u8", "v", "x[m, n]", 'acc.sum("n").to(f32)', False),
        ("i32", "f32", "i32", "v", "x[m, n]", 'acc.sum("n").to(f32)', False),
    ],
)
def test_sums(
    tmp_path: Path, given: str, into: str, inside: str, body: str, summed: str, stores: str, right: bool
) -> None:
    file = tmp_path / "rows.py"
    sizes = {"wide": DTYPES[given].bytes, "narrow": DTYPES[into].bytes}
    file.write_text(
        HEAD + SUMS.format(given=given, made=into, inside=inside, body=body, summed=summed, stores=stores, **sizes)
    )
    kernel = read(str(file))
    report = check(scheduled(kernel))
    assert (values(report) == {"proved"}) == right, report.render()
    assert agrees(kernel, {"M": 3, "N": 131}, numbers(given, (3, 131))) == right

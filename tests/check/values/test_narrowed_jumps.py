"""What jumps at a number that was rounded is another thing, not a rounded one: it must not be proved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from argus.check import Report, check
from argus.ir.interp import run
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import f64, f32, f16, bf16, fp8, i64, i32, i16, i8, u32, u8
P = ag.Owner(t=256, n="t")
@ag.kernel(threads=256, requires="N >= {least}", computes="Z[i] = {spec}", example=dict(N={least}))
def k(X: ag.In["N", {dtype}], Y: ag.In["N", {dtype}], Z: ag.Out["N", {out}]):
    b = ag.grid(ag.cdiv(N, 256))
    x = X[256 * b].load(P, width={width}, guard="shape")
    y = Y[256 * b].load(P, width={width}, guard="shape")
    Z[256 * b].store({result}, width={stored}, guard="shape")
"""
ONE = "ag.full(P, i32, 1)"
WIDTHS = {"i64": 8, "f64": 8, "f32": 4, "i32": 4, "u32": 4, "i16": 2, "f16": 2, "bf16": 2, "i8": 1, "u8": 1}


@dataclass(frozen=True)
class Jump:
    """A kernel, and inputs at which it stores something else than `exact`."""

    dtype: str
    out: str
    spec: str
    result: str
    x: float
    y: float
    exact: float


BIG = 2**24
F32_ONE = "ag.full(P, f32, 1.0)"
TO_BF16 = "x.to(f32).to(bf16).to(f32)"
PREFIXES = {"i": "int", "u": "uint", "f": "float"}
WRONG = {
    "maximum of i32": Jump(
        "i32", "i32", "maximum(X[i], Y[i])", "ag.where(x.to(f32) > y.to(f32), x, y)", BIG + 1, BIG, BIG + 1
    ),
    "maximum of i16 by bf16": Jump(
        "i16", "i16", "maximum(X[i], Y[i])", f"ag.where({TO_BF16} > y.to(f32).to(bf16).to(f32), x, y)",
        16385, 16384, 16385,
    ),
    "minimum of u32": Jump(
        "u32", "u32", "minimum(X[i], Y[i])", "ag.where(x.to(f32) < y.to(f32), x, y)", BIG, BIG + 1, BIG
    ),
    "threshold of i16 by bf16": Jump(
        "i16", "i32", "where(X[i] > 1000, 1, 0)", f"ag.where({TO_BF16} > 1000.0, {ONE}, 0)", 1001, 0, 1
    ),
    "threshold as a float": Jump(
        "i16", "f32", "where(X[i] > 1000, 1, 0)", f"ag.where({TO_BF16} > 1000.0, {F32_ONE}, 0.0)", 1001, 0, 1
    ),
    "threshold of i32": Jump(
        "i32", "i32", "where(X[i] > 16777216, 1, 0)", f"ag.where(x.to(f32) > 16777216.0, {ONE}, 0)", BIG + 1, 0, 1
    ),
    "equal i32": Jump(
        "i32", "i32", "where(X[i] == Y[i], 1, 0)", f"ag.where(x.to(f32) == y.to(f32), {ONE}, 0)", BIG + 1, BIG, 0
    ),
    "i64 by f64": Jump(
        "i64", "i64", "maximum(X[i], Y[i])", "ag.where(x.to(f64) > y.to(f64), x, y)", 2**53 + 1, 2**53, 2**53 + 1
    ),
    "products of i16": Jump(
        "i16", "i32", "where(X[i] * X[i] > (Y[i] + 1) * (Y[i] - 1), 1, 0)",
        f"ag.where(x.to(f32) * x.to(f32) > (y.to(f32) + 1.0) * (y.to(f32) - 1.0), {ONE}, 0)", 32767, 32767, 1,
    ),
    "a round trip": Jump("i16", "i16", "X[i]", f"ag.where({TO_BF16} == x.to(f32), x, 0)", 16385, 0, 16385),
    "step of an f32 by bf16": Jump(
        "f32", "f32", "where(X[i] > 1, 1, 0)", f"ag.where({TO_BF16} > 1.0, {F32_ONE}, 0.0)", 1.001, 0, 1
    ),
    "f32 chosen by bf16": Jump(
        "f32", "f32", "maximum(X[i], Y[i])", f"ag.where({TO_BF16} > y.to(bf16).to(f32), x, y)", 1.003, 1.001, 1.003
    ),
    "sums of i32": Jump(
        "i32", "i32", "where(X[i] + Y[i] > 0, 1, 0)", f"ag.where(x.to(f32) + y.to(f32) > 0.0, {ONE}, 0)",
        BIG + 1, -BIG, 1,
    ),
    "arithmetic in f16": Jump("f16", "f16", "floor(X[i] * 3)", "ag.floor(x * 3.0)", 1365 / 4096, 0, 0),
    "a product in f16": Jump(
        "f16", "i32", "where(X[i] * Y[i] >= 1, 1, 0)", f"ag.where(x * y >= 1.0, {ONE}, 0)", 1 + 2**-10, 1 - 2**-10, 0
    ),
    "a sum in f16": Jump("f16", "f16", "floor(X[i] + Y[i])", "ag.floor(x + y)", 1, -(2**-12), 0),
    "a threshold that bf16 does not have": Jump(
        "bf16", "f32", "where(X[i] > 0.1, 1, 0)", f"ag.where(x > 0.1, {F32_ONE}, 0.0)", 0.10009765625, 0, 1
    ),
    "a threshold that fp8 does not have": Jump(
        "f32", "f32", "where(X[i] > 0.1, X[i], 0)", "ag.where(x > ag.full(P, fp8, 0.1).to(f32), x, 0.0)",
        0.101, 0, 0.101,
    ),
    "a threshold of f64 in f32": Jump(
        "f64", "f64", "where(X[i] > 0.1, 1, 0)",
        "ag.where(x > ag.full(P, f32, 0.1).to(f64), ag.full(P, f64, 1.0), 0.0)",
        0.1 + 2.0**-40, 0, 1,
    ),
    "an offset that bf16 does not have": Jump(
        "f32", "f32", "floor(X[i] + 0.3)", "ag.floor(x + ag.full(P, bf16, 0.3).to(f32))", 0.6995, 0, 0
    ),
    "a threshold off by a digit of f32": Jump(
        "f32", "f32", "where(X[i] > 0.1, 1, 0)", f"ag.where(x > 0.10000001, {F32_ONE}, 0.0)",
        float(np.float32(0.10000001)), 0, 1,
    ),
    "a threshold of f64 off by a digit of f32": Jump(
        "f64", "f32", "where(X[i] > 0.1, 1, 0)", f"ag.where(x > 0.10000000149011612, {F32_ONE}, 0.0)",
        0.1 + 2.0**-31, 0, 1,
    ),
    "floor of f16": Jump("f32", "f32", "floor(X[i])", "ag.floor(x.to(f16).to(f32))", 2.9999, 0, 2),
}  # fmt: skip
RIGHT = {
    "relu of bf16": ("f32", "bf16", "maximum(X[i], 0)", "ag.where(x.to(bf16) > 0.0, x.to(bf16), 0.0)"),
    "leaky": ("f32", "bf16", "maximum(X[i], 0.25 * X[i])",
              "ag.where(x.to(bf16).to(f32) > 0.0, x.to(bf16).to(f32), 0.25 * x.to(bf16).to(f32)).to(bf16)"),
    "threshold of i16 by f32": ("i16", "i32", "where(X[i] > 1000, 1, 0)", f"ag.where(x.to(f32) > 1000.0, {ONE}, 0)"),
    "i8 by bf16": ("i8", "i8", "maximum(X[i], Y[i])", "ag.where(x.to(bf16) > y.to(bf16), x, y)"),
    "u8 products": (
        "u8", "i32", "where(X[i] * Y[i] > 9, 1, 0)", f"ag.where(x.to(f32) * y.to(f32) > 9.0, {ONE}, 0)"
    ),
    "relu of a product in bf16": ("bf16", "bf16", "maximum(X[i] * Y[i], 0)", "ag.where(x * y > 0.0, x * y, 0.0)"),
    "products of u8 in f32": ("u8", "f32", "floor(X[i] * Y[i])", "ag.floor(x.to(f32) * y.to(f32))"),
    "a threshold that bf16 has": (
        "bf16", "f32", "where(X[i] > 0.125, 1, 0)", f"ag.where(x > 0.125, {F32_ONE}, 0.0)"
    ),
    "a clamp in bf16": ("bf16", "bf16", "minimum(maximum(X[i], 0.1), 2.7)", "ag.min(ag.max(x, 0.1), 2.7)"),
    "a threshold as f32 has it": (
        "f32", "f32", "where(X[i] > 0.1, 1, 0)", f"ag.where(x > 0.10000000149011612, {F32_ONE}, 0.0)"
    ),
    "a factor off by a digit of f32": ("f32", "f32", "X[i] * 0.1", "x * 0.10000001"),
    "f32 itself": ("f32", "f32", "where(X[i] > 1, 1, 0)", "ag.where(x > 1.0, ag.full(P, f32, 1.0), 0.0)"),
}  # fmt: skip


def kernel(folder: Path, dtype: str, out: str, spec: str, result: str, least: int = 1) -> Kernel:
    text = SOURCE.format(
        dtype=dtype, out=out, spec=spec, result=result, least=least, width=WIDTHS[dtype], stored=WIDTHS[out]
    )
    (folder / "k.py").write_text(text)
    return read(folder / "k.py")


def value(report: Report) -> str:
    return next(v.status for v in report.verdicts if v.rule == "value")


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("least", [1, 1_000_001])
def test_jumps_at_rounded_numbers_are_not_proved(name: str, least: int, tmp_path: Path) -> None:
    """With the larger size no launch is small enough to be executed: the rules alone must see it."""
    jump = WRONG[name]
    made = kernel(tmp_path, jump.dtype, jump.out, jump.spec, jump.result, least)
    assert value(check(scheduled(made))) != "proved"


@pytest.mark.parametrize("name", WRONG)
def test_they_are_wrong(name: str, tmp_path: Path) -> None:
    jump = WRONG[name]
    made = kernel(tmp_path, jump.dtype, jump.out, jump.spec, jump.result)
    given, stored = dtype_of(jump.dtype), dtype_of(jump.out)
    arrays = {"X": np.full(3, jump.x, given), "Y": np.full(3, jump.y, given), "Z": np.zeros(3, stored)}
    stored_z = run(insert_waits(made), arrays, {"N": 3}).arrays["Z"]
    assert abs(stored_z[0].item() - jump.exact) >= 1e-3


def dtype_of(name: str) -> np.dtype[np.generic]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(PREFIXES[name[0]] + name[1:])


@pytest.mark.parametrize("name", RIGHT)
def test_maxima_of_rounded_numbers_and_exact_ones_are_proved(name: str, tmp_path: Path) -> None:
    report = check(scheduled(kernel(tmp_path, *RIGHT[name])))
    assert value(report) == "proved", report.render()


PRODUCT = """
import argus as ag
from argus import f32
from argus.gfx942 import mfma_32x32x{k} as MMA
FA, FB, ACC = MMA.operand(row="m", k="k"), MMA.operand(row="n", k="k"), MMA.acc(row="m", col="n")
@ag.kernel(threads=64, requires="M * N * K >= 1", computes="C[m, n] = {spec}", example=dict(M=4, N=4, K=9))
def k(A: ag.In["M K", f32], B: ag.In["N K", f32], C: ag.Out["M N", f32]):
    bm, bn = ag.grid(ag.cdiv(M, 32), ag.cdiv(N, 32))
    acc = ag.zeros(ACC, f32)
    for i in ag.range(ag.cdiv(K, {step})):
        a = A[32 * bm, {step} * i].load(FA, width=4, guard="shape")
        b = B[32 * bn, {step} * i].load(FB, width=4, guard="shape")
        acc = ag.mfma(a, b, acc)
    C[32 * bm, 32 * bn].store({result}, width=4, guard="shape")
"""
SUM = "sum(A[m, k] * B[n, k], k)"
JUMPS_OF_PRODUCTS = {
    "a test": (f"where({SUM} > 4096, 1, 0)", "ag.where(acc > 4096.0, acc * 0.0 + 1.0, 0.0)"),
    "floor": (f"floor({SUM})", "ag.floor(acc)"),
}


@pytest.mark.parametrize("name", JUMPS_OF_PRODUCTS)
@pytest.mark.parametrize(("k", "step", "proved"), [("2_f32", 2, True), ("4_xf32", 4, False)])
def test_jumps_at_products_of_rounded_factors(name: str, k: str, step: int, proved: bool, tmp_path: Path) -> None:
    """4097 is read as 4096 by an xf32 instruction, and as it is by one of f32."""
    spec, result = JUMPS_OF_PRODUCTS[name]
    (tmp_path / "k.py").write_text(PRODUCT.format(k=k, step=step, spec=spec, result=result))
    assert (value(check(scheduled(read(tmp_path / "k.py")))) == "proved") is proved


def test_the_product_itself_is_steady(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(PRODUCT.format(k="4_xf32", step=4, spec=SUM, result="acc"))
    assert value(check(scheduled(read(tmp_path / "k.py")))) == "proved"

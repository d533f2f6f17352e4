"""Where terms are defined: what is proved equal is so wherever the specification has a value, padded lanes included.

Every right kernel is proved; every wrong one gives a NaN, an infinity or another number for inputs for which the
specification is finite, and is not proved.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.check import Report, check
from argus.check.explain.assumptions import HAS_A_VALUE
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.lang.errors import ProgramError
from tests.kernels.running import judged, run

EXAMPLES = Path(__file__).parents[3] / "examples" / "kernels"
HEAD = """
import argus as ag
from argus import f32

P = ag.Owner(t=64, i="t")
ROW = ag.Owner(lane=64, n="lane")
"""
EACH = """
@ag.kernel(threads=64, requires="N >= 1", computes="z[i] = {computes}", example=dict(N=256))
def apply(x: ag.In["N", f32], z: ag.Out["N", f32]):
    b = ag.grid(ag.cdiv(N, 64))
    v = x[64 * b].load(P, width=4)
    z[64 * b].store({stores}, width=4)
"""
ROWS = """
@ag.kernel(threads=64, requires="N >= 1 and N <= 64", computes="z[m] = sum({computes}, n)", example=dict(M=2, N=50))
def rows(x: ag.In["M N", f32], y: ag.In["M N", f32], z: ag.Out["M", f32]):
    m = ag.grid(M)
    v = x[m, 0].load(ROW, width=4, guard="shape")
    w = y[m, 0].load(ROW, width=4, guard="shape")
    z[m].store(({stores}).sum("n"), width=4, guard=ag.lane() == 0)
"""
PROVED = [
    ("v * ag.rsqrt(v)", "x[i] * rsqrt(x[i])"),
    ("ag.sqrt(v) * ag.sqrt(v)", "sqrt(x[i]) * sqrt(x[i])"),
    ("v", "sqrt(x[i]) * sqrt(x[i])"),
    ("v", "x[i] * x[i] / x[i]"),
    ("2.0 * ag.log2(v) - ag.log2(v)", "log2(x[i])"),
    ("v * (3.0 * v) / 3.0", "x[i] * x[i]"),
    ("ag.rsqrt(v * v + 1.0) * ag.rsqrt(v * v + 1.0)", "1 / (x[i] * x[i] + 1)"),
    ("ag.where(v > 0.0, ag.log2(v), 0.0)", "where(x[i] > 0, log2(x[i]), 0)"),
    ("v - v + v", "x[i]"),
    ("v * 0.33333334", "x[i] / 3"),
    ("v + ag.exp2(v - ag.inf)", "x[i]"),
    ("v * ag.exp2(v) / ag.exp2(v)", "x[i]"),
    ("v + ag.rcp(ag.abs(v) + ag.inf)", "x[i]"),
]
NOT_PROVED = [
    ("ag.sqrt(v) * ag.sqrt(ag.where(64 * b + v.i < N, v, 0.0))", "x[i]"),
    ("ag.sqrt(v) * ag.sqrt(v)", "x[i]"),
    ("v + (v - v) * ag.log2(-ag.abs(v))", "x[i]"),
    ("v + 0.0 * ag.log2(v)", "x[i]"),
    ("v + (ag.log2(v) - ag.log2(v))", "x[i]"),
    ("v * v / v", "x[i]"),
    ("v * ag.rcp(ag.where(64 * b + v.i < N, v, 1.0)) * v", "x[i]"),
    ("v * ag.rsqrt(v)", "sqrt(x[i])"),
    ("ag.rsqrt(v) * ag.rsqrt(v)", "1 / x[i]"),
    ("ag.where(v > 0.0, v, 0.0) * ag.log2(v)", "where(x[i] > 0, x[i] * log2(x[i]), 0)"),
    ("v + 3000001.0", "x[i] + 3000000"),
    ("v * 1.000001", "x[i]"),
    ("v * f32(b) / f32(b)", "x[i]"),
    ("v * f32(ag.lane()) / f32(ag.lane())", "x[i]"),
    ("v + 0.0 * ag.log2(f32(b))", "x[i]"),
    ("v + 16777217.0", "x[i] + 16777217"),
    ("ag.where(v < 16777217.0, v, 0.0)", "where(x[i] < 16777217, x[i], 0)"),
    ("v * 2e-45", "x[i] * 2e-45"),
    ("v + ag.rcp(ag.sqrt(v + 1e3) + ag.inf)", "x[i]"),
    ("v + ag.exp2(ag.sqrt(v + 1e3) - ag.inf)", "x[i]"),
    ("v + ag.exp(ag.log2(v + 1e30) - ag.inf)", "x[i]"),
    ("v + ag.exp(ag.pow(v + 1e30, 0.5) - ag.inf)", "x[i]"),
    ("v + v / (ag.log(v + 1e6) + ag.inf)", "x[i]"),
    ("v + ag.exp(-ag.abs(ag.sqrt(v + 1e5)) - ag.inf)", "x[i]"),
    ("v + ag.exp(1.0 / (v - 1234.5) - ag.inf)", "x[i]"),
    ("v * ag.exp2(ag.where(v > 1e3, ag.inf, v)) / ag.exp2(ag.where(v > 1e3, ag.inf, v))", "x[i]"),
    ("v * (ag.exp2(ag.where(b < 5, ag.inf, v)) * ag.exp2(-ag.where(b < 5, ag.inf, v)))", "x[i]"),
    ("v * (ag.exp(ag.where(b < 5, -ag.inf, v)) * ag.exp(-ag.where(b < 5, -ag.inf, v)))", "x[i]"),
    ("v * ag.exp2(ag.sqrt(v + 1e3)) / ag.exp2(ag.sqrt(v + 1e3))", "x[i]"),
    ("v * ag.exp2(v + ag.where(b < 5, ag.inf, 0.0 * v)) / ag.exp2(v + ag.where(b < 5, ag.inf, 0.0 * v))", "x[i]"),
    ("v + ag.exp2(ag.where(64 * b + v.i < 0, v, -ag.inf) + ag.sqrt(v + 1e3))", "x[i]"),
]
SUMS = [
    ("ag.abs(v)", "abs(x[m, n])"),
    ("v * w", "x[m, n] * y[m, n]"),
    ("ag.tanh(v)", "tanh(x[m, n])"),
    ("v * ag.exp2(w)", "x[m, n] * exp2(y[m, n])"),
    ("v / (w + 1.0)", "x[m, n] / (y[m, n] + 1)"),
    ("ag.max(v, w)", "max(x[m, n], y[m, n])"),
    ("ag.where(v.n < N, v * ag.log2(w), 0.0)", "x[m, n] * log2(y[m, n])"),
    ("ag.where(v.n < N, v / w, 0.0)", "x[m, n] / y[m, n]"),
    ("ag.where(v.n < N, ag.exp2(v), 0.0)", "exp2(x[m, n])"),
]
SPOILT = [
    ("v * ag.log2(v)", "x[m, n] * log2(x[m, n])"),
    ("v * ag.log(v / w)", "x[m, n] * log(x[m, n] / y[m, n])"),
    ("v / w", "x[m, n] / y[m, n]"),
    ("v / (w * w)", "x[m, n] / (y[m, n] * y[m, n])"),
    ("v * ag.rsqrt(w)", "x[m, n] * rsqrt(y[m, n])"),
    ("v * w * ag.rcp(w)", "x[m, n]"),
    ("ag.exp2(v)", "exp2(x[m, n])"),
    ("ag.where(v.n < N, v, 0.0) * ag.log2(w)", "x[m, n] * log2(y[m, n])"),
    ("ag.where(v.n < N, v, 0.0) / w", "x[m, n] / y[m, n]"),
    ("ag.exp2(ag.where(v.n < N, v, 1.0 / w - ag.inf))", "exp2(x[m, n])"),
    ("v + ag.exp2(ag.where(v.n < N - 1, w, ag.inf).max('n') - ag.inf)", "x[m, n]"),
]


def report(folder: Path, form: str, stores: str, computes: str) -> Report:
    file = folder / "kernel.py"
    file.write_text(HEAD + (form.format(stores=stores, computes=computes) if stores else form))
    return check(scheduled(read(str(file))))


@pytest.mark.parametrize(("stores", "computes"), PROVED)
def test_right_ones_are_proved(tmp_path: Path, stores: str, computes: str) -> None:
    found = report(tmp_path, EACH, stores, computes)
    assert found.status == "proved", found.render()


@pytest.mark.parametrize(("stores", "computes"), NOT_PROVED)
def test_what_is_less_defined_is_not_proved(tmp_path: Path, stores: str, computes: str) -> None:
    assert report(tmp_path, EACH, stores, computes).status != "proved"


@pytest.mark.parametrize(("stores", "computes"), SUMS)
def test_sums_that_padding_leaves_alone_are_proved(tmp_path: Path, stores: str, computes: str) -> None:
    found = report(tmp_path, ROWS, stores, computes)
    assert found.status == "proved", found.render()


@pytest.mark.parametrize(("stores", "computes"), SPOILT)
def test_sums_that_padding_spoils_are_not_proved(tmp_path: Path, stores: str, computes: str) -> None:
    assert report(tmp_path, ROWS, stores, computes).status != "proved"
    kernel = read(str(tmp_path / "kernel.py"))
    dice = np.random.default_rng(1)
    x, y = (dice.uniform(0.5, 2.0, (3, 50)).astype(np.float32) for _ in range(2))
    z = np.zeros(3, np.float32)
    run(kernel, {"M": 3, "N": 50}, {"x": x, "y": y, "z": z})
    assert not judged(z, f"z[m] = sum({computes}, n)", {"x": x, "y": y}).ok


@pytest.mark.parametrize("name", ["entropy", "kl"])
@pytest.mark.parametrize("size", [4, 200, 256, 260])
def test_examples_are_proved_and_right_at_ragged_sizes(name: str, size: int) -> None:
    kernel = read(EXAMPLES / f"{name}.py")
    found = check(scheduled(kernel))
    assert found.status == "proved", found.render()
    assert found.premises == (
        "inputs are finite and not subnormal",
        "no number is beyond the largest of its type (f32 3.40282e+38)",
        HAS_A_VALUE,
        "none that is too small for its type (f32 1.17549e-38) is divided by, compared, rounded to a whole number, "
        "scaled up again, or under a root or logarithm",
    )
    assert found.to_json()["premises"] == list(found.premises)
    dice = np.random.default_rng(1)
    arrays = {t.name: dice.uniform(0.01, 2.0, (3, size)).astype(np.float32) for t in kernel.tensors if t.read}
    (out,) = (t.name for t in kernel.tensors if t.written)
    result = np.zeros(3, np.float32)
    run(kernel, {"M": 3, "N": size}, {**arrays, out: result})
    assert kernel.computes is not None
    assert judged(result, str(kernel.computes), arrays).ok


@pytest.mark.parametrize(
    ("stores", "computes"),
    [
        ("v + 2049.0", "x[i] + 2049"),
        ("ag.where(v < 2049.0, v, 0.0)", "where(x[i] < 2049, x[i], 0)"),
        ("v * 1e-7", "x[i] * 1e-7"),
        ("v + f16(N)", "x[i] + N"),
        ("ag.where(v < f16(N), v, 0.0)", "where(x[i] < N, x[i], 0)"),
        ("v * f16(N)", "x[i] * N"),
    ],
)
def test_numbers_that_f16_does_not_have_are_not_proved(tmp_path: Path, stores: str, computes: str) -> None:
    narrow = EACH.replace("f32", "f16").replace("width=4", "width=2")
    assert report(tmp_path, "from argus import f16\n" + narrow, stores, computes).status != "proved"
    assert report(tmp_path, "from argus import f16\n" + narrow, "v + 2048.0", "x[i] + 2048").status == "proved"


@pytest.mark.parametrize("number", ["1e39", "1e-46"])
def test_numbers_that_become_infinite_or_zero_are_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(ProgramError, match="not a value of f32"):
        report(tmp_path, EACH, f"v * {number}", f"x[i] * {number}")


LOG_SUM = """
@ag.kernel(
    threads=64, requires="N >= 1 and N <= 64", example=dict(M=2, N=50),
    computes="z[m] = max(x[m, j], j) + log(sum(exp(x[m, n] - max(x[m, j], j)), n))",
)
def log_sum(x: ag.In["M N", f32], z: ag.Out["M", f32]):
    m = ag.grid(M)
    v = x[m, 0].load(ROW, width=4, guard="shape")
    x_ = ag.where(v.n < N, v, -ag.inf)
    t = {top}
    z[m].store(t + ag.log(ag.where(v.n < N, ag.exp(v - t), 0.0).sum("n")), width=4, guard=ag.lane() == 0)
"""


@pytest.mark.parametrize(
    ("top", "status"),
    [
        ('x_.max("n")', True),
        ('ag.max(x_.max("n"), -1000.0)', False),
        ('v.sum("n")', False),
        ('(v * v).sum("n")', False),
        ("400.0", False),
    ],
)
def test_what_is_subtracted_from_an_exponent_is_the_maximum(tmp_path: Path, top: str, status: bool) -> None:
    found = report(tmp_path, LOG_SUM.replace("{top}", top), "", "")
    assert (found.status == "proved") == status, found.render()

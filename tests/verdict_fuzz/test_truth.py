"""Truth where a launch alone does not say it: fewer digits in float types alone, and numbers that wrap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from argus.ir.passes.insert_waits import insert_waits
from argus.lang import read
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.fewer_digits import fewer_digits
from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.program import Arrays, Generated, Sizes
from bench.verdict_fuzz.sources import source
from bench.verdict_fuzz.truth import misstated

TEXT = """
def k(X: ag.In["N", bf16], Y: ag.Out["N", f32]):
    x = X[0].load(OWN, width=2).to(f32)
    n = x.to(i32)
    total = ag.zeros(OWN, f32)
    Y[0].store(total + ag.log(x) * 2.0, width=4)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [(".to(f32)", ""), (".to(f32)", ".to(bf16)"), ("ag.zeros(OWN, f32)", "ag.zeros(OWN, f16)")],
)
def test_other_float_types_are_fewer_digits(old: str, new: str) -> None:
    assert fewer_digits(TEXT, TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x.to(i32)", "x"),
        ('"N", bf16', '"N", f16'),
        ("* 2.0", "* 3.0"),
        ("width=2", "width=4"),
        ("ag.log", "ag.exp"),
        (".to(f32)", ".to(i32)"),
        (".to(f32)", ".to(f32, saturate=True)"),
        ("", ""),
    ],
)
def test_everything_else_is_another_program(old: str, new: str) -> None:
    assert not fewer_digits(TEXT, TEXT.replace(old, new, 1))


@pytest.mark.parametrize("n", [5833, 6977, 13604])
def test_mutants_that_round_more_are_not_wrong(n: int) -> None:
    """Sums of large numbers that leave f16, a logarithm of a bf16 number, which algebra does not follow: proved
    for real numbers, and inside of their bounds."""
    one = source(17, n, first=True)
    found = judge(one.program, one.text)
    assert (found.verdict, found.truth) == ("proved", "rounded")


WRAPPED = """import argus as ag
from argus import i32

PART = ag.Owner(t=64, e=1, i="t")


@ag.kernel(threads=64, requires="N >= 1", computes="y[i] = (((b[i] + b[i]) * b[i]) // 8)", example=dict(N=128))
def k(b: ag.In["N", i32], y: ag.Out["N", i32]):
    at = 64 * ag.grid(ag.cdiv(N, 64))
    v = b[at].load(PART, width=4)
    y[at].store(((v + v) * v) >> 3, width=4)
"""


def eighth_of_twice_the_square(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
    """Left open where the product wraps."""
    b = arrays["b"].astype(np.float64)
    product = 2 * b * b
    return {"y": Real(np.where(product < 2**31, product // 8, 0.0), np.where(product < 2**31, 0.0, np.inf))}


def test_a_wrapped_number_that_is_shifted_is_rightly_refuted() -> None:
    """`(b + b) * b >> 3` of i32 is not `… // 8` at b = -32768, which the meaning leaves open: the object holds another
    number there than the specification."""
    launches = tuple({"N": n} for n in (64, 65, 63, 1, 128))
    program = Generated("integers", WRAPPED, ("integers", "i32"), launches, eighth_of_twice_the_square)
    found = judge(program, WRAPPED, intended_right=True)
    assert (found.verdict, found.rules, found.fault) == ("refuted", ("value",), "")


GATHER = """import argus as ag
from argus import i32

ROW = ag.Owner(lane=64, n="lane")
ONE = ag.Owner(lane=64, z="lane*0")


@ag.kernel(threads=64, requires="P >= 2", example=dict(B=3, M=5, P=4))
def gather(E: ag.In["B", i32], X: ag.In["P n=64", i32], Y: ag.Out["M n=64", i32]):
    b = ag.grid(M)
    p = ag.as_index(E[b].load(ONE, width=4), 1, P, name="p")
    Y[b].store(X[p - 1].load(ROW, width=4), width=4)
"""


@pytest.mark.parametrize(("numbers", "misstates"), [([4, 1, 1], False), ([4, 0, 1], True), ([5, 1, 1], True)])
def test_a_zero_from_outside_of_a_tensor_is_no_fault_of_the_launch(
    numbers: list[int], misstates: bool, tmp_path: Path
) -> None:
    (tmp_path / "k.py").write_text(GATHER)
    kernel = insert_waits(read(tmp_path / "k.py"))
    sizes = {"B": 3, "M": 5, "P": 4}
    given = {"E": np.array(numbers, np.int32), "X": np.zeros((4, 64), np.int32), "Y": np.zeros((5, 64), np.int32)}
    assert misstated(source(17, 0).program, kernel, given, sizes) is misstates

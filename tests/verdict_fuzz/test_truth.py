"""Truth where a launch alone does not say it: fewer digits in float types alone, and numbers that wrap."""

from __future__ import annotations

import pytest

from bench.verdict_fuzz.fewer_digits import fewer_digits
from bench.verdict_fuzz.judge import judge
from bench.verdict_fuzz.sources import source

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


def test_a_wrapped_number_that_is_shifted_is_rightly_refuted() -> None:
    """`(b + b) * b >> 3` of i32 is not `… // 8` at b = -32768, which the generator's meaning leaves open: the object
    holds another number there than the specification."""
    one = source(17, 17955, first=True)
    found = judge(one.program, one.text, intended_right=True)
    assert (found.verdict, found.rules, found.fault) == ("refuted", ("value",), "")

"""What conversions between number types are proved to be: a saturating one is a minimum and a maximum, unless every
number of the source lies between the ends of the target; two that differ are two functions.

The executed law behind it, over all types, is tests/compile/test_conversion_law.py.
"""

from __future__ import annotations

import pytest

from argus.check import check
from argus.ir.conversions import cut_at, largest, within
from argus.ir.passes.schedule import scheduled
from argus.ir.types import DTYPES
from argus.lang import read

SOURCE = """
import argus as ag
from argus import bf8, bf16, f16, f32, f64, fp8, i8, i16, i32, i64, u8, u16, u32

P = ag.Owner(t=64, n="t")


@ag.kernel(threads=64, requires="N >= 1", computes="Z[i] = {spec}", example=dict(N=100))
def k(X: ag.In["N", {given}], Z: ag.Out["N", {made}]):
    at = 64 * ag.grid(ag.cdiv(N, 64))
    x = X[at].load(P, width={wide}, guard="shape")
    Z[at].store({stored}, width={narrow}, guard="shape")
"""
FLOATS = [name for name, row in DTYPES.items() if row.kind == "float"]
WHOLE = [name for name, row in DTYPES.items() if row.kind in ("int", "uint")]
PAIRS = [(source, target) for source in FLOATS for target in FLOATS if source != target]
CUT = [pair for pair in PAIRS if cut_at(DTYPES[pair[0]], DTYPES[pair[1]]) is not None]
INSIDE = [pair for pair in PAIRS if pair not in CUT]


def status(given: str, made: str, stored: str, spec: str) -> str:
    """The verdict on the value, and that nothing else is wrong."""
    text = SOURCE.format(
        given=given, made=made, stored=stored, spec=spec, wide=DTYPES[given].bytes, narrow=DTYPES[made].bytes
    )
    verdicts = {v.rule: v.status for v in check(scheduled(read(text))).verdicts}
    return verdicts["value"]


def stored(target: str) -> tuple[str, str]:
    """The type of the output and the saturating conversion to a type, seen through f32 where that has all of it."""
    text = f"x.to({target}, saturate=True)"
    return (target, text) if target in ("f64", "f32") else ("f32", f"{text}.to(f32)")


def clamp(target: str) -> str:
    most = largest(DTYPES[target])
    number = str(int(most)) if most < 1e6 else repr(most)
    return f"minimum(maximum(X[i], -{number}), {number})"


@pytest.mark.parametrize(("source", "target"), CUT)
def test_a_saturating_conversion_is_a_minimum_and_a_maximum(source: str, target: str) -> None:
    assert status(source, *stored(target), clamp(target)) == "proved"
    assert status(source, *stored(target), "X[i]") != "proved"


@pytest.mark.parametrize(("source", "target"), INSIDE)
def test_inside_of_the_target_nothing_is_cut_off(source: str, target: str) -> None:
    assert status(source, *stored(target), "X[i]") == "proved"


@pytest.mark.parametrize("target", ["fp8", "bf8", "f16"])
@pytest.mark.parametrize("source", WHOLE)
def test_whole_numbers_are_cut_off(source: str, target: str) -> None:
    assert status(source, *stored(target), clamp(target)) != "refuted"
    if not within(DTYPES[source], DTYPES[target]):
        assert status(source, *stored(target), "X[i]") != "proved"


DIFFERENCES = [
    ("f32", 'x.to(i32) - x.to(i32, rounding="rtz")'),
    ("f32", "x.to(i8) - x.to(i8, saturate=True)"),
    ("f16", 'x.to(u8, saturate=True) - x.to(u8, rounding="rtz", saturate=True)'),
    ("i32", 'x.to(bf16).to(f32) - x.to(bf16, rounding="rtz").to(f32)'),
    ("i32", "x.to(f16).to(f32) - x.to(f16, saturate=True).to(f32)"),
    ("i32", "x.to(i8) - x.to(i8, saturate=True)"),
]


@pytest.mark.parametrize(("source", "difference"), DIFFERENCES)
def test_conversions_that_differ_do_not_cancel(source: str, difference: str) -> None:
    assert status(source, "f32", f"({difference}).to(f32)", "0") != "proved"


def test_conversions_that_are_the_same_do() -> None:
    assert status("f32", "f32", "(x.to(i32) - x.to(i32, saturate=True)).to(f32)", "0") == "proved"


def test_an_infinity_stays_one_in_a_type_that_holds_all() -> None:
    """In one that has none it is NaN."""
    chosen = "ag.where(x > 0.0, x, -ag.inf)"
    spec = "maximum(where(X[i] > 0, X[i], -inf), 0)"
    assert status("f16", "f32", f"ag.max({chosen}.to(bf16, saturate=True).to(f32), 0.0)", spec) != "refuted"
    assert status("f32", "f32", f"ag.max({chosen}.to(fp8).to(f32), 0.0)", spec) != "proved"

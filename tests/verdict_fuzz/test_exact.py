"""Exact algebra as a source of truth: what floats cannot see is wrong; what is right stays right or is not followed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.exact import within_derived_bounds
from bench.verdict_fuzz.judge import judge, program_of_text
from bench.verdict_fuzz.launch_data import inputs
from bench.verdict_fuzz.program import Arrays, Generated, Sizes
from bench.verdict_fuzz.report import found_exactly, table
from bench.verdict_fuzz.sources import source
from bench.verdict_fuzz.truth import truth_of

TEXT = """
import argus as ag
from argus import f32
T = ag.Owner(t=64, i="t")

@ag.kernel(threads=64, requires="N >= 1", computes="z[i] = {spec}", example=dict(N=64))
def k(x: ag.In["N", f32], y: ag.In["N", f32], z: ag.Out["N", f32]):
    p = ag.grid(ag.cdiv(N, 64))
    a = x[64 * p].load(T, width=4, guard="shape")
    b = y[64 * p].load(T, width=4, guard="shape")
    z[64 * p].store({code}, width=4, guard="shape")
"""
SMALL = "x[i] + y[i] * 0.000000000001"
SIZES = ({"N": 64}, {"N": 65}, {"N": 1})


def _small(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
    x, y = (arrays[name].astype(np.float64) for name in "xy")
    return {"z": Real(x + y * 1e-12, 2.0**-22 * np.abs(x) + 1e-7)}


def generated(spec: str, code: str, meaning: object = _small) -> Generated:
    return Generated("flat", TEXT.format(spec=spec, code=code), (), SIZES, meaning)  # type: ignore[arg-type]


def test_a_dropped_addend_that_floats_do_not_see_is_wrong() -> None:
    right = generated(SMALL, "b * 1e-12 + a")
    assert judge(right, right.source).exact == "equal"
    wrong = generated(SMALL, "a")
    record = judge(wrong, wrong.source)
    assert (record.truth, record.exact) == ("wrong", "different")
    assert "z: DIFFERENT in exact algebra, 65 of 65 elements, first at [0]; workgroup 0, wave 0" in record.detail
    assert record.fault == "proved and wrong" if record.verdict == "proved" else not record.fault


def test_a_mutated_specification_is_wrong_although_the_meaning_is_met() -> None:
    """The generator's meaning does not know of the mutant; what is checked is what the text says."""

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        made = arrays["x"].astype(np.float64)
        return {"z": Real(made, np.zeros_like(made))}

    mutated = generated("x[i] + y[i]", "a", meaning)
    assert judge(mutated, mutated.source).truth == "wrong"


def test_fewer_digits_are_rounded_not_wrong(tmp_path: Path) -> None:
    """Rounding is the identity in exact algebra: such a kernel is equal, within the bound of its own types. The report
    counts it."""
    narrow = TEXT.replace("import f32", "import bf16, f32").format(spec="x[i] + y[i]", code="(a + b).to(bf16).to(f32)")

    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        made = arrays["x"].astype(np.float64) + arrays["y"].astype(np.float64)
        return {"z": Real(made, 2.0**-22 * np.abs(made))}

    found = judge(Generated("flat", narrow, (), SIZES, meaning), narrow)
    assert (found.truth, found.exact) == ("rounded", "equal")
    row = {
        "n": 0, "mutation": "type", "family": "flat", "constructs": [], "check": 0.0, "seconds": 0.0, "shown": "",
        **found.to_json(),
    }  # fmt: skip
    (tmp_path / "one.jsonl").write_text(json.dumps(row) + "\n")
    assert not found_exactly(row)
    said = "0 outside of the bound of their types, 0 different, 0 not followed, 1 equal (1 within the"
    assert f"{said} rounding of their own types): type 1." in table(tmp_path)


def test_an_error_above_the_derived_bound_is_wrong() -> None:
    program = generated("x[i] + y[i]", "a + b")
    kernel = program_of_text(program, program.source).kernel
    given = inputs(program, kernel, {"N": 64}, "mixed", 1)
    exact = given["x"].astype(np.float64) + given["y"].astype(np.float64)
    for factor, right in ((1.0, True), (1 + 2.0**-20, False)):
        results = {"z": (exact * factor).astype(np.float32)}
        assert within_derived_bounds(program, kernel, {"N": 64}, given, results) is right


def test_a_choice_by_a_narrow_number_is_rounded() -> None:
    """exp2 in bf16 is 15 where it is 14.99 in f32, and floor of it is 15 (seed 777, source 146)."""
    one = source(777, 146, first=True)
    assert one.mutation == "type"
    assert (judge(one.program, one.text).truth, judge(one.program, one.text).fault) == ("rounded", "")


def test_a_launch_that_is_not_what_the_kernel_states_is_none() -> None:
    """A mutant that states less of its indices than they are (seed 17, source 968) is not wrong by that."""
    one = source(17, 968, first=True)
    assert one.mutation == "swapped operands"
    record = judge(one.program, one.text)
    assert (record.verdict, record.truth, record.fault) == ("proved", "untested", "")


@pytest.mark.parametrize("code", ["ag.exp(a) + b", "ag.exp(a * 0.5) * ag.exp(a * 0.5) + b"])
def test_an_approximating_polynomial_is_never_different(code: str) -> None:
    def meaning(arrays: Arrays, sizes: Sizes) -> dict[str, Real]:
        x, y = (arrays[name].astype(np.float64) for name in "xy")
        with np.errstate(over="ignore"):
            made = np.exp(x)
        return {"z": Real(made + y, 2.0**-18 * (made + np.abs(y)))}

    program = generated("exp(x[i]) + y[i]", code, meaning)
    found = truth_of(program, program_of_text(program, program.source))
    assert found.kind == "right"
    assert found.exact is not None
    assert found.exact.verdict == "not followed"


def test_a_wide_store_into_the_next_row_breaks_its_rule_although_the_copy_is_right() -> None:
    """At N = 1 every thread stores four elements, three of them its neighbors' (seed 31337, source 232)."""
    one = source(31337, 232, first=True)
    record = judge(one.program, one.text)
    assert (record.verdict, record.rules, record.truth, record.fault) == ("refuted", ("in_bounds",), "right", "")

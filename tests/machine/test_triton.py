"""Triton's kernels on the interpreter: results against NumPy, and no check complains."""

from __future__ import annotations

import pytest
import triton_cases

QUICK = [name for name in triton_cases.CASES if name not in ("attention", "gemm-bf16-32", "layernorm-fp16")]


@pytest.mark.parametrize("name", list(triton_cases.CASES))
def test_result_matches_numpy(name: str) -> None:
    case = triton_cases.CASES[name]()
    result = case.run(case.compiled.hsaco)
    assert result.ok
    assert case.error() <= case.tolerance


@pytest.mark.parametrize("name", QUICK)
def test_no_check_complains_and_late_completion_changes_nothing(name: str) -> None:
    case = triton_cases.CASES[name]()
    case.run(case.compiled.hsaco)
    plain = case.outputs()
    result = case.run(case.compiled.hsaco, checks="all", schedule="random", seed=7)
    assert [str(r) for r in result.reports] == []
    if name not in ("split-k",):
        assert all((a.view("u1") == b.view("u1")).all() for a, b in zip(plain, case.outputs(), strict=True))
    assert case.error() <= case.tolerance


@pytest.mark.full
@pytest.mark.parametrize("schedule", ["rounds", "sequential", "random"])
@pytest.mark.parametrize("name", list(triton_cases.CASES))
def test_every_schedule(name: str, schedule: str) -> None:
    case = triton_cases.CASES[name]()
    for seed in range(3):
        result = case.run(case.compiled.hsaco, checks="all", schedule=schedule, seed=seed, quantum=17)
        assert [str(r) for r in result.reports] == []
        assert case.error() <= case.tolerance

"""Registers that run out only in LLVM's hands: the other file is tried, then the budget is refused with numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.compile import CompileError, compile_kernel
from argus.compile.registers import plan
from argus.compile.schedule import scheduled
from argus.ir.kernel import Kernel
from argus.lang import read

FILE = Path(__file__).parents[2] / "argus/kernels/matmul_direct.py"


def direct(inst: int) -> Kernel:
    return read(str(FILE), {"BM": 64, "BN": 64, "DEPTH": 2, "INST": inst}, None, None)


def test_accumulators_move_to_the_other_file_when_the_first_is_too_small() -> None:
    kernel = direct(32)
    assert plan(scheduled(kernel)).where == "VGPRs"
    made = compile_kernel(kernel)
    assert (made.plan.where, made.audit.agprs) == ("AGPRs", 64)


def test_a_named_file_is_kept_and_the_fitting_one_is_said() -> None:
    kernel = replace(direct(32), policies={"agpr": False})
    with pytest.raises(CompileError, match="C130") as refused:
        compile_kernel(kernel)
    assert refused.value.notes[-1] == "with the policy agpr=True it fits"


def test_both_files_too_small_is_the_budget_with_numbers() -> None:
    with pytest.raises(CompileError, match="C130") as refused:
        compile_kernel(direct(16))
    text = str(refused.value)
    assert "more would be needed" in text
    assert "accumulators 64" in text
    assert "accumulators in VGPRs" in text
    assert "accumulators in AGPRs" in text

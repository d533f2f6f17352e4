"""Registers that run out only in LLVM's hands: the other file is tried, then the budget is refused with numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.compile import CompileError, compile_kernel
from argus.compile.registers import plan
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read

SOURCE = """
import argus as ag
from argus import bf16, f32
from argus.gfx942 import mfma_16x16x16_bf16, mfma_32x32x8_bf16

INST = ag.knob(16, legal=(16, 32), why="matrix instruction")
MMA = mfma_32x32x8_bf16 if INST == 32 else mfma_16x16x16_bf16
TM, KF, FRAG, ACC = 64 // INST, 512 // INST, MMA.operand(wide=8), MMA.acc(row="n", col="m")
KS = 64 // KF


@ag.kernel(threads=256, requires="M % 64 == 0 and N % 64 == 0 and K % 512 == 0", example=dict(M=64, N=64, K=512))
def direct(A: ag.In["M K", bf16], B: ag.In["N K", bf16], C: ag.Out["W=4 M N", f32]):
    bm, bn = ag.grid(M // 64, N // 64)
    acc = ag.zeros(ACC, f32, tiles=dict(m=TM, n=TM))
    steps = K // 256
    first = ag.wave() * steps

    def fetch(kt):
        at = [(i, ks) for i in range(TM) for ks in range(KS)]
        a = [A[bm * 64 + INST * i, kt * 64 + KF * ks].load(FRAG, width=16, guard=kt < K // 64) for i, ks in at]
        b = [B[bn * 64 + INST * i, kt * 64 + KF * ks].load(FRAG, width=16, guard=kt < K // 64) for i, ks in at]
        return a, b

    def multiply(a, b):
        for ks, h, j, i in ag.unroll(KS, 2, TM, TM):
            acc[i, j] = ag.mfma(b[j * KS + ks][h], a[i * KS + ks][h], acc[i, j])

    ahead = [fetch(first + d) for d in range(2)]
    for turn in ag.range(steps // 2 - 1):
        for d in range(2):
            with ag.schedule(mfma=2, buffer_load=1):
                a, b = ahead[d]
                multiply(a, b)
                ahead[d] = fetch(first + (turn + 1) * 2 + d)
    for d in range(2):
        a, b = ahead[d]
        multiply(a, b)
    C[ag.wave(), bm * 64, bn * 64].store(acc, width=16)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "direct.py").write_text(SOURCE)
    return tmp_path / "direct.py"


def direct(path: Path, inst: int) -> Kernel:
    """Two steps on their way in registers, each fetched while the one it replaces is still in use."""
    return read(str(path), settings={"INST": inst})


def test_accumulators_move_to_the_other_file_when_the_first_is_too_small(path: Path) -> None:
    kernel = direct(path, 32)
    assert plan(scheduled(kernel).kernel).where == "VGPRs"
    made = compile_kernel(scheduled(kernel))
    assert (made.plan.where, made.audit.agprs) == ("AGPRs", 64)


def test_a_named_file_is_kept_and_the_fitting_one_is_said(path: Path) -> None:
    kernel = replace(direct(path, 32), policies={"agpr": False})
    with pytest.raises(CompileError, match="C130") as refused:
        compile_kernel(scheduled(kernel))
    assert refused.value.notes[-1] == "with the policy agpr=True it fits"


def test_both_files_too_small_is_the_budget_with_numbers(path: Path) -> None:
    with pytest.raises(CompileError, match="C130") as refused:
        compile_kernel(scheduled(direct(path, 16)))
    text = str(refused.value)
    assert "more would be needed" in text
    assert "accumulators 64" in text
    assert "accumulators in VGPRs" in text
    assert "accumulators in AGPRs" in text

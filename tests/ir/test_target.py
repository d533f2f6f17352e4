"""Two targets in one process: the same file is read, proved and compiled for each by what each has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from argus.agent.judge.court import Court
from argus.agent.judge.evidence import question
from argus.agent.judge.problem import Problem
from argus.check import check, proof_cache
from argus.compile import CompileError, compile_kernel
from argus.compile import cache as object_cache
from argus.gfx942.target import GFX942, Target
from argus.ir import ops
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.ir.verify import IrError, verify
from argus.lang import ProgramError, read
from argus.pipeline import build, program_of, prove
from argus.tasks.task import load_task
from tests.ir import samples

SMALL = replace(GFX942, name="small", lds_bytes=32768, counters={"vm": 3, "exp": 7, "lgkm": 1})
WIDE = replace(GFX942, name="wide", lds_bytes=163840)
POOR = replace(GFX942, name="poor", without=frozenset({"mfma_32x32x8_bf16", "v_pk_mul_f32"}))
GEMM = "argus/kernels/gemm.py"
MANY = """import argus as ag

BYTES = ag.Layout(i=(SIZE, 4))
PART = ag.Owner(t=64, i="t")


@ag.kernel(threads=64)
def staged(x: ag.In["N=64", ag.f32], y: ag.Out["N=64", ag.f32]):
    room = ag.shared(BYTES, ag.f32)
    y[0].store(x[0].load(PART, width=4), width=4)
"""


def lds_kernel(words: int) -> str:
    return MANY.replace("SIZE", str(words))


def test_what_fits_one_target_does_not_fit_the_other() -> None:
    read(lds_kernel(16384))
    with pytest.raises(ProgramError, match="AG310") as refused:
        read(lds_kernel(16384), target=SMALL)
    assert "32,768" in str(refused.value)
    assert read(lds_kernel(8192), target=SMALL).target is SMALL


def test_counters_of_the_target_bound_the_waits() -> None:
    loads = samples.vadd()
    small = replace(loads, target=SMALL)
    for kernel in (loads, small):
        waits = [op for op in ops.walk(insert_waits(kernel).body) if isinstance(op, ops.Wait)]
        assert waits
        assert all((op.vm or 0) <= kernel.target.counters["vm"] for op in waits)


def test_verdicts_of_both_targets_in_one_process() -> None:
    kernel = read(GEMM)
    assert check(scheduled(kernel)).status == "proved"
    with pytest.raises(IrError, match="a workgroup has 16384"):
        verify(replace(kernel, target=replace(SMALL, lds_bytes=16384)))
    assert check(scheduled(read(GEMM))).status == "proved"


STAGED = """import argus as ag
from argus import f32

TILE = ag.Layout(i=(12288, 4))
PART = ag.Owner(t=64, i="t")


@ag.kernel(threads=64, requires="N % 64 == 0", computes="y[n] = x[n]", example=dict(N=64))
def staged(x: ag.In["N", f32], y: ag.Out["N", f32]):
    b = ag.grid(N // 64)
    room = ag.shared(TILE, f32)
    room.store(x[64 * b].load(PART, width=4), i=0, width=4)
    ag.barrier()
    y[64 * b].store(room.load(PART, i=0, width=4), width=4)
"""


def test_one_kernel_is_proved_for_one_target_and_refused_for_the_other(tmp_path: Path) -> None:
    """48 KiB of LDS, through every stage, one target after the other in one process."""
    file = tmp_path / "staged.py"
    file.write_text(STAGED)
    for _ in range(2):
        proof = prove(program_of(file, {}))
        assert proof.report.status == "proved"
        assert build(proof).object
        with pytest.raises(ProgramError, match="AG310"):
            program_of(file, {}, target=SMALL)
    with pytest.raises(IrError, match="small has 32768"):
        scheduled(replace(proof.program.read, target=SMALL))
    with pytest.raises(CompileError, match="a workgroup has 32768"):
        compile_kernel(replace(proof.program, kernel=replace(proof.program.kernel, target=SMALL)))


def test_caches_are_keyed_by_target() -> None:
    here, there = read(GEMM), read(GEMM, target=WIDE)
    assert proof_cache.key(here) != proof_cache.key(there)
    assert object_cache.key(here) != object_cache.key(there)
    assert Target.from_json(json.loads(SMALL.key)) == SMALL
    assert proof_cache.key(here) == proof_cache.key(read(GEMM, target=Target.from_json(GFX942.to_json())))


def test_a_task_is_judged_for_its_target() -> None:
    task = load_task("gemm", target=WIDE)
    assert task.kernel.target is WIDE
    problem = Problem.of(task)
    again = Problem.from_json(json.loads(json.dumps(problem.to_json())))
    assert again.target == WIDE
    assert problem.digest() != Problem.of(load_task("gemm")).digest()
    assert question(task.source, problem, 0) != question(task.source, Problem.of(load_task("gemm")), 0)
    assert Court(again).naive.target == WIDE
    tight = replace(WIDE, lds_bytes=1024)
    judged = Court(replace(again, target=tight)).judge(STAGED, 0)
    assert (judged.verdict, judged.stage) == ("error", "read")
    assert "AG310" in judged.violations[0].message


def test_instructions_a_target_lacks_are_not_names_of_the_language() -> None:
    with pytest.raises(ProgramError, match="AG1"):
        read(GEMM, target=POOR)
    assert POOR.call("v_pk_mul_f32") is None
    assert GFX942.call("v_pk_mul_f32") is not None
    with pytest.raises(KeyError, match="poor"):
        POOR.mfma("mfma_32x32x8_bf16")


WAITED = """import argus as ag

PART = ag.Owner(t=64, i="t")


@ag.kernel(threads=64)
def waited(x: ag.In["N=64", ag.f32], y: ag.Out["N=64", ag.f32]):
    part = x[0].load(PART, width=4)
    ag.wait(vm=5)
    y[0].store(part, width=4)
"""


def test_a_wait_beyond_the_counter_is_refused() -> None:
    kernel = read(WAITED)
    with pytest.raises(ProgramError, match=r"outside 0\.\.2"):
        read(WAITED, target=SMALL)
    with pytest.raises(IrError, match="small cannot count to vm=5"):
        verify(replace(kernel, target=SMALL))

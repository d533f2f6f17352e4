"""Two targets in one process: the same file is read, proved and compiled for each by what each has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from argus.check import check
from argus.gfx942.target import GFX942
from argus.ir import ops
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.ir.verify import IrError, verify
from argus.lang import ProgramError, read
from tests.ir import samples

SMALL = replace(GFX942, name="small", lds_bytes=32768, counters={"vm": 3, "exp": 7, "lgkm": 1})
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
    with pytest.raises(ProgramError, match=r"outside 0\.\.3"):
        read(WAITED, target=SMALL)
    with pytest.raises(IrError, match="small cannot count to vm=5"):
        verify(replace(kernel, target=SMALL))

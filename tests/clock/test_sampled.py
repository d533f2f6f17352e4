"""Sampling of a launch: which executor, which workgroups, the same result for the same seed, unequal work found."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from kernels import compile_ir

from argus import machine
from argus.clock.observe import CannotSampleError, observe
from argus.clock.sampled import Work, sample, time_observed

LOOP = """
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @loop(ptr addrspace(1) inreg %out, i32 inreg %base, i32 inreg %slope) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %part = mul i32 %group, %slope
  %steps = add i32 %part, %base
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %more, %loop ]
  %v = phi i32 [ %lane, %entry ], [ %w, %loop ]
  %w = xor i32 %v, %i
  %more = add i32 %i, 1
  %again = icmp ult i32 %more, %steps
  br i1 %again, label %loop, label %done
done:
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %w, ptr addrspace(1) %p
  ret void
}
"""


def _work(base: int, slope: int, grid: int) -> Work:
    kernel = machine.load(compile_ir(LOOP)).kernel()
    return Work("loop", kernel, (grid,), (64,), (np.zeros(64, np.int32), np.int32(base), np.int32(slope)))


def test_long_samples_go_to_the_jit_and_say_the_same() -> None:
    work = _work(20_000, 0, 1)
    seen = sample(work)
    assert seen.executor == "jit"
    other = observe(work.kernel, work.grid, work.block, work.args, executor="checking")
    assert seen.folded.full == {(0, 0): other.record.instructions}
    again = observe(work.kernel, work.grid, work.block, work.args, executor="jit")
    assert (again.record.waves[0, 0].pc == other.record.waves[0, 0].pc).all()


def test_arguments_are_not_changed() -> None:
    work = _work(5, 0, 1)
    seen = sample(work)
    assert seen.executor == "checking"
    assert not work.args[0].any()


def test_unequal_work_is_found_and_handed_out() -> None:
    """Workgroup n loops 50 + n times: the launch lasts as long as its last workgroups, not as its first."""
    even, uneven = _work(50, 0, 304), _work(50, 1, 304)
    (_, flat), (_, steep) = (time_observed(work, sample(work)) for work in (even, uneven))
    assert flat.work_error is None
    assert steep.work_error is not None
    assert steep.work_error > 0.05
    assert steep.parts["compute"] > 3 * flat.parts["compute"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_launch(seed: int) -> None:
    work = _work(50, 1, 700)
    first, second = (time_observed(work, sample(work, seed), seed=seed)[1] for _ in range(2))
    assert first == second


WAITS = """
define amdgpu_kernel void @waits(ptr addrspace(1) inreg %flag) {
entry:
  br label %loop
loop:
  %seen = load volatile i32, ptr addrspace(1) %flag
  %go = icmp eq i32 %seen, 1
  br i1 %go, label %done, label %loop
done:
  ret void
}
"""


@pytest.mark.parametrize("executor", ["checking", "jit"])
def test_a_launch_that_waits_for_others_is_refused_with_the_reason(
    executor: Literal["checking", "jit"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("argus.clock.observe.LONGEST", 20_000)
    kernel = machine.load(compile_ir(WAITS)).kernel()
    work = Work("waits", kernel, (8,), (64,), [np.zeros(1, np.int32)])
    with pytest.raises(CannotSampleError, match=r"workgroups 0 did not end within .* wave instructions"):
        sample(work, executor=executor)

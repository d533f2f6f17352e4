"""Rounds of workgroups: they get out of step, and a launch of many rounds is faster than as many first rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import compile_ir, run

from argus.clock import PARAMETERS, Recorded, time_recorded
from argus.clock.caches import MemorySystem
from argus.clock.launch import workgroups_on_fullest_cu
from argus.clock.succession import ROUNDS, Succession, round_clocks

CHAIN = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @once(ptr addrspace(1) inreg %from, ptr addrspace(1) inreg %to) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = mul i32 %group, 1024
  %at = add i32 %first, %lane
  %p = getelementptr i64, ptr addrspace(1) %from, i32 %at
  %v = load i64, ptr addrspace(1) %p
  %q = getelementptr i64, ptr addrspace(1) %to, i32 %at
  store i64 %v, ptr addrspace(1) %q
  ret void
}
"""


def _recorded(grid: int) -> tuple[Recorded, Any]:
    source = np.zeros(grid * 1024, np.int64)
    done = run(compile_ir(CHAIN), grid, 1024, source, np.zeros_like(source))
    return Recorded(done.record, done.insts, done.kernel), done


@pytest.fixture(scope="module")
def many() -> Recorded:
    return _recorded(8 * 38 * 5)[0]


def test_followers_are_other_workgroups_of_the_same_xcd(many: Recorded) -> None:
    assert len(many.followers) == ROUNDS * 2
    assert not set(many.followers) & set(many.on_cu)
    assert {number % 8 for number in many.followers} == {0}


def test_one_round_has_no_followers() -> None:
    assert _recorded(8 * 38 * 2)[0].followers == []


def test_a_following_round_is_shorter_than_the_first_and_takes_all_its_transfers(many: Recorded) -> None:
    timing, launch = time_recorded(many, hbm_bytes=16.0 * 1024 * many.grid)
    gap = PARAMETERS["workgroup_turnaround"]
    assert timing.round_clocks is not None
    assert timing.vmem_clocks <= timing.round_clocks < timing.cycles + gap
    rounds = workgroups_on_fullest_cu(many.grid) / timing.resident
    assert launch.parts["compute"] == pytest.approx(timing.cycles + (rounds - 1) * timing.round_clocks)


def test_alone_on_the_compute_unit_a_successor_waits_for_its_end(many: Recorded) -> None:
    """With one workgroup at a time nothing overlaps: a longer gap lengthens every round by as much."""
    ops, waves = many.waves(PARAMETERS)
    first, *_ = waves.values()

    def unit() -> Succession:
        return Succession(PARAMETERS, MemorySystem(PARAMETERS, 2100, 304, False, lambda _: 1.0, 1.0), len(ops))

    alone = round_clocks(unit(), [first], many.waves_after(PARAMETERS)[:3], gap=290)
    last = round_clocks(unit(), [first], many.waves_after(PARAMETERS)[:3], gap=1290)
    assert last - alone == pytest.approx(1000, abs=16)

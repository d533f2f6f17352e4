"""Shortened loops: what is left out, what must stay whole, and that the continued account is the whole one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernels import CHASE, MATRIX, SWEEP, compile_ir, run

from argus.clock import Recorded, time_record, time_waves
from argus.clock.fold import KEPT, fold, whole
from argus.clock.parameters import PARAMETERS
from argus.machine.record import ExecutionRecord, WaveRecord

STREAMED = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
@tile = internal addrspace(3) global [1024 x i32] poison
define amdgpu_kernel void @streamed(ptr addrspace(1) inreg %from, ptr addrspace(1) inreg %out, i32 inreg %steps) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %mine = getelementptr [1024 x i32], ptr addrspace(3) @tile, i32 0, i32 %lane
  %other = xor i32 %lane, 64
  %theirs = getelementptr [1024 x i32], ptr addrspace(3) @tile, i32 0, i32 %other
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %more, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %next, %loop ]
  %row = mul i32 %i, 256
  %at = add i32 %row, %lane
  %p = getelementptr i32, ptr addrspace(1) %from, i32 %at
  %v = load i32, ptr addrspace(1) %p
  store i32 %v, ptr addrspace(3) %mine
  call void @llvm.amdgcn.s.barrier()
  %w = load i32, ptr addrspace(3) %theirs
  call void @llvm.amdgcn.s.barrier()
  %next = add i32 %sum, %w
  %more = add i32 %i, 1
  %again = icmp ult i32 %more, %steps
  br i1 %again, label %loop, label %done
done:
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %next, ptr addrspace(1) %q
  ret void
}
"""


def _streamed(steps: int = 120) -> tuple[ExecutionRecord, Recorded, Recorded]:
    source = np.arange(steps * 256, dtype=np.int32)
    done = run(compile_ir(STREAMED), 1, 256, source, np.zeros(256, np.int32), np.int32(steps))
    short = Recorded(done.record, done.insts, done.kernel)
    full = Recorded(whole(done.record), done.insts, done.kernel)
    return done.record, short, full


@pytest.mark.parametrize("resident", [1, 2, 4])
def test_a_continued_loop_takes_as_long_as_the_whole_one(resident: int) -> None:
    record, short, full = _streamed()
    assert short.folded.left_out == {0: 120 - KEPT} or short.folded.left_out == {0: 119 - KEPT}
    assert short.folded.record.instructions < record.instructions / 4
    assert sum(short.folded.full.values()) == record.instructions
    timings = []
    for recorded in (short, full):
        ops, waves = recorded.waves(PARAMETERS)
        timings.append(time_waves(ops, waves, recorded.resources, resident=resident, l2_sharers=1.0))
    continued, all_of = timings
    assert continued.iterations is not None
    assert all_of.iterations is None
    assert continued.cycles == pytest.approx(all_of.cycles, rel=0.01 + continued.iteration_error)
    assert continued.iteration_error < 0.02
    assert continued.issued == all_of.issued == resident * record.instructions
    assert [row.executed for row in continued.rows] == [row.executed for row in all_of.rows]
    assert continued.footprint_bytes == all_of.footprint_bytes
    assert continued.read_bytes["hbm"] == pytest.approx(all_of.read_bytes["hbm"], rel=0.06)
    assert continued.lds_bytes == pytest.approx(all_of.lds_bytes, rel=0.02)
    assert continued.wave_clocks == 4 * continued.issued + sum(continued.reasons.values())
    for name, share in all_of.utilisation.items():
        assert continued.utilisation[name] == pytest.approx(share, abs=0.02)


def test_matrix_work_is_counted_exactly() -> None:
    done = run(compile_ir(MATRIX), 1, 256, np.zeros(16, np.float32), np.int32(200), np.int64(0))
    timing = time_record(done.record, done.insts, done.kernel, resident=1)
    assert timing.iterations is not None
    assert timing.matrix_flops == 4 * 800 * 2 * 32 * 32 * 8


def test_conflicts_are_continued() -> None:
    done = run(compile_ir(SWEEP), 1, 64, np.zeros(64, np.int32), np.int32(32), np.int32(100))
    short, full = (
        time_record(record, done.insts, done.kernel, resident=1) for record in (done.record, whole(done.record))
    )
    assert short.iterations is not None
    assert short.bank_conflict_clocks == full.bank_conflict_clocks


def test_a_loop_that_comes_back_to_its_data_stays_whole() -> None:
    """A ring of 40 lines walked five times: the first 18 steps would look like a stream."""
    ring = np.zeros(40 * 32, np.int32)
    ring[np.arange(40) * 32] = (np.arange(40) * 128 + 128) % (40 * 128)
    done = run(compile_ir(CHASE), 1, 64, ring, np.zeros(1, np.int32), np.int32(200))
    assert not fold(done.record).left_out


def test_short_loops_and_counted_instructions_stay_whole() -> None:
    done = run(compile_ir(MATRIX), 1, 64, np.zeros(16, np.float32), np.int32(KEPT + 3), np.int64(0))
    assert not fold(done.record).left_out
    long = run(compile_ir(MATRIX), 1, 64, np.zeros(16, np.float32), np.int32(100), np.int64(0))
    loop = np.bincount(long.record.waves[0, 0].pc).argmax()
    assert fold(long.record).left_out
    assert not fold(long.record, counted={int(loop)}).left_out


def _with_barriers(pc: list[int], every: int) -> WaveRecord:
    barriers = np.flatnonzero(np.array(pc) == every).astype(np.int32)
    nothing = np.zeros(0, np.int32)
    return WaveRecord(
        pc=np.array(pc, np.int32),
        exec=np.ones(len(pc), np.uint64),
        addr=np.zeros((0, 64), np.uint64),
        addr_index=nothing,
        bytes=nothing,
        space=np.zeros(0, np.uint8),
        barriers=barriers,
    )


def test_waves_that_would_no_longer_meet_stay_whole() -> None:
    """One wave has one barrier in each iteration, the other has two in every second one."""
    first = _with_barriers([0, *([4, 8, 12] * 60), 20], 8)
    second = _with_barriers([0, *([4, 8, 8, 12, 4, 4, 12] * 30), 20], 8)
    record = ExecutionRecord((1, 1, 1), (128, 1, 1), {(0, 0): first, (0, 1): second})
    assert not fold(record).left_out
    same = replace(record, waves={(0, 0): first, (0, 1): first})
    assert fold(same).left_out == {0: 60 - 1 - KEPT}


def test_alternating_iterations_are_one() -> None:
    wave = _with_barriers([0, *([4, 8, 12, 4, 12] * 50), 20], 8)
    record = ExecutionRecord((1, 1, 1), (64, 1, 1), {(0, 0): wave})
    folded = fold(record)
    assert folded.left_out
    assert folded.marks[0, 0][1] - folded.marks[0, 0][0] == 5


def test_workgroups_of_one_compute_unit_lose_equally_many() -> None:
    waves = {(n, 0): _with_barriers([0, *([4, 8, 12] * count), 20], 8) for n, count in ((0, 100), (8, 60), (16, 90))}
    record = ExecutionRecord((24, 1, 1), (64, 1, 1), waves)
    assert fold(record, together=[0, 8]).left_out == {0: 41, 8: 41, 16: 71}

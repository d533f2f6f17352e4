"""What workgroups do to each other: shared lines of an XCD's L2, atomics on one line, unequal work."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from kernels import compile_ir, run
from programs import LANE, Program, load

from argus.clock.atomics import busiest_address
from argus.clock.caches import Level
from argus.clock.fold import whole
from argus.clock.launch import estimate
from argus.clock.model import Resources, time_waves
from argus.clock.parameters import PARAMETERS
from argus.clock.xcd import fetches_per_miss, lines_of_all, sharing_of, xcds_per_line
from argus.gfx942.inst import Inst
from argus.machine.record import GLOBAL, NO_ADDRESS, ExecutionRecord, WaveRecorder

ATOMIC = """
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @count(ptr addrspace(1) inreg %out) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %one = icmp eq i32 %lane, 0
  br i1 %one, label %add, label %done
add:
  %old = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope("agent") monotonic
  br label %done
done:
  ret void
}
"""

READ = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @read(ptr addrspace(1) inreg %from, ptr addrspace(1) inreg %to, i32 inreg %apart) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %start = mul i32 %group, %apart
  %at = add i32 %start, %lane
  %p = getelementptr i32, ptr addrspace(1) %from, i32 %at
  %v = load i32, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %to, i32 %lane
  store i32 %v, ptr addrspace(1) %q
  ret void
}
"""


@pytest.mark.parametrize(("apart", "expected"), [(0, 5.0), (64, 1.0)])
def test_lines_are_fetched_once_for_all_who_share_them(apart: int, expected: float) -> None:
    """Five workgroups of one XCD read the same 256 bytes, or each its own."""
    groups = 40
    source, out = np.zeros(groups * 64 + 64, np.int32), np.zeros(64, np.int32)
    done = run(compile_ir(READ), groups, 64, source, out, np.int32(apart), workgroups=list(range(0, groups, 8)))
    found = fetches_per_miss(whole(done.record), done.insts, range(0, groups, 8))
    assert set(found.values()) == {expected}
    assert len(found) == (2 if apart == 0 else 10)


def _reader(lines: list[int], inst: Inst) -> WaveRecorder:
    recorder = WaveRecorder()
    for line in lines:
        recorder.instruction(inst.pc, 1)
        addresses = np.full(64, NO_ADDRESS, np.uint64)
        addresses[0] = line * 128
        recorder.access(addresses, 4, GLOBAL)
    return recorder


@pytest.mark.parametrize(("between", "expected"), [(100, 2.0), (1_000, 4.0), (20_000, 2.0)])
def test_a_line_evicted_meanwhile_is_fetched_again(between: int, expected: float) -> None:
    """Two workgroups read line 0 first and last, each other lines between: kept by the L1, by the L2, by none."""
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    waves = {
        (group, 0): _reader([0, *range(1 + group * between, 1 + (group + 1) * between), 0], inst).finish()
        for group in (0, 8)
    }
    found = fetches_per_miss(whole(ExecutionRecord((16, 1, 1), (64, 1, 1), waves)), done.insts, [0, 8])
    assert found[0] == expected


def _tile(number: int, remapped: bool) -> tuple[int, int]:
    """Tiles of a 64 x 64 grid in groups of four rows; remapped: every XCD gets a run of consecutive numbers."""
    if remapped:
        number = number % 8 * 512 + number // 8
    return number // 256 * 4 + number % 4, number % 256 // 4


def test_xcd_aware_mapping_moves_fewer_lines_beyond_the_l2() -> None:
    """In plain order the first 38 tiles of an XCD lie in 2 rows and 32 columns; remapped, in 4 rows and 10 columns."""
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    numbers = list(range(0, 304, 8))
    misses = {}
    for remapped in (False, True):
        waves = {}
        for number in numbers:
            row, column = _tile(number, remapped)
            lines = [*range(1000 * row, 1000 * row + 4), *range(500_000 + 1000 * column, 500_004 + 1000 * column)]
            waves[number, 0] = _reader(lines, inst).finish()
        found = fetches_per_miss(whole(ExecutionRecord((4096, 1, 1), (64, 1, 1), waves)), done.insts, numbers)
        misses[remapped] = len(found)
        assert sum(found.values()) == len(numbers) * 8
    assert misses == {False: 4 * (2 + 32), True: 4 * (4 + 10)}


def test_a_part_of_the_workgroups_stands_for_all() -> None:
    """Ten of forty workgroups that all read one table, and each lines of its own."""
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    numbers = list(range(0, 80, 8))
    waves = {(n, 0): _reader([0, 1, 1000 + n], inst).finish() for n in numbers}
    record = ExecutionRecord((320, 1, 1), (64, 1, 1), waves)
    found = fetches_per_miss(whole(record), done.insts, numbers, together=40)
    assert found[0] == found[1] == pytest.approx(40)
    assert [found[1000 + n] for n in numbers] == pytest.approx([1.0] * len(numbers))


@pytest.mark.parametrize("groups", [8, 64])
def test_atomics_on_one_address_are_counted_for_the_whole_grid(groups: int) -> None:
    done = run(compile_ir(ATOMIC), groups, 64, np.zeros(1, np.int32))
    assert busiest_address(done.record, done.insts, groups) == groups
    assert busiest_address(done.record, done.insts, 10 * groups) == 10 * groups


def test_a_hot_address_bounds_the_launch() -> None:
    timing = _one_load()
    launch = estimate(timing, 304, hbm_bytes=0, hot_atomics=1e6)
    assert launch.bound == "atomics"
    assert launch.cycles / launch.clock_mhz == pytest.approx(1e3 * PARAMETERS["atomic_ns"])


def test_unequal_work_lengthens_the_launch_by_its_longest_workgroup() -> None:
    timing = _one_load()
    even = estimate(timing, 304, hbm_bytes=0, work={0: 1.0, 100: 1.0})
    uneven = estimate(timing, 304, hbm_bytes=0, work={0: 1.0, 303: 3.0})
    assert even.work_error is None
    assert uneven.parts["compute"] == 3 * even.parts["compute"]
    assert uneven.work_error == pytest.approx(0.5)


def test_tensors_that_fit_the_infinity_cache_are_free_when_it_is_warm() -> None:
    timing = _one_load()
    assert estimate(timing, 304, hbm_bytes=1e8, warm=True).hbm_bytes == 0
    assert estimate(timing, 304, hbm_bytes=1e8).hbm_bytes == 1e8
    assert estimate(timing, 304, hbm_bytes=1e9, warm=True).hbm_bytes == 1e9


def _one_load():
    program = Program()
    program.add(program.vmem(), load(16, LANE * 16))
    program.add(program.wait(vm=0))
    return time_waves(program.ops, {0: [program.wave(0, 0)]}, Resources(lds_bytes=65536), resident=1)


def test_a_timed_workgroup_causes_the_mean_of_all_misses() -> None:
    """Workgroups 0 and 8 read the same lines, 16 its own: two thirds of the fetches miss, whoever is timed."""
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    waves = {
        (number, 0): _reader([base + line for line in range(40)], inst).finish()
        for number, base in ((0, 0), (8, 0), (16, 1000))
    }
    folded = whole(ExecutionRecord((24, 1, 1), (64, 1, 1), waves))
    for timed, own in (([0], range(40)), ([16], range(1000, 1040)), ([0, 8, 16], None)):
        found = fetches_per_miss(folded, done.insts, [0, 8, 16], timed=timed)
        if own is not None:
            assert sum(1 / found[line] for line in own) == pytest.approx(40 * 2 / 3)
        else:
            assert found[0] == pytest.approx(2)
            assert found[1000] == pytest.approx(1)


def test_half_a_line_now_and_half_in_the_next_step_is_one_fetch() -> None:
    """Two workgroups read 50 lines in halves, one step apart: each line serves two, not four."""
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    halves = [line for step in range(2) for line in [*range(300), *range(300)][300 * step : 300 * step + 300]]
    waves = {(number, 0): _reader(halves, inst).finish() for number in (0, 8)}
    found = fetches_per_miss(whole(ExecutionRecord((16, 1, 1), (64, 1, 1), waves)), done.insts, [0, 8])
    assert set(found.values()) == {2.0}


@pytest.mark.parametrize(("resident", "expected"), [(1, 1.0), (32, 0.5)])
def test_a_row_walked_twice_is_not_in_the_l1_that_others_share(resident: int, expected: float) -> None:
    """16 KB each, walked twice by 608 workgroups of an XCD: 10 MB, which its L2 does not hold until the second walk.

    Alone on its compute unit a workgroup finds its row in the L1; beside 31 others every line misses the L2 twice, and
    the second time the Infinity Cache has it.
    """
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    numbers = list(range(0, 8 * 608, 8))
    waves = {(n, 0): _reader([*range(1000 * n, 1000 * n + 128)] * 2, inst).finish() for n in numbers}
    folded = whole(ExecutionRecord((8 * 608, 1, 1), (64, 1, 1), waves))
    found = sharing_of(folded, done.insts, numbers, resident=resident)
    assert found.from_memory == pytest.approx(expected, rel=0.02)
    assert set(found.readers.values()) == {1.0}


@pytest.mark.parametrize(("by_lines", "again"), [(1, "mall"), (0, "l2")])
def test_a_vector_that_all_share_gives_nobody_the_whole_l2(by_lines: int, again: Level) -> None:
    """Half of the lines are a vector of 38 readers, half a row of its own that is walked twice, with the L1 full."""
    program = Program()
    op = program.vmem()
    for _ in range(2):
        for step in range(1500):
            program.add(op, load(4, LANE * 4 + 256 * step))
    program.add(program.wait(vm=0))
    readers = {line: 38.0 if line >= 1500 else 1.0 for line in range(3000)}
    timing = time_waves(
        program.ops,
        {0: [program.wave(0, 0)]},
        Resources(),
        resident=1,
        readers=readers,
        parameters=PARAMETERS.with_values(l2_by_lines=by_lines),
    )
    assert timing.read_bytes[again] >= 1500 * 128


def test_xcds_that_miss_a_line_together_get_it_from_memory_once() -> None:
    """Eight workgroups, one on each XCD, read 40 common lines and 40 of their own: 80 misses for 45 lines of memory."""
    done = run(compile_ir(READ), 1, 64, np.zeros(128, np.int32), np.zeros(64, np.int32), np.int32(0))
    inst = next(inst for inst in done.insts if inst.op.startswith("global_load"))
    waves = {
        (n, 0): _reader([*range(40), *range(1000 * (n + 1), 1000 * (n + 1) + 40)], inst).finish() for n in range(8)
    }
    folded = whole(ExecutionRecord((8, 1, 1), (64, 1, 1), waves))
    assert xcds_per_line(folded, done.insts, {}, 0) == pytest.approx(80 / 45)
    folded.record.waves.pop((7, 0))
    assert xcds_per_line(folded, done.insts, {}, 0) == 1.0


@pytest.mark.parametrize(("tile", "executed"), [((38, 1), 12), ((4, 10), 12), ((4, 10), 22), ((16, 3), 22)])
def test_lines_of_all_workgroups_follow_from_a_part(tile: tuple[int, int], executed: int) -> None:
    """38 tiles of a GEMM in `tile` rows and columns: panels all of them read, guessed from some of them."""
    rows, columns = tile
    numbers = range(38)
    panels = [(n % rows, rows + n // rows % columns) for n in numbers]
    true = len({panel for pair in panels for panel in pair})
    guesses = []
    for seed in range(40):
        drawn = random.Random(seed).sample(numbers, executed)
        seen = Counter(panel for n in drawn for panel in panels[n])
        readers = np.repeat(np.array(list(seen.values()), np.int64), 100)
        guesses.append(lines_of_all(readers, executed, 38) / 100)
    assert np.mean(guesses) == pytest.approx(true, rel=0.12)

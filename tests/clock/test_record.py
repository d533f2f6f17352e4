"""Whole way: compiled kernels, executed by the machine, timed from its record."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import CHASE, MATRIX, STREAM, SWEEP, TABLE, compile_ir, run

from argus.clock import estimate, kernel_resources, time_launch, time_record, workgroups_to_record
from argus.clock.parameters import PARAMETERS
from argus.clock.program import Reason
from argus.gfx942.lds import conflict_cycles
from argus.machine.record import ExecutionRecord


def _chase(lines: int, steps: int) -> float:
    """Clocks per dependent load over a ring of `lines` cache lines, second round onwards."""
    ring = np.zeros(lines * 32, np.int32)
    ring[np.arange(lines) * 32] = (np.arange(lines) * 128 + 128) % (lines * 128)
    code = compile_ir(CHASE)
    times = []
    for count in (lines, steps):
        done = run(code, 1, 64, ring, np.zeros(1, np.int32), np.int32(count))
        times.append(time_record(done.record, done.insts, done.kernel, resident=1).cycles)
    return (times[1] - times[0]) / (steps - lines)


@pytest.mark.parametrize(("lines", "latency"), [(32, 118), (600, 213)])
def test_pointer_chase_in_real_code(lines: int, latency: float) -> None:
    """The loop around the load (address, compare, branch) adds some 40 clk to the published latency."""
    loop = _chase(lines, lines + 200) - latency
    assert 20 <= loop <= 60


@pytest.mark.parametrize("stride", [1, 2, 4, 8, 16, 32, 33])
def test_lds_stride_sweep_in_real_code(stride: int) -> None:
    out = np.zeros(64, np.int32)
    done = run(compile_ir(SWEEP), 1, 64, out, np.int32(stride), np.int32(100))
    assert list(out) == list(range(64))
    timing = time_record(done.record, done.insts, done.kernel, resident=1)
    addresses = np.arange(64) * 4 * stride
    per_round = sum(conflict_cycles(kind, 32, addresses) - 2 for kind in ("read", "write"))
    assert timing.bank_conflict_clocks == 100 * per_round
    assert timing.issued == done.record.instructions
    if stride == 32:
        assert timing.cycles == pytest.approx(100 * 128, rel=0.05)


def test_matrix_chain_in_real_code() -> None:
    done = run(compile_ir(MATRIX), 1, 256, np.zeros(16, np.float32), np.int32(100), np.int64(0))
    timing = time_record(done.record, done.insts, done.kernel, resident=1)
    assert timing.matrix_flops == 4 * 400 * 2 * 32 * 32 * 8
    assert timing.cycles == pytest.approx(400 * 32, rel=0.15)
    assert timing.utilisation["matrix"] > 0.85
    assert max(timing.reasons, key=lambda reason: timing.reasons[reason]) is Reason.MATRIX


def test_streaming_copy_is_bound_by_memory() -> None:
    groups = 4096
    source = np.arange(groups * 1024, dtype=np.int32)
    target = np.zeros_like(source)
    done = run(compile_ir(STREAM), groups, 256, source, target, workgroups=[0, 8, 16])
    assert (target[:1024] == source[:1024]).all()
    timing = time_record(done.record, done.insts, done.kernel)
    assert timing.footprint_bytes == timing.resident * 4096
    assert timing.written_bytes == timing.resident * 4096
    launch = estimate(timing, groups)
    assert launch.hbm_bytes == 2 * source.nbytes
    big = estimate(timing, 100 * groups)
    assert big.bound == "hbm"
    assert big.hbm_gbps == pytest.approx(4200, rel=0.05)


def test_sharing_is_known_only_from_all_workgroups_of_an_xcd() -> None:
    """All lanes of all workgroups read the same table: the more of them on an XCD, the less each one costs the MALL."""
    code = compile_ir(TABLE)
    groups = 8 * 3
    table, out = np.arange(256, dtype=np.int32), np.zeros(groups * 64, np.int32)
    few = run(code, groups, 64, table, out, workgroups=[0, 8])
    assert not time_record(few.record, few.insts, few.kernel, resident=1).sharing_known
    wanted = workgroups_to_record(groups, room=1, sharing=True)
    assert wanted == [0, 8, 16]
    done = run(code, groups, 64, table, out, workgroups=wanted)
    timing = time_record(done.record, done.insts, done.kernel, resident=1)
    assert timing.sharing_known
    assert timing.read_bytes["hbm"] == pytest.approx(timing.filled_bytes / 3)


def test_a_lonely_workgroup_has_the_memory_to_itself() -> None:
    done = run(compile_ir(STREAM), 1, 256, np.zeros(1024, np.int32), np.zeros(1024, np.int32))
    alone = time_record(done.record, done.insts, done.kernel, resident=1)
    crowded = time_record(done.record, done.insts, done.kernel, resident=1, active_cus=304)
    assert alone.cycles < crowded.cycles


def test_samples() -> None:
    assert workgroups_to_record(1, 4) == [0]
    assert workgroups_to_record(8 * 38 * 4, 4) == [0, 8 * 38, 2 * 8 * 38, 3 * 8 * 38]
    assert len(workgroups_to_record(10**6, 4, sharing=True)) == 38 * 4
    assert workgroups_to_record(100, 4, sharing=True) == list(range(0, 100, 8))


def test_launch_uses_the_residency_of_the_grid() -> None:
    code = compile_ir(STREAM)
    no_gap = PARAMETERS.with_values(workgroup_turnaround=0)
    for groups, resident, rest in ((64, 1, 0), (8 * 38 * 9, 8, 1)):
        source = np.arange(groups * 1024, dtype=np.int32)
        done = run(code, groups, 256, source, np.zeros_like(source), workgroups=[0, 8])
        timing, launch = time_launch(done.record, done.insts, done.kernel, hbm_bytes=0, parameters=no_gap)
        assert timing.resident == resident
        assert launch.grid == groups
        tail = time_record(done.record, done.insts, done.kernel, resident=rest).cycles if rest else 0
        assert launch.parts["compute"] == timing.cycles + tail
    with pytest.raises(ValueError, match="the record is empty"):
        time_launch(ExecutionRecord((1, 1, 1), (64, 1, 1)), done.insts, done.kernel)


def test_resources_come_from_the_descriptor() -> None:
    done = run(compile_ir(SWEEP), 1, 64, np.zeros(64, np.int32), np.int32(1), np.int32(1))
    assert kernel_resources(done.kernel).lds_bytes == 32768
    assert kernel_resources(done.kernel, dynamic_lds=1024).lds_bytes == 33792
    assert time_record(done.record, done.insts, done.kernel).occupancy == 2


def test_wrong_input_is_answered() -> None:
    done = run(compile_ir(SWEEP), 1, 64, np.zeros(64, np.int32), np.int32(1), np.int32(1))
    with pytest.raises(ValueError, match="not among the decoded instructions"):
        time_record(done.record, done.insts[:3], done.kernel)
    with pytest.raises(ValueError, match="the record is empty"):
        time_record(ExecutionRecord((1, 1, 1), (64, 1, 1)), done.insts, done.kernel)

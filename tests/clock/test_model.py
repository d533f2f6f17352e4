"""Timing of workgroups, the launch estimate, their printed forms and the trace."""

from __future__ import annotations

import json

import numpy as np
import pytest
from programs import LANE, Program, load, read_lds

from argus.clock.caches import Lru, cold_misses
from argus.clock.launch import estimate, resident_workgroups, workgroups_on_fullest_cu
from argus.clock.model import Resources, time_waves
from argus.clock.parameters import PARAMETERS
from argus.clock.perfetto import trace
from argus.clock.timing import LABEL
from argus.gfx942.chip import FACTS

SMALL = Resources(vgprs=64)
LARGE = Resources(vgprs=256, agprs=256)


def _matrix_program(steps: int = 50) -> Program:
    program = Program()
    matrix, ds, wait, vm = (
        program.matrix("mfma_32x32x8_bf16", 0, 600, 610),
        program.lds(),
        program.wait(lgkm=0),
        program.vmem(),
    )
    for step in range(steps):
        program.add(vm, load(16, LANE * 16 + 1024 * step))
        program.add(ds, read_lds(128, LANE * 128))
        program.add(wait)
        program.add(matrix, times=4)
    return program


def test_residency_follows_registers_and_the_request() -> None:
    program = _matrix_program(5)
    groups = {0: [program.wave(0, w) for w in range(4)]}
    assert time_waves(program.ops, groups, LARGE).resident == 1
    timing = time_waves(program.ops, groups, SMALL)
    assert (timing.resident, timing.occupancy, timing.waves) == (8, 8, 32)
    assert "made from 1 recorded" in timing.notes[0]
    assert time_waves(program.ops, groups, SMALL, resident=2).resident == 2
    with pytest.raises(ValueError, match="2 workgroups on one CU were asked for; 1 fit"):
        time_waves(program.ops, groups, LARGE, resident=2)
    with pytest.raises(ValueError, match="no wave to time"):
        time_waves(program.ops, {}, LARGE)


def test_account_of_a_small_kernel() -> None:
    program = _matrix_program(50)
    timing = time_waves(program.ops, {0: [program.wave(0, w) for w in range(4)]}, LARGE)
    assert timing.matrix_flops == 4 * 200 * 2 * 32 * 32 * 8
    assert timing.utilisation["matrix"] == pytest.approx(200 * 32 / timing.cycles)
    assert timing.bank_conflict_clocks == 4 * 50 * 56
    assert timing.footprint_bytes == 50 * 1024
    assert timing.wave_clocks == 4 * timing.issued + sum(timing.reasons.values())
    assert timing.read_bytes["hbm"] == 50 * 1024
    assert timing.read_bytes["l1"] == 3 * 50 * 1024
    assert timing.filled_bytes == 50 * 1024


def test_forms() -> None:
    program = _matrix_program(5)
    timing = time_waves(program.ops, {0: [program.wave()]}, LARGE, timeline=True)
    source = {program.ops[0].pc: "gemm.py:47"}
    shown = timing.text(source=source)
    assert shown.startswith(LABEL)
    assert "waiting for LDS" in shown
    data = json.loads(json.dumps(timing.to_json(source)))
    assert data["instructions_by_pc"][0]["source"] == "gemm.py:47"
    assert timing.by_line(source).keys() == {"gemm.py:47"}
    events = trace(timing, source)["traceEvents"]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    issues = [e for e in events if e.get("cat") == "instruction" and threads[e["pid"], e["tid"]].startswith("wave ")]
    assert len(issues) == timing.issued
    with pytest.raises(ValueError, match="timeline=True"):
        trace(time_waves(program.ops, {0: [program.wave()]}, LARGE))


def test_sharing_divides_traffic_beyond_the_l2() -> None:
    """Four workgroups of one XCD reading the same lines fetch them once."""
    program = _matrix_program(20)
    alone = time_waves(program.ops, {0: [program.wave()]}, LARGE)
    shared = time_waves(program.ops, {0: [program.wave()]}, LARGE, readers=dict.fromkeys(range(20 * 8), 4))
    assert not alone.sharing_known
    assert shared.sharing_known
    assert shared.read_bytes["hbm"] == alone.read_bytes["hbm"] / 4
    stated = time_waves(program.ops, {0: [program.wave()]}, LARGE, l2_sharers=4)
    assert stated.read_bytes["hbm"] == shared.read_bytes["hbm"]
    assert shared.filled_bytes == alone.filled_bytes


def test_a_line_on_its_way_is_waited_for() -> None:
    """A second wave asking for the same line shortly after the first gets it when the first does, not before."""
    program = Program()
    program.add(program.vmem(), load(4, LANE * 4))
    program.add(program.wait(vm=0))
    one = time_waves(program.ops, {0: [program.wave()]}, LARGE, resident=1)
    two = time_waves(program.ops, {0: [program.wave(0, w) for w in range(2)]}, LARGE, resident=1)
    assert two.wave_clocks == pytest.approx(2 * one.wave_clocks, abs=16)
    assert two.filled_bytes == one.filled_bytes


def test_warm_caches_are_nearer() -> None:
    program = _matrix_program(20)
    cold = time_waves(program.ops, {0: [program.wave()]}, LARGE)
    warm = time_waves(program.ops, {0: [program.wave()]}, LARGE, warm=True)
    assert warm.read_bytes["mall"] == cold.read_bytes["hbm"]
    assert warm.cycles < cold.cycles


@pytest.mark.parametrize(
    ("grid", "fullest"), [(1, 1), (8, 1), (304, 1), (305, 2), (608, 2), (8 * 38 * 5, 5), (8 * 38 * 5 + 1, 6)]
)
def test_fullest_cu(grid: int, fullest: int) -> None:
    assert workgroups_on_fullest_cu(grid) == fullest


def test_small_grids_do_not_fill_a_cu() -> None:
    assert resident_workgroups(100, 4) == 1
    assert resident_workgroups(700, 4) == 3
    assert resident_workgroups(100000, 4) == 4


def test_estimate_of_a_matrix_bound_launch() -> None:
    program = Program()
    matrix = program.matrix("mfma_32x32x8_bf16", 0, 600, 610)
    program.add(matrix, times=20000)
    timing = time_waves(program.ops, {0: [program.wave(0, w) for w in range(4)]}, LARGE)
    flops = 304 * 10 * 4 * 20000 * 2.0 * 32 * 32 * 8
    launch = estimate(timing, 3040, flops=flops, element="bf16", hbm_bytes=0)
    assert launch.bound == "compute"
    assert launch.rounds == 10
    assert launch.microseconds == pytest.approx(10 * 20000 * 32 / 2100 + FACTS["launch_floor"].value, rel=1e-3)
    assert launch.matrix_peak_share == pytest.approx(1, rel=2e-3)
    half = estimate(timing, 3040, flops=flops, element="bf16", hbm_bytes=0, clock_mhz=1050)
    assert half.tflops == pytest.approx((launch.tflops or 0) / 2, rel=1e-3)
    assert "simulated MI300X" in launch.text()
    assert json.loads(json.dumps(launch.to_json()))["bound"] == "compute"


def test_estimate_of_a_memory_bound_launch() -> None:
    program = Program()
    program.add(program.vmem(), load(16, LANE * 16))
    timing = time_waves(program.ops, {0: [program.wave(0, w) for w in range(4)]}, SMALL)
    launch = estimate(timing, 100_000, hbm_bytes=4.2e9)
    assert launch.bound == "hbm"
    assert launch.microseconds == pytest.approx(1000 + FACTS["launch_floor"].value, rel=1e-6)
    counted = estimate(timing, 100_000)
    assert counted.hbm_bytes == 100_000 * 1024
    assert any("counted once per workgroup" in note for note in counted.notes)
    with pytest.raises(ValueError, match="at least one workgroup"):
        estimate(timing, 0)


def test_tail_round() -> None:
    program = _matrix_program(20)
    groups = {0: [program.wave(0, w) for w in range(4)]}
    full = time_waves(program.ops, groups, SMALL, resident=4)
    single = time_waves(program.ops, groups, SMALL, resident=1)
    grid = 304 * 5
    gap = PARAMETERS["workgroup_turnaround"]
    assert estimate(full, grid, hbm_bytes=0).cycles == 2 * full.cycles + gap
    assert estimate(full, grid, tail=single, hbm_bytes=0).cycles == full.cycles + single.cycles + gap


def test_lru_against_a_list() -> None:
    cache = Lru(lines=8, ways=4)
    model: dict[int, list[int]] = {0: [], 1: []}
    for step in range(500):
        line = (step * step * 7 + step // 3) % 13
        ways = model[line % 2]
        hit = line in ways
        if hit:
            ways.remove(line)
        ways.append(line)
        del ways[:-4]
        assert cache.touch(line) == hit


def test_cold_misses_are_those_of_an_empty_cache() -> None:
    dice = np.random.default_rng(0)
    for lines, ways, hashed, most in (
        (8, 4, False, 13),
        (256, 64, False, 900),
        (1024, 16, True, 1500),
        (64, 16, True, 9),
    ):
        asked = dice.integers(0, most, 3000) * dice.choice([1, 64])
        cache = Lru(lines, ways, hashed)
        want = [not cache.touch(line) for line in asked.tolist()]
        assert cold_misses(asked, lines, ways, hashed).tolist() == want


def test_parameters_have_sources_and_can_be_perturbed() -> None:
    for row in PARAMETERS.rows.values():
        assert row.source
        assert row.unit
        assert row.confidence in {"V", "D", "M", "L", "S", "X", "assumed"}
    changed = PARAMETERS.with_values(l2_latency=290)
    assert changed["l2_latency"] == 290
    assert PARAMETERS["l2_latency"] == 213
    assert changed.rows["l2_latency"].confidence == "changed"
    with pytest.raises(KeyError, match="no parameter 'l3_latency'"):
        PARAMETERS.with_values(l3_latency=1)
    with pytest.raises(TypeError, match="choice"):
        PARAMETERS["arbitration"]


@pytest.mark.parametrize(("clocks", "packed", "turns"), [(4, False, 4), (16, False, 4), (4, True, 8)])
def test_power_counts_turns_of_the_valu(clocks: int, packed: bool, turns: int) -> None:
    """An exponential works on a quarter of the lanes at a time; a packed f32 instruction does twice the work."""
    program = Program()
    program.add(program.valu(clocks=clocks, alone=packed), times=10)
    timing = time_waves(program.ops, {0: [program.wave()]}, LARGE, resident=1)
    assert timing.valu_turns == 10 * turns

"""The compute unit against published latencies and rates, and against the arithmetic of banks and counters."""

from __future__ import annotations

import numpy as np
import pytest
from programs import LANE, Program, clocks, load, read_lds, unit

from argus.clock.access import vmem_access
from argus.clock.caches import Level, MemorySystem, slowdown
from argus.clock.parameters import PARAMETERS
from argus.clock.program import Reason, Unit, registers
from argus.gfx942.lds import Kind, conflict_cycles
from argus.gfx942.mfma import MFMA

TURN = 4


def _per_step(build: list[int], few: int = 20, many: int = 120, waves: int = 1, name: str = "") -> float:
    """Steady distance of matrix instructions whose D registers cycle through `build`."""
    times = []
    for count in (few, many):
        program = Program()
        ops = [program.matrix(name, d, a=600, b=610) for d in build]
        for step in range(count):
            program.add(ops[step % len(ops)])
        times.append(clocks(program, waves))
    return (times[1] - times[0]) / (many - few)


XDL = sorted(name for name, row in MFMA.items() if row.passes > 2 and row.c != "f64")


@pytest.mark.parametrize("name", XDL)
def test_accumulate_chain_and_independent_stream_run_at_the_rate_of_the_passes(name: str) -> None:
    cycles = MFMA[name].cycles
    assert _per_step([0], name=name) == cycles
    assert _per_step([0, 32, 64, 96], name=name) == cycles
    assert _per_step([0], waves=4, name=name) == cycles
    assert _per_step([0], waves=8, name=name) == 2 * cycles


@pytest.mark.parametrize(
    ("name", "expected"),
    [("v_mfma_f32_16x16x16_bf16", 32), ("v_mfma_f32_32x32x8_bf16", 48), ("v_mfma_f32_32x32x16_fp8_fp8", 48)],
)
def test_a_result_used_as_a_factor_takes_the_published_latency(name: str, expected: int) -> None:
    def total(count: int) -> int:
        program = Program()
        there = program.matrix(name, d=0, a=64, b=610, c=200)
        back = program.matrix(name, d=64, a=0, b=610, c=200)
        for step in range(count):
            program.add(back if step % 2 else there)
        return clocks(program)

    assert total(60) - total(50) == 10 * expected


def test_two_pass_chain_waits_two_turns() -> None:
    assert _per_step([0], name="v_mfma_f32_4x4x4_16b_bf16") == 12
    assert _per_step([0, 16, 32, 48], name="v_mfma_f32_4x4x4_16b_bf16") == 8


def test_valu_rates() -> None:
    for width, expected in ((4, 4), (16, 16)):
        for waves, factor in ((1, 1), (4, 1), (8, 2)):
            totals = []
            for count in (50, 150):
                program = Program()
                program.add(program.valu(width), times=count)
                totals.append(clocks(program, waves))
            assert totals[1] - totals[0] == 100 * expected * factor


def test_valu_hides_under_the_matrix_core_up_to_the_coexec_clocks() -> None:
    def step(valu: int, name: str = "v_mfma_f32_32x32x8_bf16", alone: bool = False) -> float:
        totals = []
        for count in (10, 60):
            program = Program()
            matrix, add = program.matrix(name, 0, 600, 610), program.valu(alone=alone)
            for _ in range(count):
                program.add(matrix)
                program.add(add, times=valu)
            totals.append(clocks(program))
        return (totals[1] - totals[0]) / 50

    assert step(7) == 32
    assert step(8) == 36
    assert step(2, alone=True) == 32 + 8
    assert step(2, name="v_mfma_f32_32x32x2_f32") == 64 + 8


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize(("bits", "width"), [(32, 4), (64, 8), (128, 16)])
def test_lds_latency_and_one_wave_rate_are_the_measured_ones(kind: Kind, bits: int, width: int) -> None:
    def total(count: int) -> int:
        program = Program()
        program.add(program.lds(), read_lds(bits, LANE * width, kind), times=count)
        program.add(program.wait(lgkm=0))
        return clocks(program)

    assert total(1) - TURN == pytest.approx(PARAMETERS[f"lds_{kind}_latency_b{bits}"], abs=4)
    assert (total(300) - total(100)) / 200 == pytest.approx(PARAMETERS[f"lds_{kind}_port_b{bits}"], rel=0.02)


def _saturated(bits: int, stride: int, waves: int = 8) -> float:
    """Clocks per access of the whole CU when `waves` waves stream."""
    program = Program()
    program.add(program.lds(), read_lds(bits, LANE * stride), times=200)
    program.add(program.wait(lgkm=0))
    return clocks(program, waves) / (waves * 200)


def test_two_ports_serve_the_four_simds() -> None:
    one = _saturated(128, 16, waves=1)
    assert _saturated(128, 16, waves=2) == pytest.approx(one, rel=0.03)
    assert _saturated(128, 16, waves=4) == pytest.approx(one / 2, rel=0.03)
    assert _saturated(128, 16, waves=8) == pytest.approx(one / 2, rel=0.03)


def test_lds_stride_costs_are_the_published_ratios() -> None:
    """Dword reads at lane strides of n dwords on MI300, relative to 32 (an independent probe: microseconds)."""
    published = {1: 358.3, 2: 474.4, 4: 907.2, 8: 1805.6, 16: 3600.6, 32: 7196.0, 33: 357.3}
    full = _saturated(32, 4 * 32)
    for stride, microseconds in published.items():
        assert _saturated(32, 4 * stride) / full == pytest.approx(microseconds / published[32], rel=0.10), stride


@pytest.mark.parametrize("bits", [32, 64, 128])
@pytest.mark.parametrize("stride", [4, 8, 16, 32, 64, 96, 128, 132, 256])
def test_lds_stride_sweep_costs_what_bank_arithmetic_says(bits: int, stride: int) -> None:
    """When conflicts rule, time per access is the bank clocks, else half of a port's (there are two)."""
    step = max(stride, bits // 8)
    expected = conflict_cycles("read", bits, LANE * step)
    port = PARAMETERS[f"lds_read_port_b{bits}"] / 2
    assert _saturated(bits, step) == pytest.approx(max(expected, port), rel=0.06)
    program = Program()
    program.add(program.lds(), read_lds(bits, LANE * step), times=200)
    model = unit(program)
    model.run([[program.wave()]])
    assert model.busy.lds_conflicts == 200 * (expected - {32: 2, 64: 4, 128: 8}[bits])


@pytest.mark.parametrize(("name", "expected"), [("l1", 118), ("l2", 213), ("hbm", 890)])
def test_pointer_chase(name: str, expected: float) -> None:
    """One lane, one load at a time over a set that fits the level."""
    lines = {"l1": 16, "l2": 600, "hbm": 3000}[name]
    steps = {"l1": 400, "l2": 3000, "hbm": 3000}[name]
    program = Program()
    op, wait = program.vmem(), program.wait(vm=0)
    marks = []
    for count in (lines if name != "hbm" else 0, steps):
        program.steps.clear()
        for step in range(count):
            program.add(op, load(4, np.full(64, 128 * (step % lines))))
            program.add(wait)
        marks.append(clocks(program) if count else 0)
    per_load = (marks[1] - marks[0]) / (steps - (lines if name != "hbm" else 0))
    assert per_load == pytest.approx(expected, rel=0.10)


def test_l1_moves_64_bytes_per_clock() -> None:
    program = Program()
    op = program.vmem()
    for step in range(400):
        program.add(op, load(16, LANE * 16 + 1024 * (step % 8)))
    program.add(program.wait(vm=0))
    assert 4 * 400 * 1024 / clocks(program, 4) == pytest.approx(64, rel=0.10)


@pytest.mark.parametrize(
    ("size", "stride", "how", "expected"),
    [
        (4, 4, {}, "vmem_dword_clocks"),
        (4, 4, {"to_lds": True}, "vmem_lds_clocks"),
        (4, 4, {"store": True}, "vmem_least_clocks"),
        (4, 16, {}, "vmem_least_clocks"),
        (8, 8, {}, "vmem_least_clocks"),
    ],
)
def test_a_narrow_load_takes_the_clocks_of_its_way(size: int, stride: int, how: dict[str, bool], expected: str) -> None:
    """4 bytes per lane side by side into registers or into LDS, stored, with gaps between the lanes; 8 bytes."""
    addresses = (LANE * stride).reshape(1, 64).astype(np.int64)
    (access,) = vmem_access(PARAMETERS, size, addresses, np.ones((1, 64), dtype=bool), **how)
    assert access.clocks == PARAMETERS[expected]


def test_only_the_level_that_tensors_come_from_slows_with_its_load() -> None:
    def latencies(warm: bool, load: float) -> dict[Level, float]:
        return MemorySystem(PARAMETERS, 2100, 304, warm, None, 1.0, load).latency

    idle, cold, warm = latencies(False, 0.0), latencies(False, 1.0), latencies(True, 1.0)
    assert cold["mall"] == idle["mall"] == latencies(True, 0.0)["mall"]
    assert cold["hbm"] / idle["hbm"] == warm["mall"] / idle["mall"] == slowdown(PARAMETERS, 1.0) > 1
    assert cold["l2"] == warm["l2"] == idle["l2"]


def test_wait_for_vector_memory_leaves_the_newest_in_flight() -> None:
    """vmcnt(1) after two loads waits for the first only; vmcnt(0) waits for both."""

    def total(vm: int, gap: int) -> int:
        program = Program()
        op = program.vmem()
        program.add(op, load(4, LANE * 4))
        program.add(program.valu(), times=gap)
        program.add(op, load(4, LANE * 4 + 4096))
        program.add(program.wait(vm=vm))
        program.add(program.valu())
        model = unit(program)
        model.run([[program.wave()]])
        return sum(model.stalls[index][Reason.WAIT_VMEM] for index in range(len(program.ops)))

    latency = PARAMETERS["hbm_latency_ns"] * 2.1
    assert total(1, gap=0) == pytest.approx(latency, abs=12)
    assert total(0, gap=100) - total(1, gap=100) == pytest.approx(4 * 100, abs=8)
    assert total(1, gap=300) == 0


def test_full_counters_hold_the_wave_until_one_returns() -> None:
    program = Program()
    scalar, vector = program.op("s_load", Unit.SMEM, lgkm=True), program.vmem()
    program.add(scalar, times=40)
    program.add(vector, load(4, np.zeros(64)), times=200)
    model = unit(program)
    end = model.run([[program.wave()]])
    assert end < 5000
    assert model.issued == [40, 200]


def test_barrier_waits_for_the_slowest_wave_of_its_workgroup_only() -> None:
    slow, fast = Program(), Program()
    for program, work in ((slow, 500), (fast, 10)):
        add, barrier = program.valu(), program.barrier()
        program.add(add, times=work)
        program.add(barrier)
        program.add(add)
    model = unit(slow)
    end = model.run([[slow.wave(0, 0), fast.wave(0, 1)], [fast.wave(1, 0), fast.wave(1, 1)]])
    assert end == pytest.approx(4 * 502, abs=24)
    other = max(state.ended or 0 for state in model.groups[1])
    assert other < 200
    waited = sum(row[Reason.BARRIER] for row in model.stalls)
    assert waited == pytest.approx(4 * 490, abs=40)


def test_a_finished_wave_does_not_hold_a_barrier() -> None:
    early, late = Program(), Program()
    early.add(early.valu())
    late.add(late.valu(), times=50)
    late.add(late.barrier())
    model = unit(late)
    assert model.run([[early.wave(0, 0), late.wave(0, 1)]]) < 4 * 60


def test_priority_wins_the_shared_unit() -> None:
    def ends(level: int) -> list[int]:
        programs = []
        for raised in (False, True):
            program = Program()
            add = program.valu()
            program.add(program.op("s_setprio", Unit.PRIORITY, amount=level if raised else 0))
            program.add(add, times=200)
            programs.append(program)
        model = unit(programs[0])
        filler = Program()
        waves = [programs[0].wave(0, 0), *(filler.wave(0, w) for w in (1, 2, 3)), programs[1].wave(0, 4)]
        model.run([waves])
        return [model.groups[0][w].ended or 0 for w in (0, 4)]

    first, second = ends(0)
    assert first < second
    first, second = ends(1)
    assert second < first


@pytest.mark.parametrize(("skewed", "low", "high"), [(False, 0.55, 0.72), (True, 0.93, 1.0)])
def test_two_wave_groups_in_opposite_phases_keep_the_matrix_core_busy(skewed: bool, low: float, high: float) -> None:
    """16 matrix instructions at raised priority, then 60 VALU ones, a barrier after each; the skew is one barrier."""
    waves, program = [], Program()
    matrix, add, barrier = program.matrix("mfma_32x32x8_bf16", 0, 600, 610), program.valu(), program.barrier()
    up, down = (program.op("s_setprio", Unit.PRIORITY, amount=level) for level in (1, 0))
    for number in range(8):
        program.steps.clear()
        if skewed and number >= 4:
            program.add(barrier)
        for _ in range(20):
            program.add(up)
            program.add(matrix, times=16)
            program.add(down)
            program.add(barrier)
            program.add(add, times=60)
            program.add(barrier)
        if skewed and number < 4:
            program.add(barrier)
        waves.append(program.wave(0, number))
    model = unit(program)
    end = model.run([waves])
    assert low <= sum(model.busy.matrix) / (4 * end) <= high


def test_stalls_and_turns_add_up_to_the_life_of_every_wave() -> None:
    program = Program()
    matrix, add, ds, vm, barrier = (
        program.matrix("mfma_32x32x8_bf16", 0, 600, 610),
        program.valu(16, reads=registers(0, 1)),
        program.lds(),
        program.vmem(),
        program.barrier(),
    )
    wait, nop = program.wait(vm=0, lgkm=2), program.op("s_nop", Unit.NOP, amount=3)
    for step in range(30):
        program.add(vm, load(16, LANE * 16 + 1024 * step))
        program.add(matrix, times=3)
        program.add(ds, read_lds(128, LANE * 128), times=4)
        program.add(add, times=2)
        program.add(wait)
        program.add(nop)
        program.add(barrier)
    model = unit(program)
    model.run([[program.wave(g, w) for w in range(4)] for g in range(2)])
    life = sum((state.ready_at_end or 0) - state.started for states in model.groups for state in states)
    assert life == TURN * sum(model.issued) + sum(map(sum, model.stalls))


def test_same_input_same_clocks() -> None:
    def once() -> tuple[int, list[list[int]]]:
        rng = np.random.default_rng(3)
        program = Program()
        ops = [program.matrix("mfma_16x16x16_bf16", 0, 600, 610), program.valu(), program.lds()]
        for pick in rng.integers(0, 3, 500):
            program.add(ops[pick], read_lds(64, rng.integers(0, 4096, 64) * 8) if pick == 2 else None)
        model = unit(program)
        return model.run([[program.wave(0, w) for w in range(8)]]), model.stalls

    assert once() == once()

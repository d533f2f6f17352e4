"""Every clock of every wave has one cause, and tracing the waits changes no clock."""

from __future__ import annotations

import random

import numpy as np
import pytest
from programs import LANE, Program, load, read_lds

from argus.clock.counters import bank_conflicts
from argus.clock.model import Resources, time_waves
from argus.clock.program import Reason, Unit, Wave
from argus.clock.stall_stack import CAUSES, StallStack, stall_stack
from argus.clock.timing import Timing
from argus.clock.wait_sources import TracedUnit

ROOMY = Resources(vgprs=128)


def _traced(program: Program, waves: list[Wave]) -> tuple[Timing, StallStack]:
    timing = time_waves(program.ops, {0: waves}, ROOMY, resident=1, unit_type=TracedUnit)
    return timing, stall_stack(program.ops, timing)


def _random_program(seed: int) -> Program:
    dice = random.Random(seed)
    program = Program()
    mfma = program.matrix("mfma_32x32x8_bf16", 0, 600, 610)
    valu, slow, far, lds = program.valu(), program.valu(clocks=16), program.vmem(), program.lds()
    waits = [program.wait(vm=0), program.wait(lgkm=0), program.wait(vm=2, lgkm=1)]
    nop = program.op("s_nop", Unit.NOP, amount=5)
    barrier = program.barrier()
    for _ in range(dice.randint(20, 120)):
        kind = dice.choice(("matrix", "valu", "slow", "far", "lds", "wait", "nop", "barrier"))
        match kind:
            case "matrix":
                program.add(mfma)
            case "valu":
                program.add(valu)
            case "slow":
                program.add(slow)
            case "far":
                program.add(far, load(4, 4 * LANE + 4096 * dice.randrange(40)))
            case "lds":
                program.add(lds, read_lds(dice.choice((32, 128)), LANE * dice.choice((4, 16, 128))))
            case "wait":
                program.add(dice.choice(waits))
            case "nop":
                program.add(nop)
            case _:
                program.add(barrier)
    return program


@pytest.mark.parametrize("seed", range(25))
def test_parts_sum_to_the_whole_and_tracing_is_free(seed: int) -> None:
    program = _random_program(seed)
    waves = [program.wave(0, number) for number in range(1 + seed % 8)]
    timing, stack = _traced(program, waves)
    plain = time_waves(program.ops, {0: waves}, ROOMY, resident=1)
    assert (plain.cycles, plain.rows, plain.idle) == (timing.cycles, timing.rows, timing.idle)
    assert stack.total == len(waves) * timing.cycles
    assert sum(stack.causes.values()) == pytest.approx(stack.total, abs=1e-6)
    inside = sum(sum(parts.values()) for parts in stack.by_op.values())
    assert inside + sum(timing.idle.values()) == pytest.approx(stack.total, abs=1e-6)
    assert set(stack.causes) == set(CAUSES)
    assert min(stack.causes.values()) >= 0
    assert sum(stack.groups().values()) == pytest.approx(stack.total)


@pytest.mark.parametrize("seed", range(10))
def test_every_wait_names_its_source(seed: int) -> None:
    """The traced waits are the waits: per instruction their clocks are its stalls on counters, none unexplained."""
    program = _random_program(seed)
    timing, stack = _traced(program, [program.wave(0, number) for number in range(4)])
    for op, row in zip(program.ops, timing.rows, strict=True):
        stalled = sum(row.stalls.get(reason, 0) for reason in (Reason.WAIT_VMEM, Reason.WAIT_LDS, Reason.LDS))
        assert sum(clocks for wait, clocks in timing.waits.items() if wait.at == op.index) == stalled
    for wait in stack.waits:
        assert program.ops[wait.source].unit in (Unit.VMEM, Unit.LDS)
    assert stack.causes["vmcnt"] == 0


def test_the_level_that_served_is_named() -> None:
    """The same line twice: the first load comes from HBM, the second from the L1."""
    program = Program()
    first, again, wait_first, wait_again = program.vmem(), program.vmem(), program.wait(vm=0), program.wait(vm=0)
    line = load(4, 4 * LANE)
    for op, access in ((first, line), (wait_first, None), (again, line), (wait_again, None)):
        program.add(op, access)
    _, stack = _traced(program, [program.wave()])
    assert {(wait.at, wait.source): wait.served_by for wait in stack.waits} == {
        (wait_first.index, first.index): "hbm",
        (wait_again.index, again.index): "l1",
    }
    assert stack.causes["vmcnt_hbm"] > 5 * stack.causes["vmcnt_l1"] > 0


def test_bank_conflicts_are_on_their_line() -> None:
    """Of two LDS instructions the one that walks a column conflicts; waits and conflict clocks name it."""
    program = Program()
    row, column = program.lds(), program.lds()
    wait_row, wait_column = program.wait(lgkm=0), program.wait(lgkm=0)
    for _ in range(50):
        program.add(row, read_lds(128, LANE * 16))
        program.add(wait_row)
        program.add(column, read_lds(128, LANE * 128))
        program.add(wait_column)
    waves = [program.wave()]
    timing, stack = _traced(program, waves)
    conflicting = [wait for wait in stack.waits if wait.cause == "lds_bank_conflict"]
    assert {(wait.at, wait.source) for wait in conflicting} == {(wait_column.index, column.index)}
    conflicts = bank_conflicts({0: waves}, 1)
    assert conflicts == {column.index: timing.bank_conflict_clocks}
    assert 0 < stack.causes["lds_bank_conflict"] <= timing.bank_conflict_clocks


def test_attributed_conflicts_are_what_a_conflict_free_lds_saves() -> None:
    """One wave that waits for every access: without conflicts it is shorter by the clocks booked, up to a turn each."""
    times = {}
    for stride in (16, 128):
        program = Program()
        lds, wait = program.lds(), program.wait(lgkm=0)
        for _ in range(50):
            program.add(lds, read_lds(128, LANE * stride))
            program.add(wait)
        times[stride] = _traced(program, [program.wave()])
    (bad, stack), (good, _) = times[128], times[16]
    assert bad.cycles - good.cycles == pytest.approx(stack.causes["lds_bank_conflict"], abs=50 * 4)


def test_barrier_skew_belongs_to_the_wave_that_waits() -> None:
    programs = []
    for steps in (1, 200):
        program = Program()
        valu, barrier = program.valu(), program.barrier()
        program.add(valu, times=steps)
        program.add(barrier)
        programs.append(program)
    waves = [program.wave(0, number) for number, program in enumerate(programs)]
    _, stack = _traced(programs[0], waves)
    assert stack.causes["barrier_skew"] == pytest.approx(4 * 199, abs=16)
    assert stack.by_op[1]["barrier_skew"] == stack.causes["barrier_skew"]


def test_a_matrix_stream_is_matrix() -> None:
    program = Program()
    program.add(program.matrix("mfma_32x32x8_bf16", 0, 600, 610), times=100)
    timing, stack = _traced(program, [program.wave(0, number) for number in range(4)])
    assert stack.causes["issue_matrix"] == 4 * 100 * 4
    assert stack.causes["issue_matrix"] + stack.causes["matrix_busy"] == pytest.approx(stack.total, rel=0.02)
    assert timing.utilisation["matrix"] == pytest.approx(1, rel=0.02)


def test_places_sum_to_the_instructions() -> None:
    program = _random_program(3)
    _, stack = _traced(program, [program.wave(0, number) for number in range(4)])
    places = {op.pc: f"k.py:{op.index // 3}" for op in program.ops if op.index != 1}
    found = stack.by_place(places, program.ops)
    assert sum(sum(parts.values()) for parts in found.values()) == pytest.approx(
        np.sum([sum(parts.values()) for parts in stack.by_op.values()])
    )
    assert sum(found[""].values()) == pytest.approx(sum(stack.by_op[1].values()))

"""Each idealisation must recover exactly the cost that was put into the program."""

from __future__ import annotations

import numpy as np
import pytest
from programs import LANE, Program, load, read_lds

from argus.clock.model import Resources
from argus.clock.program import Unit
from argus.clock.whatif import Change, what_if

ONE = Resources(vgprs=256, agprs=256)


def _changes(program: Program, waves: int = 4) -> tuple[int, dict[str, Change]]:
    base, changes = what_if(program.ops, {0: [program.wave(0, w) for w in range(waves)]}, ONE)
    assert [c.saved for c in changes] == sorted((c.saved for c in changes), reverse=True)
    return base.cycles, {change.name: change for change in changes}


def test_conflicts_are_the_cost() -> None:
    program = Program()
    program.add(program.lds(), read_lds(128, LANE * 128), times=100)
    program.add(program.wait(lgkm=0))
    base, changes = _changes(program)
    free = Program()
    free.add(free.lds(), read_lds(128, LANE * 16), times=100)
    free.add(free.wait(lgkm=0))
    assert changes["no bank conflicts"].cycles == _changes(free)[0]
    assert changes["no bank conflicts"].saved > 0.7
    assert changes["LDS twice as fast"].cycles == pytest.approx(base / 2, rel=0.05)
    assert changes["barriers free"].saved == 0


def test_memory_latency_is_the_cost() -> None:
    program = Program()
    op, wait = program.vmem(), program.wait(vm=0)
    for step in range(40):
        program.add(op, load(4, np.full(64, 4096 * step)))
        program.add(wait)
    base, changes = _changes(program, waves=1)
    assert base == pytest.approx(40 * 900, rel=0.05)
    assert changes["memory at L1 latency"].cycles == pytest.approx(40 * 126, rel=0.1)


def test_barriers_and_nops_are_the_cost() -> None:
    programs = []
    for number in range(2):
        program = Program()
        add, barrier, nop = program.valu(), program.barrier(), program.op("s_nop", Unit.NOP, amount=10)
        for step in range(20):
            program.add(add, times=100 if (step + number) % 2 else 1)
            program.add(barrier)
            program.add(nop)
        programs.append(program)
    waves = [program.wave(0, number) for number, program in enumerate(programs)]
    base, found = what_if(programs[0].ops, {0: waves}, ONE)
    changes = {change.name: change for change in found}
    assert base.cycles - changes["no s_nop"].cycles == pytest.approx(20 * 40, rel=0.05)
    assert changes["barriers free"].cycles == pytest.approx(4 * (1010 + 200), rel=0.05)


def test_matrix_bound() -> None:
    program = Program()
    matrix, add = program.matrix("mfma_32x32x8_bf16", 0, 600, 610), program.valu()
    for _ in range(50):
        program.add(matrix)
        program.add(add, times=20)
    base, changes = _changes(program)
    assert changes["matrix core only"].cycles == 50 * 32
    assert changes["issue turns only"].cycles == 50 * 21 * 4
    assert base >= 50 * 21 * 4

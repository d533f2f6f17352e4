"""Halves of the waves one barrier apart: checked, lowered, kept by the object, and judged by two executors.

A kernel writes rows into a ring of LDS slots and reads what the other half wrote. How many slots and barriers that
needs is known from brute force: the IR interpreter finds every race of the launch it runs, whatever the interleaving.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from argus import machine
from argus.check.engine import check, decide
from argus.check.rules.race_free import RaceFree
from argus.compile import compile_kernel
from argus.compile.decoded import decode
from argus.compile.recheck import recheck
from argus.ir import interp
from argus.ir.kernel import Kernel
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.passes.schedule import scheduled
from argus.lang import ProgramError, read

KERNELS = Path(__file__).parents[2] / "argus/kernels"
SOURCE = """
import argus as ag
from argus import f32

APART = ag.knob(True, legal=(False, True), why="halves of the waves one barrier apart")
SLOTS = ag.knob(3, legal=(2, 3, 4), why="slots of the ring")
BETWEEN = ag.knob(2, legal=(1, 2), why="barriers from the writes to the reads")
AFTER = ag.knob(1, legal=(0, 1, 2), why="barriers from the reads to the next turn")
MINE = ag.Owner(t=256, e=1, i="t + e*0")
THEIRS = ag.Owner(t=256, e=1, i="(t + 128)%256 + e*0")


@ag.kernel(threads=256, requires="N >= 1", example=dict(N=5))
def swapped(x: ag.In["N i=256", f32], y: ag.Out["N i=256", f32]):
    ag.grid(1)
    ring = ag.ring(SLOTS, s=(ag.Layout(i=(256, 4)), f32))

    def turns():
        for n in ag.range(N):
            ring[n].s.store(x[n].load(MINE, width=4), width=4)
            for again in range(BETWEEN):
                ag.barrier()
            y[n].store(ring[n].s.load(THEIRS, width=4), width=4)
            for again in range(AFTER):
                ag.barrier()

    if APART:
        with ag.opposite():
            turns()
    else:
        turns()
"""


def swapped(tmp: object, **settings: int | bool) -> Kernel:
    path = f"{tmp}/swapped.py"
    with open(path, "w") as file:
        file.write(SOURCE)
    return read(path, dict(settings))


def rows(count: int = 5) -> np.ndarray:
    return np.arange(count * 256, dtype=np.float32).reshape(count, 256)


FORMS = [
    pytest.param(apart, *rest, marks=() if apart else (pytest.mark.full,))
    for apart, *rest in product((False, True), (2, 3, 4), (1, 2), (0, 1, 2))
]


@pytest.mark.parametrize(("apart", "slots", "between", "after"), FORMS)
def test_the_rule_says_what_brute_force_says(
    tmp_path: object, apart: bool, slots: int, between: int, after: int
) -> None:
    kernel = swapped(tmp_path, APART=apart, SLOTS=slots, BETWEEN=between, AFTER=after)
    outcome = interp.run(insert_waits(kernel), {"x": rows(), "y": 0 * rows()}, {"N": 5})
    assert {h.kind for h in outcome.hazards} <= {"race"}
    wanted = "refuted" if outcome.hazards else "proved"
    assert {v.status for v in decide(insert_waits(kernel), [RaceFree()]).verdicts} == {wanted}


def test_the_object_keeps_the_halves_apart(tmp_path: object) -> None:
    kernel = swapped(tmp_path)
    made = compile_kernel(scheduled(kernel))
    code = decode(made.object, "swapped")
    first, last = code.loops[0]
    places = [n for n, kind in enumerate(code.kinds) if kind == "barrier"]
    assert len(places) == 5
    assert places[0] < first < places[1] < places[3] <= last < places[4]
    assert recheck(scheduled(kernel), made).proved
    x, y = rows(), 0 * rows()
    found = machine.load(made.object).kernel("swapped")((1, 1, 1), (256, 1, 1), x, y, np.int32(5), checks="all")
    assert not found.reports
    np.testing.assert_array_equal(y, x)


def test_the_machine_sees_the_race_of_a_gap_too_small(tmp_path: object) -> None:
    made = compile_kernel(scheduled(swapped(tmp_path, BETWEEN=1)))
    x, y = rows(), 0 * rows()
    found = machine.load(made.object).kernel("swapped")((1, 1, 1), (256, 1, 1), x, y, np.int32(5), checks="all")
    assert "ARG-M101" in {report.code for report in found.reports}


@pytest.mark.parametrize("apart", [False, True])
def test_a_matrix_product_in_opposite_phases_is_proved_and_right(apart: bool) -> None:
    kernel = read(str(KERNELS / "gemm_opposite.py"), {"OPPOSITE": apart})
    assert {v.status for v in check(scheduled(insert_waits(kernel))).verdicts} == {"proved"}
    dice = np.random.default_rng(0)
    a, b = (dice.integers(-3, 4, shape).astype(ml_dtypes.bfloat16) for shape in ((256, 128), (2048, 128)))
    c = np.zeros((256, 2048), ml_dtypes.bfloat16)
    made = machine.load(compile_kernel(scheduled(kernel)).object).kernel("gemm")
    options = machine.Options(checks="all", workgroups=[3])
    found = made((8, 1, 1), (512, 1, 1), a, b, c, *map(np.int32, (256, 128, 2048)), options=options)
    assert not found.reports
    want = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_array_equal(c[:, 768:1024], want[:, 768:1024].astype(ml_dtypes.bfloat16))


def test_a_barrier_under_a_condition_on_the_wave_is_still_refused(tmp_path: object) -> None:
    path = f"{tmp_path}/alone.py"
    with open(path, "w") as file:
        file.write(SOURCE.replace("    if APART:\n", "    if ag.wave() == 0:\n        ag.barrier()\n    if APART:\n"))
    with pytest.raises(ProgramError, match="AG506"):
        read(path)

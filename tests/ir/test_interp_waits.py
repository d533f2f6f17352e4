"""Wait insertion: results stay right, loads stay in flight, and taking any inserted wait away is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from argus.ir import ops
from argus.ir.build import IrBuilder
from argus.ir.interp import ADVERSARIES, InterpSchedule, run
from argus.ir.kernel import LANE, Kernel
from argus.ir.ops import Access, Op, Shared
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.types import NOWHERE, f32, i32
from argus.layout.expr import const
from tests.ir import samples
from tests.ir.test_interp import GEMM_SIZES, gemm_inputs, gemm_reference


def without(block: list[Op], victim: int) -> list[Op]:
    kept: list[Op] = []
    for op in block:
        if op.id == victim:
            continue
        kept.append(replace(op, body=without(op.body, victim)) if isinstance(op, ops.For) else op)
    return kept


def waits_of(kernel: Kernel) -> list[ops.Wait]:
    return [op for op in ops.walk(kernel.body) if isinstance(op, ops.Wait)]


@pytest.mark.parametrize("schedule", ADVERSARIES[:3], ids=str)
def test_programs_with_inserted_waits_compute_the_same(schedule: InterpSchedule) -> None:
    inputs = gemm_inputs()
    outcome = run(insert_waits(samples.gemm()), inputs, GEMM_SIZES, schedule=schedule)
    assert outcome.hazards == ()
    assert np.array_equal(outcome.arrays["C"].astype(np.float32), gemm_reference(inputs))


def test_loads_stay_in_flight() -> None:
    counts = [w.vm for w in waits_of(insert_waits(samples.gemm())) if w.vm is not None]
    assert counts[0] == 7, "the first of eight global loads is used while seven are outstanding"
    assert counts == sorted(counts, reverse=True)


def test_inserting_twice_changes_nothing() -> None:
    once = insert_waits(samples.gemm())
    assert insert_waits(once) is once


def test_ids_stay_unique() -> None:
    ids = [op.id for op in ops.walk(insert_waits(samples.gemm()).body)]
    assert len(ids) == len(set(ids))


def test_a_missing_wait_is_a_hazard() -> None:
    kernel = insert_waits(samples.vadd())
    (wait,) = waits_of(kernel)
    broken = replace(kernel, body=without(kernel.body, wait.id))
    x = np.ones(1024, dtype=np.float32)
    outcome = run(broken, {"x": x, "y": x}, {"N": 1024})
    assert {h.kind for h in outcome.hazards} == {"unwaited"}
    assert not np.array_equal(outcome.arrays["z"], x + x)


@pytest.mark.parametrize("which", [0, 5, -1])
def test_every_inserted_wait_of_the_gemm_is_needed(which: int) -> None:
    kernel = insert_waits(samples.gemm())
    broken = replace(kernel, body=without(kernel.body, waits_of(kernel)[which].id))
    assert "unwaited" in {h.kind for h in run(broken, gemm_inputs(), GEMM_SIZES).hazards}


@pytest.mark.parametrize("schedule", ADVERSARIES[:3], ids=str)
def test_a_renaming_of_a_renaming_made_after_the_wait_holds_what_arrived(schedule: InterpSchedule) -> None:
    """The first renaming is made while the load is outstanding and read by nobody before the second renames it."""
    x, z = samples.tensor("x", f32, ("N",), (const(256),)), samples.tensor("z", f32, ("N",), (const(256),), out=True)
    b = IrBuilder()
    with b.at(samples.at(1)):
        got = b.load(samples.access(x, (LANE * 4,), 4))
        turned = b.registers((got,), ((0, 3), (0, 2), (0, 1), (0, 0)))
        b.wait(vm=0)
        back = b.bitcast(b.bitcast(b.registers((turned,), ((0, 3), (0, 2), (0, 1), (0, 0))), i32), f32)
        b.store(samples.access(z, (LANE * 4,), 4), back)
    kernel = Kernel(
        name="twice", file="sample.py", source="", tensors=(x, z), scalars=(), shapes=(), knobs=(), settings={},
        requires=(), waves=1, grid=(const(1), const(1), const(1)), shared=(), body=b.body, span=NOWHERE,
        policies={"waits": "explicit"},
    )  # fmt: skip
    data = np.arange(256, dtype=np.float32)
    outcome = run(kernel, {"x": data}, {}, schedule=schedule)
    assert outcome.hazards == ()
    assert np.array_equal(outcome.arrays["z"], data)


@pytest.mark.parametrize("schedule", ADVERSARIES[:3], ids=str)
def test_what_a_guard_keeps_from_being_loaded_is_zero_and_counts_as_written(schedule: InterpSchedule) -> None:
    """Zeros of a guarded load go through LDS: reading them there is no read of unwritten memory."""
    x, z = samples.tensor("x", f32, ("N",), (const(64),)), samples.tensor("z", f32, ("N",), (const(64),), out=True)
    shared = Shared("s", f32, 256, 0)
    b = IrBuilder()
    with b.at(samples.at(1)):
        b.store(Access(shared, LANE * 4, 1), b.load(samples.access(x, (LANE,), 1, guard=LANE.lt(10))))
        b.barrier()
        b.store(samples.access(z, (LANE,), 1), b.load(Access(shared, LANE * 4, 1)))
    kernel = Kernel(
        name="guarded", file="sample.py", source="", tensors=(x, z), scalars=(), shapes=(), knobs=(), settings={},
        requires=(), waves=1, grid=(const(1), const(1), const(1)), shared=(shared,), body=b.body, span=NOWHERE,
    )  # fmt: skip
    outcome = run(kernel, {"x": np.ones(64, dtype=np.float32)}, {}, schedule=schedule, provenance=True)
    assert outcome.hazards == ()
    assert np.array_equal(outcome.arrays["z"], np.arange(64) < 10)

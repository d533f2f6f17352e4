"""The concrete interpreter against numpy, and its adversary against programs with a missing barrier or wait."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from argus.ir import ops
from argus.ir.build import IrBuilder
from argus.ir.interp import ADVERSARIES, TENSOR_SHIFT, InterpError, InterpSchedule, OpEvent, run
from argus.ir.kernel import LANE, Kernel, wave_variable
from argus.ir.ops import Access, Shared
from argus.ir.types import NOWHERE, f32, i32
from argus.layout.expr import const, var
from tests.ir import samples

GEMM_SIZES = {"M": 128, "N": 128, "K": 128}


def gemm_inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {name: rng.integers(-4, 5, (128, 128)).astype(np.float32).astype(ml_dtypes.bfloat16) for name in ("A", "B")}


def gemm_reference(inputs: dict[str, np.ndarray]) -> np.ndarray:
    product = inputs["A"].astype(np.float32) @ inputs["B"].astype(np.float32).T
    return product.astype(ml_dtypes.bfloat16).astype(np.float32)


@pytest.mark.parametrize("n", [4, 1024, 1028, 4096])
def test_vector_add_equals_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    outcome = run(samples.vadd(), {"x": x, "y": y}, {"N": n})
    assert np.array_equal(outcome.arrays["z"], x + y)
    assert outcome.hazards == ()
    assert (outcome.writes["z"] == 1).all()


@pytest.mark.parametrize("schedule", ADVERSARIES, ids=str)
def test_gemm_equals_numpy_under_every_adversary(schedule: InterpSchedule) -> None:
    inputs = gemm_inputs()
    outcome = run(samples.gemm(), inputs, GEMM_SIZES, schedule=schedule)
    assert np.array_equal(outcome.arrays["C"].astype(np.float32), gemm_reference(inputs))
    assert outcome.hazards == ()


@pytest.mark.parametrize("barriers", [(False, True), (True, False)])
def test_a_missing_barrier_is_a_race_and_changes_the_result(barriers: tuple[bool, bool]) -> None:
    inputs = gemm_inputs()
    reference = gemm_reference(inputs)
    kernel = samples.gemm(barriers=barriers)
    outcomes = [run(kernel, inputs, GEMM_SIZES, schedule=s) for s in ADVERSARIES]
    assert all(any(h.kind == "race" for h in o.hazards) for o in outcomes)
    assert any(not np.array_equal(o.arrays["C"].astype(np.float32), reference) for o in outcomes)


def test_another_swizzle_for_the_reader_changes_the_result_without_hazard() -> None:
    inputs = gemm_inputs()
    outcome = run(samples.gemm(reader_shift=1), inputs, GEMM_SIZES)
    assert outcome.hazards == ()
    assert not np.array_equal(outcome.arrays["C"].astype(np.float32), gemm_reference(inputs))


def test_provenance_follows_an_element_through_lds() -> None:
    kernel = samples.gemm()
    first = next(op for op in ops.walk(kernel.body) if isinstance(op, ops.Mfma))
    seen: list[tuple[int, int]] = []

    def watch(event: OpEvent) -> None:
        if event.wave == 0 and event.loops == {"kt": 1}:
            for register in event.operands[:2]:
                code = int(register.code[32, 0])
                seen.append((code >> TENSOR_SHIFT, code & ((1 << TENSOR_SHIFT) - 1)))

    run(kernel, {}, GEMM_SIZES, watch={first.id: watch}, provenance=True)
    assert seen == [(1, 72), (0, 72)], "lane 32 of the first MFMA holds B[0, 64+8] and A[0, 64+8]"


def exchange(bare: bool, explicit: bool, wait: bool) -> Kernel:
    """Wave w writes its lane numbers, waves meet, wave w reads what wave 1-w wrote."""
    out = samples.tensor("out", i32, ("I",), (const(128),), out=True)
    buffer = Shared("s", i32, 512, 0)
    wave = wave_variable(2)
    b = IrBuilder()
    mine = b.index(wave * 64 + LANE)
    b.store(Access(buffer, wave * 256 + LANE * 4, 1), mine)
    if wait:
        b.wait(lgkm=0)
    b.barrier(bare=bare)
    other = b.load(Access(buffer, (1 - wave) * 256 + LANE * 4, 1))
    if explicit and wait:
        b.wait(lgkm=0)
    b.store(samples.access(out, (wave * 64 + LANE,), 1), other)
    return Kernel(
        name="exchange", file="x.py", source="", tensors=(out,), scalars=(), shapes=(), knobs=(), settings={},
        requires=(), waves=2, grid=(const(1), const(1), const(1)), shared=(buffer,), body=b.body,
        policies={"waits": "explicit"} if explicit else {}, span=NOWHERE,
    )  # fmt: skip


def test_a_bare_barrier_orders_only_retired_accesses() -> None:
    expected = np.concatenate([np.arange(64, 128), np.arange(64)])
    good = run(exchange(bare=True, explicit=False, wait=True), {}, {})
    assert np.array_equal(good.arrays["out"], expected)
    assert good.hazards == ()
    bad = run(exchange(bare=True, explicit=False, wait=False), {}, {}, schedule=InterpSchedule("forward", "late"))
    assert {h.kind for h in bad.hazards} == {"race"}
    assert not np.array_equal(bad.arrays["out"], expected)


def test_a_register_read_before_its_wait_is_garbage() -> None:
    outcome = run(exchange(bare=False, explicit=True, wait=False), {}, {})
    assert "unwaited" in {h.kind for h in outcome.hazards}
    fine = run(exchange(bare=False, explicit=True, wait=True), {}, {})
    assert fine.hazards == ()


def test_sizes_that_break_the_requirements_are_refused() -> None:
    with pytest.raises(InterpError, match="requires"):
        run(samples.gemm(), {}, {"M": 100, "N": 128, "K": 64})
    with pytest.raises(InterpError, match="not given"):
        run(samples.vadd(), {}, {})


def test_lanes_that_disagree_on_one_address_are_reported() -> None:
    n = var("N", 1, 64)
    out = samples.tensor("out", f32, ("N",), (n,), out=True)
    b = IrBuilder()
    b.store(samples.access(out, (LANE // 2,), 1), b.convert(b.index(LANE), f32))
    kernel = Kernel(
        name="clash", file="x.py", source="", tensors=(out,), scalars=(), shapes=(n,), knobs=(), settings={},
        requires=(), waves=1, grid=(const(1), const(1), const(1)), shared=(), body=b.body, span=NOWHERE,
    )  # fmt: skip
    assert {h.kind for h in run(kernel, {}, {"N": 32}).hazards} == {"overlap"}

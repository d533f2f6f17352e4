"""Scheduling: every dependence kept, order inside a class kept, ratios met, results unchanged on the machine."""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np
import pytest

from argus.compile import CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.ir import ops
from argus.ir.build import IrBuilder
from argus.ir.kernel import LANE, Kernel
from argus.ir.ops import Access, Shared
from argus.ir.passes.schedule import dependences, interleave, pattern, scheduled
from argus.ir.types import NOWHERE, DType, bf16, f32
from argus.layout.expr import var
from tests.compile.harness import EXACT, NUMPY, kernel, lane_rows, launch, tensor
from tests.ir import samples


def random_region(seed: int) -> list[ops.Op]:
    """Loads, stores, arithmetic and matrix instructions on two LDS buffers and a tensor, randomly connected."""
    rng = random.Random(seed)
    b = IrBuilder()
    buffers = [Shared("p", f32, 4096, 0), Shared("q", f32, 4096, 4096)]
    x = tensor("x", f32, 4096)
    values = [b.constant(1.0, f32, 4)]
    acc = b.constant(0.0, f32, 16)
    for _ in range(rng.randint(5, 60)):
        kind = rng.choice(["read", "write", "load", "map", "mfma", "slice"])
        where = LANE * 16 + rng.choice([0, 1024, 2048])
        if kind == "read":
            values.append(b.load(Access(rng.choice(buffers), where, 4)))
        elif kind == "write":
            b.store(Access(rng.choice(buffers), where, 4), rng.choice(values))
        elif kind == "load":
            values.append(b.load(Access(x, where, 4, (LANE * 4,), 0)))
        elif kind == "map":
            values.append(b.map("add", rng.choice(values), rng.choice(values)))
        elif kind == "slice":
            values.append(b.registers((rng.choice(values),), ((0, 1), (0, 0), (0, 3), (0, 2))))
        else:
            a = b.convert(rng.choice(values), bf16)
            acc = b.mfma("mfma_32x32x8_bf16", a, a, acc)
    return b.body


@pytest.mark.parametrize("seed", range(40))
def test_laws(seed: int) -> None:
    before = random_region(seed)
    rows = [("mfma", 2), ("ds_read", 1), ("ds_write", 1)]
    after = interleave(list(before), rows)
    assert sorted(op.id for op in after) == sorted(op.id for op in before)
    position = {op.id: n for n, op in enumerate(after)}
    for op, needed in zip(before, dependences(before), strict=True):
        for m in needed:
            assert position[before[m].id] < position[op.id]
    for name, _ in rows:
        order = [op.id for op in after if op.issue_class == name]
        assert order == [op.id for op in before if op.issue_class == name]


def test_independent_work_comes_out_in_the_ratio_asked_for() -> None:
    b = IrBuilder()
    s = Shared("s", bf16, 4096, 0)
    fragment = b.constant(1.0, bf16, 4)
    acc = [b.constant(0.0, f32, 16) for _ in range(8)]
    for n in range(8):
        b.load(Access(s, LANE * 8 + 512 * n, 4))
    for n in range(8):
        b.mfma("mfma_32x32x8_bf16", fragment, fragment, acc[n])
    after = interleave(b.body, [("mfma", 2), ("ds_read", 1)])
    kinds = [op.issue_class for op in after if op.issue_class is not None]
    assert kinds == ["mfma", "mfma", "ds_read"] * 4 + ["ds_read"] * 4


def test_nothing_crosses_a_barrier() -> None:
    b = IrBuilder()
    s = Shared("s", f32, 4096, 0)
    first = b.load(Access(s, LANE * 4, 1))
    b.barrier()
    second = b.load(Access(s, LANE * 4 + 1024, 1))
    b.map("add", first, second)
    after = interleave(b.body, [("valu", 1), ("ds_read", 4)])
    assert [type(op).__name__ for op in after] == ["Load", "Barrier", "Load", "Map"]


def test_disjoint_ranges_of_one_buffer_are_independent_and_overlapping_buffers_are_not() -> None:
    b = IrBuilder()
    one, other, over = Shared("one", f32, 1024, 0), Shared("other", f32, 1024, 1024), Shared("over", f32, 1024, 512)
    value = b.constant(1.0, f32)
    b.store(Access(one, LANE * 4, 1), value)
    b.load(Access(one, LANE * 4 + 256, 1))
    b.load(Access(one, LANE * 4 + 128, 1))
    b.load(Access(other, LANE * 4, 1))
    b.store(Access(over, LANE * 4 + 600, 1), value)
    needs = dependences(b.body)
    assert needs[2] == []
    assert needs[3] == [1]
    assert needs[4] == []
    assert 4 in needs[5]


def test_explicit_order_and_its_mistakes() -> None:
    assert pattern({"order": "mfma*2 ds_read, mfma"}, NOWHERE) == [("mfma", 2), ("ds_read", 1), ("mfma", 1)]
    with pytest.raises(CompileError, match="C150"):
        pattern({"order": "mfma+2"}, NOWHERE)
    with pytest.raises(CompileError, match="C150"):
        pattern({"matrix": 2}, NOWHERE)


def scheduled_gemm() -> Kernel:
    """The sample GEMM with its fragment reads and matrix instructions in a schedule region."""
    made = samples.gemm()
    loop = next(op for op in made.body if isinstance(op, ops.For))
    last = max(n for n, op in enumerate(loop.body) if isinstance(op, ops.Barrier))
    inner = loop.body[last + 1 :]
    region = ops.Schedule(policy={"mfma": 2, "ds_read": 1}, body=inner, id=10_000, span=samples.at(18))
    loop.body = [*loop.body[: last + 1], region]
    return made


def test_a_scheduled_gemm_reads_ahead_and_still_multiplies() -> None:
    final = scheduled(scheduled_gemm()).kernel
    loop = next(op for op in final.body if isinstance(op, ops.For))
    kinds = [op.issue_class for op in loop.body if op.issue_class in ("mfma", "ds_read")]
    assert kinds != sorted(kinds, key=lambda k: k == "mfma"), "reads stand between matrix instructions"
    assert not any(isinstance(op, ops.Schedule) for op in ops.walk(final.body))
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((128, 128)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((128, 128), ml_dtypes.bfloat16)
    launch(scheduled_gemm(), a, b, c, 128, 128, 128)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c.astype(np.float64), exact, rtol=2.0**-8, atol=1e-3)


def test_a_region_without_matrix_work() -> None:
    b = IrBuilder()
    x, z = tensor("x", f32, 256), tensor("z", f32, 256, written=True)
    body: list[ops.Op] = []
    with b.into(body):
        value = b.load(lane_rows(x, 4))
        b.store(lane_rows(z, 4), b.map("add", value, value))
    b.append(ops.Schedule(policy={"valu": 1, "buffer_load": 1}, body=body))
    data, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    launch(kernel("region", [x, z], b), data, out)
    np.testing.assert_array_equal(out, 2 * data)


def test_arithmetic_passes_a_barrier_and_memory_does_not() -> None:
    b = IrBuilder()
    s = Shared("s", f32, 4096, 0)
    fragment, acc = b.constant(1.0, bf16, 4), b.constant(0.0, f32, 16)
    one = b.constant(2.0, f32)
    b.load(Access(s, LANE * 4, 1))
    for _ in range(2):
        acc = b.mfma("mfma_32x32x8_bf16", fragment, fragment, acc)
    b.barrier()
    b.load(Access(s, LANE * 4 + 1024, 1))
    b.mfma("mfma_32x32x8_bf16", fragment, fragment, acc)
    for _ in range(3):
        one = b.map("add", one, one)
    after = interleave(b.body, [("mfma", 1), ("valu", 1), ("ds_read", 1)])
    kinds = [op.issue_class for op in after if op.issue_class is not None]
    assert kinds == ["mfma", "valu", "ds_read", "mfma", "valu", "barrier", "mfma", "valu", "ds_read"]


def test_wide_arithmetic_is_spread_by_issue_slots() -> None:
    """Eight exponentials of four slots each between eight matrix instructions, four slots a round."""
    b = IrBuilder()
    x = tensor("x", f32, 512)
    fragment = b.constant(1.0, bf16, 4)
    body: list[ops.Op] = []
    value = b.load(lane_rows(x, 8))
    with b.into(body):
        for _ in range(8):
            b.mfma("mfma_32x32x8_bf16", fragment, fragment, b.constant(0.0, f32, 16))
        b.map("exp2", value)
    b.append(ops.Schedule(policy={"mfma": 1, "valu": 4}, body=body))
    final = scheduled(kernel("spread", [x], b)).kernel
    kinds = [op.issue_class for op in final.body if op.issue_class in ("mfma", "valu")]
    assert kinds == ["mfma", "valu"] * 8
    assert len({op.id for op in final.body}) == len(final.body)


@pytest.mark.parametrize(("dtype", "grain"), [(f32, 1), (bf16, 2)])
def test_wide_arithmetic_in_pieces_computes_the_same(dtype: DType, grain: int) -> None:
    b = IrBuilder()
    x, z = tensor("x", dtype, 448), tensor("z", bf16, 448, written=True)
    body: list[ops.Op] = []
    value = b.load(lane_rows(x, 7))
    with b.into(body):
        total = b.convert(b.map("add", value, b.map("mul", value, value)), bf16)
    b.append(ops.Schedule(policy={"mfma": 1, "valu": 4}, body=body))
    b.store(lane_rows(z, 7), total)
    made = kernel("pieces", [x, z], b)
    maps = [op for op in ops.walk(scheduled(made).kernel.body) if isinstance(op, ops.Map)]
    assert {op.result.count for op in maps} == ({1} if grain == 1 else {1, 2})
    data = np.linspace(-3, 3, 448).astype(NUMPY[dtype.name])
    out = np.zeros(448, ml_dtypes.bfloat16)
    launch(made, data, out, checks=EXACT)
    square = (data * data).astype(data.dtype)
    np.testing.assert_array_equal(out, (data + square).astype(ml_dtypes.bfloat16))


def test_arithmetic_stays_before_a_branch_that_does_not_need_it() -> None:
    """LLVM would sink the products behind the branch, to their only use."""
    b = IrBuilder()
    x, y, z = tensor("x", f32, 256), tensor("y", f32, 256, written=True), tensor("z", f32, 256, written=True)
    size = var("N", 1, 4096)
    value = b.load(lane_rows(x, 4))
    square = b.map("mul", value, value)
    then: list[ops.Op] = []
    with b.into(then):
        b.store(lane_rows(y, 4), value)
    b.branch(size.lt(7), True, then, [], (), ())
    b.store(lane_rows(z, 4), square)
    made = kernel("branch", [x, y, z], b, shapes=(size,))
    code = decode(compile_kernel(scheduled(made)).object, "branch")
    products = [n for n, inst in enumerate(code.insts) if inst.op.startswith(("v_mul_f32", "v_pk_mul_f32"))]
    branch = next(n for n in range(code.entry, len(code.insts)) if code.insts[n].op.startswith("s_cbranch"))
    assert products
    assert max(products) < branch
    data, kept, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32), np.zeros(256, np.float32)
    launch(made, data, kept, out, 8)
    np.testing.assert_array_equal(out, data * data)
    assert not kept.any()

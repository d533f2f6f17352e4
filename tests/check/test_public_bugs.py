"""Bugs that were reported in public, rebuilt as small kernels: each is refuted, its repair is proved.

triton #11696    a barrier between a read of LDS and its wait
https://github.com/triton-lang/triton/issues/11696 triton #9720     more pipeline stages than buffers
https://github.com/triton-lang/triton/pull/9720 iree #22669      no barrier before the prologue's write
https://github.com/iree-org/iree/pull/22669 triton #10290    operands advance k differently
https://github.com/triton-lang/triton/pull/10290 Ave GEMM         K % 64 required, two tiles per iteration: the last
tile is lost when their number is odd
                 https://github.com/causalflow-ai/avelang (python/avelang_kernels/amdgpu_gemm.py)
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from argus.check import Report, check
from argus.ir.build import Builder
from argus.ir.kernel import LANE, Kernel, wave_variable
from argus.ir.ops import Access, Op, Shared
from argus.ir.types import NOWHERE, i32
from argus.layout import expr as E
from argus.layout.expr import const, var
from tests.check.programs import MMA, WAVE, Gemm, place
from tests.ir.samples import access, at, tensor


def refuted_rules(report: Report) -> set[str]:
    return {v.rule for v in report.verdicts if v.status == "refuted"}


def pingpong(late_wait: bool) -> Kernel:
    """Waves exchange a value through one slot again and again; the barrier must come after the read has arrived."""
    n = var("N", 1, 64)
    out = tensor("out", i32, ("I",), (const(128),), out=True)
    s = Shared("s", i32, 512, 0)
    wave, j = wave_variable(2), var("j", 0, 64)
    b = Builder()
    with b.at(at(1)):
        value = b.index(wave * 64 + LANE)
        b.store(Access(s, wave * 256 + LANE * 4, 1), value)
        b.barrier()
    with b.at(at(2)), b.loop(j, 0, n, (value,)) as loop:
        with b.at(at(3)):
            got = b.load(Access(s, (1 - wave) * 256 + LANE * 4, 1))
        with b.at(at(4)):
            if late_wait:
                b.barrier(bare=True)
                b.wait(lgkm=0)
            else:
                b.wait(lgkm=0)
                b.barrier(bare=True)
        with b.at(at(5)):
            b.store(Access(s, wave * 256 + LANE * 4, 1), got)
        with b.at(at(6)):
            b.barrier()
        loop.yields(got)
    with b.at(at(7)):
        b.store(access(out, (wave * 64 + LANE,), 1), loop.outs[0])
    return Kernel(
        name="pingpong", file="x.py", source="", tensors=(out,), scalars=(), shapes=(n,), knobs=(), settings={},
        requires=(), waves=2, grid=(const(1), const(1), const(1)), shared=(s,), body=b.body, span=NOWHERE,
    )  # fmt: skip


def test_triton_11696_barrier_before_the_wait() -> None:
    report = check(pingpong(late_wait=True))
    (verdict,) = [v for v in report.verdicts if v.status == "refuted"]
    assert verdict.rule == "race_free"
    assert verdict.counterexample is not None
    assert [o.span.line for o in verdict.counterexample.operands] == [3, 5]  # type: ignore[union-attr]
    assert "race_free" not in refuted_rules(check(pingpong(late_wait=False)))


def ahead(depth: int, distance: int) -> Kernel:
    """A ring of `depth` slots filled `distance` tiles ahead of the reader."""
    g = Gemm(stages=depth)
    acc = g.zero()
    for tile in range(distance):
        g.publish(g.fetch(tile), tile % depth)
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps, (acc,)) as loop:
        g.barrier(4)
        block: list[Op] = []
        with g.builder.into(block):
            g.publish(g.fetch(g.kt + distance), (g.kt + distance) % depth)
        g.builder.branch((g.kt + distance).lt(g.steps), True, block, [])
        loop.yields(g.multiply(loop.args[0], g.kt % depth))
    g.finish(loop.outs[0])
    kernel = g.program("ahead", ((64, 32, 64),)).kernel
    return replace(kernel, requires=(*kernel.requires, g.k.ge(16 * distance)))


def test_triton_9720_more_stages_than_buffers() -> None:
    assert "race_free" in refuted_rules(check(ahead(depth=3, distance=3)))
    good = check(ahead(depth=3, distance=2))
    assert good.status == "proved", good.render()


def test_iree_22669_no_barrier_before_the_next_phase() -> None:
    kernel = _two_phases(barrier=False)
    assert "race_free" in refuted_rules(check(kernel))
    assert "race_free" not in refuted_rules(check(_two_phases(barrier=True)))


def _two_phases(barrier: bool) -> Kernel:
    g = Gemm()
    acc = g.zero()
    for phase in range(2):
        if phase and barrier:
            g.barrier(4)
        g.publish(g.fetch(phase))
        g.barrier(7)
        acc = g.multiply(acc)
    g.finish(acc)
    kernel = g.program("phases", ((64, 32, 32),)).kernel
    return replace(kernel, requires=(*kernel.requires, g.k.eq(32)))


def test_triton_10290_operands_advance_k_differently() -> None:
    """One operand is read eight wide (k = 8*half + 4*h + e), the other four wide (k = 8*h + 4*half + e)."""
    g = Gemm()
    acc = g.zero()
    g.publish(g.fetch(0))
    g.barrier(7)
    row_a, row_b, half = WAVE * 32 + LANE % 32, LANE % 32, LANE // 32
    with g.builder.at(at(8)):
        a = g.builder.load(Access(g.s_a, place(row_a, half), 8))
    for h in range(2):
        with g.builder.at(at(9)), g.builder.unrolled("h", h):
            b = g.builder.load(Access(g.s_b, place(row_b, h, 0, 32) + half * 8, 4))
        with g.builder.at(at(10)), g.builder.unrolled("h", h):
            acc = g.builder.mfma(MMA, b, g.builder.slice(a, 4 * h, 4), acc)
    g.finish(acc)
    kernel = g.program("kwidth", ((64, 32, 16),)).kernel
    report = check(replace(kernel, requires=(*kernel.requires, g.k.eq(16))))
    (verdict,) = [v for v in report.verdicts if v.rule == "conform"]
    assert verdict.status == "refuted"
    assert verdict.counterexample is not None
    b_side, a_side = verdict.counterexample.operands
    assert (b_side.coords["K"], a_side.coords["K"]) == (4, 8)
    assert b_side.thread == a_side.thread == 32


@pytest.mark.parametrize(("multiple", "status"), [(16, "refuted"), (32, "proved")])
def test_the_lost_k_tile_of_a_loop_with_step_two(multiple: int, status: str) -> None:
    g = Gemm()
    acc = g.zero()
    with g.builder.at(at(1)), g.builder.loop(g.kt, 0, g.steps - 1, (acc,), step=2) as loop:
        out = loop.args[0]
        for tile in range(2):
            values = g.fetch(g.kt + tile)
            g.barrier(4)
            g.publish(values)
            g.barrier(7)
            out = g.multiply(out)
        loop.yields(out)
    g.finish(loop.outs[0])
    kernel = g.program("ave", ((64, 32, 48),)).kernel
    requires = (*kernel.requires[:2], (g.k % multiple).eq(0), E.as_expr(g.k).ge(32))
    report = check(replace(kernel, requires=requires))
    (verdict,) = [v for v in report.verdicts if v.rule == "reduced"]
    assert verdict.status == status, report.render()
    if verdict.counterexample is not None:
        assert verdict.counterexample.sizes["K"] == 48
        assert verdict.counterexample.message == "K=32 is never accumulated"

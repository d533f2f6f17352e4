"""Stated rules and reports, each with a kernel that keeps it and one that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from argus.check import Verdict, check
from argus.ir import ops
from argus.ir.kernel import LANE, Kernel, wave_variable
from argus.ir.ops import Memory, Op
from argus.ir.passes.schedule import scheduled
from argus.ir.types import Span, Value
from argus.layout.expr import Expr, var
from tests.check.programs import PROGRAMS, ring
from tests.ir import samples

KT = var("kt", 0, 2**14)
Fact = Expr | str | int | tuple[Expr, ...]


def stating(kernel: Kernel, rule: str, *targets: Value | Memory | str, **args: Fact) -> Kernel:
    """The kernel with one more statement at its end."""
    statement = ops.Check(id=90_000, span=samples.at(50), rule=rule, targets=targets, args=dict(args))
    body: list[Op] = [*kernel.body, statement]
    return replace(kernel, body=body)


def verdicts(kernel: Kernel, rule: str) -> list[Verdict]:
    return [v for v in check(scheduled(kernel)).verdicts if v.rule == rule]


def status(kernel: Kernel, rule: str) -> set[str]:
    return {v.status for v in verdicts(kernel, rule)}


def test_the_swizzled_tile_has_no_bank_conflicts_and_a_shifted_reader_has() -> None:
    good = samples.gemm()
    assert status(stating(good, "bank_free", *good.shared), "bank_free") == {"proved"}
    bad = samples.gemm(reader_shift=1)
    (verdict,) = [v for v in verdicts(stating(bad, "bank_free", bad.shared[0]), "bank_free") if v.status == "refuted"]
    assert verdict.span.line == 19
    assert verdict.counterexample is not None
    assert len(verdict.counterexample.operands) == 2


@pytest.mark.parametrize(("width", "expected"), [(16, {"proved"}), (32, {"refuted"})])
def test_vector_width(width: int, expected: set[str]) -> None:
    kernel = samples.gemm()
    assert status(stating(kernel, "vector", kernel.shared[0], width=width), "vector") == expected


def test_coalesced_loads_and_scattered_stores() -> None:
    kernel = samples.gemm()
    assert status(stating(kernel, "coalesced", kernel.tensors[0]), "coalesced") == {"proved"}
    assert status(stating(kernel, "coalesced", kernel.tensors[2]), "coalesced") == {"refuted"}


def test_relations_between_index_expressions() -> None:
    kernel = samples.vadd()
    wave = wave_variable(4)
    assert status(stating(kernel, "same", exprs=(LANE // 8 * 8 + LANE % 8, LANE)), "same") == {"proved"}
    assert status(stating(kernel, "same", exprs=(LANE // 2 * 2, LANE)), "same") == {"refuted"}
    assert status(stating(kernel, "distinct", exprs=(wave * 64 + LANE,)), "distinct") == {"proved"}
    assert status(stating(kernel, "distinct", exprs=(wave * 32 + LANE,)), "distinct") == {"refuted"}
    (size,) = kernel.shapes
    assert status(stating(kernel, "invariant", exprs=((size % 2).eq(0),)), "invariant") == {"proved"}
    assert status(stating(kernel, "invariant", exprs=((size % 8).eq(0),)), "invariant") == {"refuted"}


def test_a_statement_nobody_understands_is_unknown() -> None:
    assert status(stating(samples.vadd(), "sparkles"), "sparkles") == {"unknown"}
    assert status(stating(samples.gemm(), "fresh", samples.gemm().shared[0], Q=KT * 64), "fresh") >= {"unknown"}
    assert status(stating(samples.vadd(), "bank_free"), "bank_free") == {"unknown"}


def test_a_stated_version_is_checked() -> None:
    kernel = samples.gemm()
    assert status(stating(kernel, "fresh", *kernel.shared, K=KT * 64), "fresh") == {"proved"}
    wrong = verdicts(stating(kernel, "fresh", kernel.shared[0], K=KT * 64 + 64), "fresh")
    (refuted,) = [v for v in wrong if v.status == "refuted"]
    assert refuted.counterexample is not None
    assert "another version" in refuted.counterexample.message


def test_a_ring_read_one_slot_late_is_refuted() -> None:
    kernel = ring().kernel
    kt = var("kt", 0, 2**13)

    def late(block: list[Op]) -> list[Op]:
        made: list[Op] = []
        for op in block:
            if isinstance(op, ops.For):
                op = replace(op, body=late(op.body))
            elif isinstance(op, ops.Load) and op.access.memory in kernel.shared:
                op = replace(op, access=replace(op.access, address=op.access.address.subst({kt: kt + 1})))
            made.append(op)
        return made

    assert check(scheduled(replace(kernel, body=late(kernel.body)))).status == "refuted"


def test_requirements_nobody_can_satisfy_prove_nothing() -> None:
    kernel = samples.vadd()
    (n,) = kernel.shapes
    report = check(scheduled(replace(kernel, requires=(n.lt(4), n.gt(8)))))
    assert report.status == "unknown"


def test_the_text_shows_the_source_line_with_carets() -> None:
    lines = ["# line"] * 21 + ["        acc = mfma(b, a, acc)"]
    kernel = replace(samples.gemm(reader_shift=1), source="\n".join(lines))
    for op in ops.walk(kernel.body):
        if op.span.line == 22:
            op.span = Span("sample.py", 22, 14, 22, 29)
    expected = """error[conform]: the operands of an MFMA do not pair the same K
  --> sample.py:22:15 in gemm
      |
   22 |         acc = mfma(b, a, acc)
      |               ^^^^^^^^^^^^^^^
      = where: M=128 N=128 K=64, block=(0,0,0), kt=0, ks=0, i=0, j=0, h=0, wave 0
      = a: thread 0 (lane 0) element 0 holds B[N=0, K=0], written at sample.py:16 by thread 0
      = b: thread 1 (lane 1) element 0 holds A[M=1, K=8], written at sample.py:15 by thread 9
      = help: """
    assert check(scheduled(kernel)).render().startswith(expected)


def test_a_race_is_a_table_with_a_column_per_thread() -> None:
    text = check(scheduled(samples.gemm(barriers=(False, True)))).render()
    assert (
        """      | thread 64      | thread 0
      | ---------------+---------------
      | wave 1, lane 0 | wave 0, lane 0
      | reads at kt=0  | writes at kt=1
      | sample.py:19   | sample.py:15
      | byte 0 of sA   | byte 0 of sA
"""
        in text
    )


def test_verdicts_do_not_depend_on_the_run() -> None:
    kernel = PROGRAMS["prefetch"]().kernel
    first, second = (
        [(v.rule, v.status, v.span.line, v.sites) for v in check(scheduled(kernel)).verdicts] for _ in range(2)
    )
    assert first == second

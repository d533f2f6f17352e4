"""The report counts what the disassembler counts and points at the right lines."""

from __future__ import annotations

from argus.compile import compile_kernel
from argus.compile.report import report, to_text
from argus.ir.passes.schedule import scheduled
from tests.compile.pipelined import Pipelined
from tests.ir import samples


def test_loop_table_of_the_gemm() -> None:
    kernel = samples.gemm()
    found = report(scheduled(kernel), compile_kernel(scheduled(kernel)))
    (loop,) = found.loops
    assert loop.classes["mfma"] == 32
    assert loop.matrix_clocks == 32 * 32
    assert loop.instructions == 88
    assert loop.span.line == 12
    assert sum(loop.waits.values()) == loop.classes["wait"]
    assert not found.stronger, "every wait is the one the data needs"


def test_text_and_json() -> None:
    kernel = samples.vadd()
    found = report(scheduled(kernel), compile_kernel(scheduled(kernel)))
    text = to_text(found, assembly=True)
    assert "buffer_store_dwordx4" in text
    stores = [line for line in text.splitlines() if "buffer_store" in line]
    assert stores[0].endswith("; sample.py:3")
    assert "s_nop" not in text, "the fallback prologue is not shown"
    assert found.to_json()["loops"] == []


def test_the_pipelined_loop_is_free_of_extra_waits() -> None:
    kernel = Pipelined(4).kernel()
    found = report(scheduled(kernel), compile_kernel(scheduled(kernel)))
    inside = [s for s in found.stronger if s.span.line == 2 and s.found[0] < 63]
    assert not inside, "no vmcnt in the loop beyond the plan"

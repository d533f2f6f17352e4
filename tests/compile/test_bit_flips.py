"""Single bits flipped in objects: refused, no longer shown, harmless, or arithmetic on data; never missed, never a
traceback.

A sample of `python -m bench.object_bit_flips`, and single flips that an earlier audit let pass."""

from __future__ import annotations

from functools import cache

import pytest

from argus.compile import Compiled, CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.compile.recheck import recheck
from argus.gfx942.inst import Inst
from argus.ir.stages import Scheduled
from bench.object_bit_flips import EVERY, flipped, run
from bench.object_fault_cases import FaultCase

SAMPLE = [case for case in EVERY if case.name != "gemm"]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_sample_of_bits(case: FaultCase) -> None:
    said: list[str] = []
    outcomes, _ = run(case, flips=12, seed=7, show=said.append)
    assert outcomes.total() == 12
    assert not outcomes["missed"], said
    assert not outcomes["traceback"], said
    assert outcomes["refused"] + outcomes["unknown"] > 0


@cache
def direct() -> tuple[Scheduled, Compiled, list[Inst]]:
    """The kernel whose odd lanes copy to LDS directly, while even ones go through a register."""
    program = next(case for case in EVERY if case.name == "direct").program()
    compiled = compile_kernel(program)
    code = decode(compiled.object, compiled.name)
    return program, compiled, code.insts[code.entry :]


def changed(op: str, word: int, bit: int) -> Compiled:
    """The object with a bit of the last instruction of this name flipped."""
    _, compiled, insts = direct()
    inst = [i for i in insts if i.op == op][-1]
    return flipped(compiled, 8 * inst.pc + 32 * word + bit)


def test_a_register_outside_the_allocation_is_refused() -> None:
    with pytest.raises(CompileError, match=r"C304.*the kernel has allocated 8 vector registers"):
        recheck(direct()[0], changed("buffer_store_dword", 1, 11))


def test_a_branch_that_is_not_followed_is_refused() -> None:
    with pytest.raises(CompileError, match=r"C310.*s_cbranch_cdbg"):
        recheck(direct()[0], changed("s_cbranch_execz", 0, 20))


def test_a_memory_instruction_that_is_not_known_is_refused() -> None:
    with pytest.raises(CompileError, match=r"C310.*buffer_store_format_d16_x"):
        recheck(direct()[0], changed("buffer_store_dword", 0, 22))


def test_a_stored_register_that_nothing_wrote_is_refused() -> None:
    with pytest.raises(CompileError, match=r"C309.*nothing has written"):
        recheck(direct()[0], changed("buffer_store_dword", 1, 10))


def test_a_stored_register_of_other_data_is_not_shown() -> None:
    program = next(case for case in EVERY if case.name == "vadd").program()
    compiled = compile_kernel(program)
    store = next(i for i in decode(compiled.object, compiled.name).insts if i.op == "buffer_store_dwordx4")
    found = recheck(program, flipped(compiled, 8 * store.pc + 32 + 10))
    assert any("its data is" in line for line in found.lines)

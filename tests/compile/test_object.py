"""The decoded object against the kernel: the library agrees; what was changed is named, with a launch that shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from argus.compile import Compiled, CompileError, compile_kernel
from argus.compile.decoded import decode
from argus.compile.matching import match
from argus.compile.object.agreement import agree
from argus.compile.object.control_flow import control_flow
from argus.compile.object.findings import Agreement
from argus.compile.recheck import recheck
from argus.gfx942.elf import parse_elf
from argus.ir.passes.schedule import scheduled
from argus.ir.stages import Scheduled
from argus.lang import read
from bench.object_fault_cases import CASES

KERNELS = Path(__file__).parents[2] / "argus/kernels"
LIBRARY = [
    ("vadd", None),
    ("gemm", None),
    ("gemm_opposite", None),
    ("transpose", None),
    ("softmax", "softmax_long"),
    ("layernorm", "layernorm"),
    ("moe", "combine"),
    ("matmul_tiles", "matmul_tiles"),
    ("matmul_direct", "matmul_direct"),
    ("fp8_gemm", "moe_gate_up"),
]


def made(file: Path, name: str | None) -> tuple[Scheduled, Compiled]:
    program = scheduled(read(str(file), kernel=name))
    return program, compile_kernel(program)


def compared(program: Scheduled, compiled: Compiled) -> Agreement:
    kernel = program.kernel
    code = decode(compiled.object, kernel.name)
    return agree(kernel, compiled.object, code, match(kernel, code, [(pc, op) for pc, op in compiled.sidecar["pcs"]]))


@pytest.mark.parametrize(("file", "name"), LIBRARY, ids=lambda v: str(v))
def test_every_access_of_the_library_is_shown_equal(file: str, name: str | None) -> None:
    found = compared(*made(KERNELS / f"{file}.py", name))
    assert found.accesses > 0
    assert not found.different
    assert not found.unknown
    assert found.equal.total() == found.accesses


def test_loops_and_branches_are_found_in_the_object() -> None:
    program, compiled = made(next(c for c in CASES if c.name == "branches").file, None)
    flow = control_flow(decode(compiled.object, program.kernel.name))
    assert len(flow.bodies) == 1
    found = compared(program, compiled)
    assert found.equal["induction"] > 0
    assert found.equal.total() == found.accesses


def patched(compiled: Compiled, pc: int, flip: int) -> Compiled:
    """The object with bits of the dword at `pc` of the kernel flipped."""
    source = parse_elf(compiled.object)
    symbol = next(s for s in source.symbols if s.name == compiled.name)
    section = source.sections[symbol.section]
    at = section.offset + symbol.value - section.address + pc
    word = int.from_bytes(compiled.object[at : at + 4], "little") ^ flip
    return replace(compiled, object=compiled.object[:at] + word.to_bytes(4, "little") + compiled.object[at + 4 :])


def test_another_offset_is_named_with_instruction_line_and_thread() -> None:
    program, compiled = made(KERNELS / "vadd.py", None)
    code = decode(compiled.object, "vadd")
    store = next(n for n, kind in enumerate(code.kinds) if kind == "store")
    with pytest.raises(CompileError) as caught:
        recheck(program, patched(compiled, code.insts[store].pc, 16))
    error = caught.value
    assert error.code == "C309"
    assert error.span.line == 17
    assert "buffer_store_dwordx4" in error.message
    assert error.notes[1] == "N=4, block (0, 0, 0), thread 0: the object has nothing, the kernel 0"


def test_another_size_in_the_resource_is_named() -> None:
    program, compiled = made(KERNELS / "vadd.py", None)
    code = decode(compiled.object, "vadd")
    size = next(inst for inst in code.insts if inst.op == "s_lshl_b32" and inst.operands[2].value == 2)
    with pytest.raises(CompileError, match="C309"):
        recheck(program, patched(compiled, size.pc, 1 << 8))


def test_the_report_says_how() -> None:
    program, compiled = made(KERNELS / "gemm.py", None)
    again = recheck(program, compiled)
    assert "accesses as in the kernel: 48 of 48" in again.describe()
    named = again.to_json()
    assert named["accesses"] == 48
    assert sum(named["equal"].values()) == 48
    assert named["unknown"] == []

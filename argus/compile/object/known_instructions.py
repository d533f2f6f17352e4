"""The closed list of instructions a compiled kernel may hold, and the registers it may name.

    s_cbranch_scc1        known: the control-flow graph follows it
    s_cbranch_cdbguser    not in the list: C310
    v_add_f16 v196, …     the descriptor allocates 8 vector registers: C304

Everything that reads an object (matching, arrivals, control flow, slices) rests on knowing every instruction in it. So
an opcode is refused unless it is one of these: scalar and vector arithmetic of the machine's semantic table, lane
exchange, matrix instructions, accesses of buffers, global memory and LDS, scalar loads (of arguments), the branches the
graph follows, barrier, wait, end, and what only passes time. That an opcode is known does not say that it is the right
one; that is for the steps after this one.

Registers are compared with the allocation that the kernel descriptor states, as the machine does when it executes them
(ARG-M108).
"""

from __future__ import annotations

from argus.compile.decoded import Decoded
from argus.compile.object.inputs import descriptor_of
from argus.gfx942.disasm import text as instruction_text
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.machine.register_file import RegisterFile
from argus.machine.semantics import LANE_OPS, MATRIX, MEMORY, SALU, VALU
from argus.machine.semantics.control import BARRIER, BRANCHES, WAIT

END = "s_endpgm"
PASSES_TIME = frozenset({"s_nop", "s_sleep", "s_setprio"})
ACCESSES = frozenset(
    name
    for name, row in MEMORY.items()
    if row.space in ("buffer", "global", "lds") or (row.space, row.kind) == ("scalar", "load")
)
KNOWN: frozenset[str] = (
    frozenset(SALU)
    | frozenset(VALU)
    | LANE_OPS
    | MATRIX
    | ACCESSES
    | frozenset(BRANCHES)
    | PASSES_TIME
    | {BARRIER, WAIT, END}
)


def refuse_unknown_instructions(kernel: Kernel, code_object: bytes, code: Decoded) -> None:
    """Raises CompileError: C310 for an opcode outside the list, C304 for a register outside the allocation."""
    allocated = RegisterFile.of(descriptor_of(code_object, kernel.name))
    for inst in code.insts:
        place = f"{instruction_text(inst)} at {inst.pc:#x}"
        if inst.op not in KNOWN:
            raise CompileError("C310", f"{place} is no instruction that compiled kernels consist of", kernel.span)
        beyond = allocated.beyond(inst)
        if beyond is not None:
            raise CompileError("C304", f"{place} {beyond}", kernel.span)

"""Wait states of the finished object: dependent instructions far enough apart on every path.

gfx942 does not interlock a matrix result that is read too early; the program must put other instructions or `s_nop`
between. LLVM inserts them, but its search over the predecessors of a block marks blocks as seen and keeps the first
distance it finds, so where two paths meet (the head of a loop, the end of a branch) it can miss the shorter one:

    v_mfma_f32_32x32x8_bf16 v[0:15], ...
    (4 instructions)
    loop:  v_cvt_f32_i32 v18, v17
           v_pk_add_f32 v[14:15], v[14:15], v[18:19]      6 wait states after the matrix instruction, 11 needed

Here the object is checked over all paths with the rules of `argus.gfx942.hazards`; what is missing is asked for
before the op that reads too early, and the kernel is compiled again. Where LLVM put `s_nop`s of its own, these are
asked for too: it counts ours and would leave out as many of its own. If that does not help after a few rounds it is an
error (C306).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.compile.decoded import decode
from argus.compile.matching import attribute
from argus.gfx942.hazards import violations
from argus.gfx942.inst import Inst
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel

ROUNDS = 4


def wanted(code_object: bytes, kernel: str, pcs: list[tuple[int, int]], given: Mapping[int, int]) -> dict[int, int]:
    """Op id -> wait states before it, where those given are too few; an instruction of no op asks before the next."""
    code = decode(code_object, kernel)
    op_of = attribute(code, pcs)
    place = {inst.pc: n for n, inst in enumerate(code.insts)}
    asked: dict[int, int] = {}
    for found in violations(code.insts):
        start = place[found.second.pc]
        op = next((op_of[n] for n in range(start, len(op_of)) if op_of[n] >= 0), -1)
        there = max(given.get(op, 0), _idle_before(code.insts, start))
        asked[op] = max(asked.get(op, 0), there + found.missing)
    return asked


def _idle_before(insts: Sequence[Inst], place: int) -> int:
    """Wait states of the `s_nop`s right before an instruction."""
    states = 0
    while place and insts[place - 1].op == "s_nop":
        place -= 1
        states += insts[place].operands[0].value + 1
    return states


def failure(kernel: Kernel, code_object: bytes) -> CompileError:
    first = violations(decode(code_object, kernel.name).insts)[0]
    return CompileError(
        "C306",
        f"{first.second.op} at {first.second.pc:#x} follows {first.first.op} after {first.states} wait states, "
        f"{first.rule.states} are needed",
        kernel.span,
        (first.rule.why,),
    )

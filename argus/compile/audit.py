"""Is the object what the kernel IR says? Decoded instruction by instruction; a difference is a compile error.

Checked on the bytes that will be loaded:

    C301  no scratch memory, no spilled registers (the compiler answers a shortage: `fitting`)
    C310  every instruction is one of a closed list, and names registers that the descriptor allocates
          (`object.known_instructions`; registers beyond are C304)
    C302  matrix, memory and barrier instructions are those of the IR, one to one and in order (`matching`)
    C303  no accumulator moves inside a loop that computes with the matrix unit; with agpr="operands" at most one for
          every four matrix instructions
    C304  LDS and descriptor as planned (`object.known_descriptor`), registers within the wave's budget
    C307  every register a load fills is waited for before it is touched, on every path (`arrivals`)
    C305  before every barrier and at every `Wait` the object waits at least as much as the IR says

Vector and scalar arithmetic may move between these instructions; LLVM may wait more than asked (a performance matter,
visible in the report).

What it does not do: it does not prove that addresses and data are right; `recheck` asks for addresses and for where
data comes from, and the machine runs the object for its arithmetic.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from argus.compile.arrivals import early_uses
from argus.compile.decoded import Decoded, decode
from argus.compile.matching import EVENTS, match
from argus.compile.object.known_descriptor import refuse_other_descriptors
from argus.compile.object.known_instructions import refuse_unknown_instructions
from argus.compile.registers import RegisterPlan
from argus.gfx942.disasm import text as instruction_text
from argus.gfx942.waits import Waits
from argus.gfx942.waits import decode as decode_wait
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.passes.liveness import live

MATRIX_PER_MOVE = 4
"""Where operands share both register files, a move for so many matrix instructions hides beside them."""


class ShortError(CompileError):
    """The object needs more registers than there are: `registers` at least so many more, `said` how it shows."""

    def __init__(self, code: str, kernel: Kernel, registers: int, said: str) -> None:
        self.registers = registers
        self.said = said
        super().__init__(code, said, kernel.span)


@dataclass(frozen=True, slots=True)
class Audit:
    """What the object holds; made only for objects that passed. `unneeded` are ops of loads LLVM left out; `pcs` the
    final table of instructions and ops."""

    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    classes: dict[str, int]
    metadata: dict[str, Any]
    unneeded: tuple[int, ...]
    pcs: list[tuple[int, int]]


def audit(kernel: Kernel, plan: RegisterPlan, code_object: bytes, pcs: list[tuple[int, int]]) -> Audit:
    """Check the object; raises CompileError at the first difference. `pcs` is what the line table says."""
    code = decode(code_object, kernel.name)
    _no_scratch(kernel, code)
    refuse_other_descriptors(kernel, code_object, code)
    refuse_unknown_instructions(kernel, code_object, code)
    matched = match(kernel, code, pcs)
    made_by = matched.op_of
    _no_accumulator_moves(kernel, plan, code)
    _as_planned(kernel, plan, code)
    _waits(kernel, code, made_by)
    _arrived(kernel, code, made_by)
    found = code.metadata
    agprs = int(found.get(".agpr_count", 0))
    return Audit(
        vgprs=int(found[".vgpr_count"]) - agprs,
        agprs=agprs,
        sgprs=int(found[".sgpr_count"]),
        lds_bytes=int(found[".group_segment_fixed_size"]),
        classes=code.classes,
        metadata=found,
        unneeded=matched.unneeded,
        pcs=matched.pcs(code),
    )


def _no_scratch(kernel: Kernel, code: Decoded) -> None:
    count = code.classes.get("scratch", 0)
    spilled = code.metadata.get(".vgpr_spill_count", 0)
    private = code.metadata.get(".private_segment_fixed_size", 0)
    if count or spilled or private:
        said = f"{spilled} registers do not fit and live in memory ({count} scratch instructions, {private} bytes)"
        raise ShortError("C301", kernel, spilled or private // 4, said)


def _no_accumulator_moves(kernel: Kernel, plan: RegisterPlan, code: Decoded) -> None:
    for first, last in code.loops:
        inside = Counter(code.kinds[first : last + 1])
        allowed = inside["mfma"] // MATRIX_PER_MOVE if plan.operands else 0
        if inside["mfma"] and inside["accmov"] > allowed:
            moves, matrix = inside["accmov"], inside["mfma"]
            said = f"{moves} moves between register files in a loop of {matrix} matrix instructions"
            raise ShortError("C303", kernel, (moves + 1) // 2, said)


def _as_planned(kernel: Kernel, plan: RegisterPlan, code: Decoded) -> None:
    lds = code.metadata[".group_segment_fixed_size"]
    if lds != kernel.lds_bytes:
        raise CompileError(
            "C304", f"the object allocates {lds} bytes of LDS, the kernel {kernel.lds_bytes}", kernel.span
        )
    registers = code.metadata[".vgpr_count"]
    if registers > plan.budget:
        said = f"the object uses {registers} registers, a wave has {plan.budget}"
        raise ShortError("C304", kernel, registers - plan.budget, said)


def _waits(kernel: Kernel, code: Decoded, made_by: list[int]) -> None:
    """Between the previous memory instruction and the barrier (or the next one), the waits together must be enough."""
    keep = live(kernel.body).ops
    for op in ops.walk(kernel.body):
        if op.id not in keep:
            continue
        if isinstance(op, ops.Barrier) and not op.bare:
            need = Waits(lgkm=0)
            places = [
                n for n, (k, by) in enumerate(zip(code.kinds, made_by, strict=True)) if (k, by) == ("barrier", op.id)
            ]
        elif isinstance(op, ops.Wait):
            need = Waits(**{key: value for key, value in (("vm", op.vm), ("lgkm", op.lgkm)) if value is not None})
            places = [
                n for n, (k, by) in enumerate(zip(code.kinds, made_by, strict=True)) if (k, by) == ("wait", op.id)
            ]
            places = places or [-1]
        else:
            continue
        for place in places:
            have = _waited(code, place) if place >= 0 else Waits()
            if have.vm > need.vm or have.lgkm > need.lgkm:
                raise CompileError(
                    "C305",
                    f"the kernel waits for vm {need.vm}, lgkm {need.lgkm}, the object vm {have.vm}, lgkm {have.lgkm}",
                    op.span,
                )


def _arrived(kernel: Kernel, code: Decoded, made_by: list[int]) -> None:
    early = early_uses(code)
    if early:
        first = early[0]
        by_id = {op.id: op for op in ops.walk(kernel.body)}
        place = {inst.pc: n for n, inst in enumerate(code.insts)}
        op = by_id.get(made_by[place[first.inst.pc]])
        raise CompileError(
            "C307",
            f"{instruction_text(first.inst)} at {first.inst.pc:#x} comes before its data ({first.counter}cnt)",
            op.span if op is not None else kernel.span,
        )


def _waited(code: Decoded, place: int) -> Waits:
    """The strongest wait since the last memory instruction before `place`, `place` included."""
    vm, lgkm = Waits().vm, Waits().lgkm
    for n in range(place, -1, -1):
        if n < place and code.kinds[n] in EVENTS - {"mfma", "prio", "barrier"}:
            break
        if code.kinds[n] == "wait" and code.insts[n].op == "s_waitcnt":
            waits = decode_wait(code.insts[n].operands[0].value)
            vm, lgkm = min(vm, waits.vm), min(lgkm, waits.lgkm)
    return Waits(vm=vm, lgkm=lgkm)

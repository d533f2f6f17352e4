"""Is the object what the kernel IR says? Decoded instruction by instruction; a difference is a compile error.

Checked on the bytes that will be loaded:

    C301  no scratch memory, no spilled registers
    C302  matrix, memory and barrier instructions: for every straight piece of the IR the same ones in the same order,
          in one piece, each at a pc that the line table attributes to the op that asked for it
    C303  no accumulator moves inside a loop that computes with the matrix unit
    C304  LDS as planned, registers within the wave's budget
    C305  before every barrier and at every `Wait` the object waits at least as much as the IR says

Vector and scalar arithmetic may move between these instructions; LLVM may wait more than asked (a performance matter,
visible in the report).

What it does not do: it does not prove that addresses and arithmetic are right; the machine runs the object for that.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from argus.compile.decoded import Decoded, decode
from argus.compile.errors import CompileError
from argus.compile.liveness import live
from argus.compile.memory import pieces
from argus.compile.registers import Plan
from argus.gfx942.waits import Waits
from argus.gfx942.waits import decode as decode_wait
from argus.ir import ops
from argus.ir.kernel import Kernel

EVENTS = frozenset(
    {"mfma", "ds_read", "ds_write", "ds_atomic", "load", "load_lds", "store", "atomic", "barrier", "prio"}
)


@dataclass(frozen=True, slots=True)
class Audit:
    """What the object holds; made only for objects that passed."""

    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    classes: dict[str, int]
    metadata: dict[str, Any]


def audit(kernel: Kernel, plan: Plan, code_object: bytes, pcs: list[tuple[int, int]]) -> Audit:
    """Check the object; raises CompileError at the first difference."""
    code = decode(code_object, kernel.name)
    made_by = attribute(code, pcs)
    _no_scratch(kernel, code)
    _same_instructions(kernel, code, made_by)
    _no_accumulator_moves(kernel, code)
    _as_planned(kernel, plan, code)
    _waits(kernel, code, made_by)
    found = code.metadata
    agprs = int(found.get(".agpr_count", 0))
    return Audit(
        vgprs=int(found[".vgpr_count"]) - agprs,
        agprs=agprs,
        sgprs=int(found[".sgpr_count"]),
        lds_bytes=int(found[".group_segment_fixed_size"]),
        classes=code.classes,
        metadata=found,
    )


def attribute(code: Decoded, pcs: list[tuple[int, int]]) -> list[int]:
    """The op of every instruction."""
    result: list[int] = []
    position, current = 0, -1
    for inst in code.insts:
        while position < len(pcs) and pcs[position][0] <= inst.pc:
            current = pcs[position][1]
            position += 1
        result.append(current)
    return result


def _no_scratch(kernel: Kernel, code: Decoded) -> None:
    count = code.classes.get("scratch", 0)
    spilled = code.metadata.get(".vgpr_spill_count", 0)
    private = code.metadata.get(".private_segment_fixed_size", 0)
    if count or spilled or private:
        raise CompileError(
            "C301",
            f"{spilled} registers do not fit and live in memory ({count} scratch instructions, {private} bytes)",
            kernel.span,
            ("smaller tiles, fewer values in flight, or accumulators in the other register file",),
        )


def expected(op: ops.Op, waves: int) -> list[str]:
    """The instruction classes an op becomes, in order; arithmetic is not listed. One wave needs no barrier."""
    match op:
        case ops.Mfma():
            return ["mfma"]
        case ops.Load() | ops.Store():
            count = len(pieces(op.access.count * op.access.memory.dtype.bytes))
            shared = isinstance(op.access.memory, ops.Shared)
            if isinstance(op, ops.Load):
                return ["ds_read" if shared else "load"] * count
            return ["ds_write" if shared else "store"] * count
        case ops.CopyToLds():
            return ["load_lds"]
        case ops.Atomic():
            pair = op.value.dtype.bits == 16
            count = op.access.count // 2 if pair else op.access.count
            return ["ds_atomic" if isinstance(op.access.memory, ops.Shared) else "atomic"] * count
        case ops.Barrier():
            return ["barrier"] if waves > 1 else []
        case ops.SetPrio():
            return ["prio"]
    return []


def segments(block: list[ops.Op]) -> list[list[ops.Op]]:
    """Straight-line pieces of the program: every block, cut at loops, branches and guarded LDS accesses."""
    piece: list[ops.Op] = []
    found = [piece]
    for op in block:
        if op.blocks:
            for inner in op.blocks:
                found += segments(inner)
        elif _branches(op):
            found.append([op])
        else:
            piece.append(op)
            continue
        piece = []
        found.append(piece)
    return [piece for piece in found if piece]


def _branches(op: ops.Op) -> bool:
    """A guarded access of LDS, or of pairs of bf16, is a branch around it."""
    if not isinstance(op, ops.Load | ops.Store | ops.Atomic):
        return False
    pairs = isinstance(op, ops.Atomic) and op.value.dtype.name == "bf16"
    return pairs or (isinstance(op.access.memory, ops.Shared) and op.access.guard is not None)


def _same_instructions(kernel: Kernel, code: Decoded, made_by: list[int]) -> None:
    """Segment by segment; LLVM may lay segments out in another order, but none may be torn apart."""
    keep = live(kernel.body).ops
    found = [(k, op) for k, op in zip(code.kinds, made_by, strict=True) if k in EVENTS]
    by_id = {op.id: op for op in ops.walk(kernel.body)}
    segment_of: dict[int, int] = {}
    total: Counter[tuple[str, int]] = Counter()
    for number, segment in enumerate(segments(kernel.body)):
        segment_of |= {op.id: number for op in segment}
        wanted = [(k, op.id) for op in segment if op.id in keep for k in expected(op, kernel.waves)]
        have = [event for event in found if segment_of.get(event[1]) == number]
        total.update(wanted)
        if wanted != have and not _only_unused_pieces_missing(wanted, have):
            _explain(by_id, wanted, have)
    surplus = Counter(found) - total
    if surplus:
        (name, op_id), count = next(iter(surplus.items()))
        span = by_id[op_id].span if op_id in by_id else kernel.span
        raise CompileError("C302", f"{count} {name} instructions belong to no op of the kernel", span)
    runs = [number for number, _ in groupby(found, key=lambda event: segment_of[event[1]])]
    torn = next((number for number, count in Counter(runs).items() if count > 1), None)
    if torn is not None:
        op = next(op for op in segments(kernel.body)[torn] if op.id in keep and expected(op, kernel.waves))
        raise CompileError(
            "C302", "instructions of this straight piece of code were moved past a loop or branch", op.span
        )


def _only_unused_pieces_missing(wanted: list[tuple[str, int]], have: list[tuple[str, int]]) -> bool:
    """A load of several instructions may lack those whose elements nobody reads; everything else must be there."""
    want_runs, have_runs = ([(event, len(list(run))) for event, run in groupby(events)] for events in (wanted, have))
    return len(want_runs) == len(have_runs) and all(
        event == event_ and (n == n_ or (event[0] in ("load", "ds_read") and n_ < n))
        for (event, n), (event_, n_) in zip(want_runs, have_runs, strict=True)
    )


def _explain(by_id: dict[int, ops.Op], wanted: list[tuple[str, int]], have: list[tuple[str, int]]) -> None:
    place = next((n for n, (a, b) in enumerate(zip(wanted, have, strict=False)) if a != b), min(len(wanted), len(have)))
    shown = wanted[place] if place < len(wanted) else have[place]
    got = f"{have[place][0]} of op {have[place][1]}" if place < len(have) else "nothing more"
    asked = f"{wanted[place][0]} of op {wanted[place][1]}" if place < len(wanted) else "nothing more"
    raise CompileError(
        "C302",
        f"instruction {place} of the block should be {asked}, the object has {got}",
        by_id[shown[1]].span,
        (f"{len(wanted)} instructions in the kernel's block, {len(have)} in the object's",),
    )


def _no_accumulator_moves(kernel: Kernel, code: Decoded) -> None:
    for first, last in code.loops:
        inside = Counter(code.kinds[first : last + 1])
        if inside["mfma"] and inside["accmov"]:
            raise CompileError(
                "C303",
                f"{inside['accmov']} moves between register files in a loop of {inside['mfma']} matrix instructions",
                kernel.span,
                ("the policy accumulators = 'agpr' or 'vgpr' chooses where they live",),
            )


def _as_planned(kernel: Kernel, plan: Plan, code: Decoded) -> None:
    lds = code.metadata[".group_segment_fixed_size"]
    if lds != kernel.lds_bytes:
        raise CompileError(
            "C304", f"the object allocates {lds} bytes of LDS, the kernel {kernel.lds_bytes}", kernel.span
        )
    registers = code.metadata[".vgpr_count"]
    if registers > plan.budget:
        raise CompileError("C304", f"the object uses {registers} registers, a wave has {plan.budget}", kernel.span)


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

"""Instruction against IR op, one to one: which op every matrix, memory and barrier instruction carries out.

The program is cut into straight segments (at loops, branches and guarded LDS accesses). LLVM may lay segments out in
another order, but inside each the same instructions must stand in the same order and in one piece. Two liberties of
LLVM are known and allowed:

  * a load or product that algebra makes superfluous (`x if x == y else y` is y) is left out, unless the kernel counts
    outstanding accesses in a wait: then the count would no longer mean what its author meant;
  * a narrow load merged with the truncation in its user carries the user's line; it is recognised by its class, which
    the user cannot have, and given back to the op at its position.

Anything else is C302.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from argus.compile.decoded import Decoded
from argus.compile.memory import by_sign
from argus.compile.tails import Tail, pieces, single_stores, tails
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.passes.liveness import live

EVENTS = frozenset(
    {"mfma", "ds_read", "ds_write", "ds_atomic", "load", "load_lds", "store", "atomic", "barrier", "prio"}
)
DROPPABLE = frozenset({"load", "ds_read", "mfma"})


@dataclass(frozen=True, slots=True)
class Match:
    """`op_of[n]` is the op of instruction n (-1: none); `part_of[n]` which of the op's instructions it is (`expected`);
    `unneeded` the loads that LLVM left out, wholly or partly."""

    op_of: list[int]
    part_of: dict[int, int]
    unneeded: tuple[int, ...]

    def pcs(self, code: Decoded) -> list[tuple[int, int]]:
        """The sidecar's table: (pc, op), one entry per change."""
        rows = [(inst.pc, op) for inst, op in zip(code.insts, self.op_of, strict=True)]
        return [next(group) for _, group in groupby(rows, key=lambda row: row[1])]


@dataclass(frozen=True, slots=True)
class _Event:
    place: int
    kind: str
    op: int


def match(kernel: Kernel, code: Decoded, pcs: list[tuple[int, int]]) -> Match:
    """Pair instructions with ops; raises CompileError C302 where they cannot be paired."""
    op_of = attribute(code, pcs)
    kept = live(kernel.body).ops
    cut_at = tails(kernel)
    by_id = {op.id: op for op in ops.walk(kernel.body)}
    found = [_Event(n, k, op_of[n]) for n, k in enumerate(code.kinds) if k in EVENTS]
    cut = segments(kernel.body)
    segment_of = {op.id: number for number, segment in enumerate(cut) for op in segment}
    stray = next((e for e in found if e.op not in segment_of), None)
    if stray is not None:
        raise CompileError("C302", f"a {stray.kind} instruction belongs to no op of the kernel", kernel.span)
    unneeded: list[int] = []
    part_of: dict[int, int] = {}
    for number, segment in enumerate(cut):
        wanted = [
            (k, op.id, part)
            for op in segment
            if op.id in kept
            for part, k in enumerate(expected(op, kernel.waves, cut_at.get(op.id, Tail.WHOLE)))
        ]
        have = [e for e in found if segment_of[e.op] == number]
        for event, op_id, part in _pair(wanted, have, by_id, kernel.waves, unneeded):
            op_of[event.place] = op_id
            part_of[event.place] = part
    _in_one_piece(kernel, found, cut, segment_of)
    if unneeded and _counts_accesses(kernel, kept):
        raise CompileError(
            "C302",
            "this load is superfluous and was left out, but the kernel waits for a number of outstanding accesses",
            by_id[unneeded[0]].span,
            ("without the load the number means something else; remove the load or its algebra",),
        )
    return Match(op_of, part_of, tuple(dict.fromkeys(unneeded)))


def attribute(code: Decoded, pcs: list[tuple[int, int]]) -> list[int]:
    """The op of every instruction, as the line table says."""
    result: list[int] = []
    position, current = 0, -1
    for inst in code.insts:
        while position < len(pcs) and pcs[position][0] <= inst.pc:
            current = pcs[position][1]
            position += 1
        result.append(current)
    return result


def expected(op: ops.Op, waves: int, tail: Tail = Tail.WHOLE) -> list[str]:
    """The instruction classes an op becomes, in order; arithmetic is not listed. One wave needs no barrier."""
    match op:
        case ops.Mfma():
            return ["mfma"]
        case ops.Load() | ops.Store():
            count = len(pieces(op.access, tail))
            shared = isinstance(op.access.memory, ops.Shared)
            if isinstance(op, ops.Load):
                return ["ds_read" if shared else "load"] * count
            return ["ds_write" if shared else "store"] * (count + single_stores(op.access, tail))
        case ops.CopyToLds():
            return ["load_lds"]
        case ops.Atomic():
            pair = op.value.dtype.bits == 16
            count = op.access.count // 2 if pair else op.access.count * (2 if by_sign(op) else 1)
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
        elif guarded_by_branch(op):
            found.append([op])
        else:
            piece.append(op)
            continue
        piece = []
        found.append(piece)
    return [piece for piece in found if piece]


def guarded_by_branch(op: ops.Op) -> bool:
    """A guarded access of LDS, or of pairs of bf16, is a branch around it."""
    if not isinstance(op, ops.Load | ops.Store | ops.Atomic):
        return False
    pairs = isinstance(op, ops.Atomic) and op.value.dtype.name == "bf16"
    return pairs or (isinstance(op.access.memory, ops.Shared) and op.access.guard is not None)


def _pair(
    wanted: list[tuple[str, int, int]], have: list[_Event], by_id: dict[int, ops.Op], waves: int, unneeded: list[int]
) -> list[tuple[_Event, int, int]]:
    """Walk both sequences; only loads may be missing."""
    pairs: list[tuple[_Event, int, int]] = []
    at = 0
    for event in have:
        misplaced = event.kind not in expected(by_id[event.op], waves)
        while at < len(wanted) and not (wanted[at][0] == event.kind and (misplaced or wanted[at][1] == event.op)):
            if wanted[at][0] not in DROPPABLE:
                raise _difference(wanted[at][:2], event, by_id)
            unneeded.append(wanted[at][1])
            at += 1
        if at == len(wanted):
            raise _difference(None, event, by_id)
        pairs.append((event, *wanted[at][1:]))
        at += 1
    for kind, op_id, _ in wanted[at:]:
        if kind not in DROPPABLE:
            raise _difference((kind, op_id), None, by_id)
        unneeded.append(op_id)
    return pairs


def _difference(wanted: tuple[str, int] | None, have: _Event | None, by_id: dict[int, ops.Op]) -> CompileError:
    asked = (
        f"the kernel's next instruction is {wanted[0]} of op {wanted[1]}" if wanted else "the kernel's code ends here"
    )
    got = (
        f"the object has {have.kind} of op {have.op} at instruction {have.place}" if have else "the object has no more"
    )
    place = by_id[wanted[1]] if wanted else by_id[have.op] if have else None
    if place is None:
        return CompileError("C302", f"{asked}, {got}")
    return CompileError("C302", f"{asked}, {got}", place.span)


def _in_one_piece(kernel: Kernel, found: list[_Event], cut: list[list[ops.Op]], segment_of: dict[int, int]) -> None:
    runs = Counter(number for number, _ in groupby(found, key=lambda event: segment_of[event.op]))
    torn = next((number for number, count in runs.items() if count > 1), None)
    if torn is not None:
        op = next(op for op in cut[torn] if expected(op, kernel.waves))
        raise CompileError(
            "C302", "instructions of this straight piece of code were moved past a loop or branch", op.span
        )


def _counts_accesses(kernel: Kernel, kept: frozenset[int]) -> bool:
    return any(isinstance(op, ops.Wait) and (op.vm or op.lgkm) for op in ops.walk(kernel.body) if op.id in kept)

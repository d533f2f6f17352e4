"""What an op's instructions are to do: which bytes of which memory, under which condition.

    store y[512*b] of 8 bf16, N odd        one of 16 bytes, in the lanes whose dwords are whole, and one of 2 bytes for
                                           the last element, in the lane that reaches it

One `AccessPart` per instruction of the op, in the order in which the compiler issues them (`argus.compile.matching`).
The condition is beside that of the branches around the op; `by_branch` says that the lanes that do not meet it are
switched off, else their offset is out of range or the buffer is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from argus.compile.address import Dwords, sized
from argus.compile.matching import guarded_by_branch
from argus.compile.memory import by_sign
from argus.compile.tails import Tail, pieces
from argus.ir import ops
from argus.ir.semantics import DWORD, extent_bytes
from argus.layout import expr as E
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class AccessPart:
    """One instruction: `width` bytes from byte `address` of `access.memory`, where `guard` holds.

    size     what a buffer's size must be given as; None for LDS
    dwords   how that counts a last dword that is filled in part
    data     the condition also depends on data, which is not followed
    """

    access: ops.Access
    address: Expr
    width: int
    guard: Expr
    by_branch: bool
    size: Expr | None = None
    whole: bool = True
    data: bool = False
    dwords: Dwords = "exact"


def parts(op: ops.Op, tail: Tail) -> list[AccessPart]:
    """The instructions of a memory op."""
    match op:
        case ops.Load() | ops.Store():
            return _plain(op, tail)
        case ops.CopyToLds():
            width = op.access.count * op.access.memory.dtype.bytes
            return [_part(op.access, op.access.address, width, "exact", by_branch=False)]
        case ops.Atomic():
            return _atomic(op)
        case (
            ops.Constant()
            | ops.Index()
            | ops.Symbol()
            | ops.Map()
            | ops.Convert()
            | ops.Bitcast()
            | ops.Registers()
            | ops.Lanes()
            | ops.Mfma()
            | ops.Instruction()
            | ops.Barrier()
            | ops.Wait()
            | ops.SetPrio()
            | ops.Tag()
            | ops.Check()
            | ops.For()
            | ops.If()
            | ops.Schedule()
        ):
            return []
        case _:
            assert_never(op)


def _part(
    access: ops.Access, address: Expr, width: int, dwords: Dwords, by_branch: bool, data: bool = False
) -> AccessPart:
    guard = E.TRUE if access.guard is None else access.guard
    size = sized(access.memory, dwords) if isinstance(access.memory, ops.Tensor) else None
    return AccessPart(access, address, width, guard, by_branch, size, data=data, dwords=dwords)


def _plain(op: ops.Load | ops.Store, tail: Tail) -> list[AccessPart]:
    access = op.access
    found: list[AccessPart] = []
    for start, width in pieces(access, tail):
        rounded = tail is Tail.ROUNDED and width >= DWORD and isinstance(access.memory, ops.Tensor)
        dwords: Dwords = "exact"
        if rounded:
            dwords = "up" if op.results else "down"
        found.append(_part(access, access.address + start, width, dwords, guarded_by_branch(op)))
        if rounded and not op.results:
            found += _last_elements(access, access.address + start, width)
    return found


def _last_elements(access: ops.Access, address: Expr, width: int) -> list[AccessPart]:
    """The stores of the elements of a dword that the tensor fills only in part."""
    tensor = access.memory
    assert isinstance(tensor, ops.Tensor)
    size = extent_bytes(tensor)
    last = size // DWORD * DWORD
    reached = E.FALSE
    for n in range(width // DWORD):
        reached = E.lor(reached, (last - address).eq(DWORD * n))
    if access.guard is not None:
        reached = E.land(reached, access.guard)
    two = AccessPart(access, last, 2, E.land(reached, (size % DWORD).ge(2)), False, size, whole=False)
    one = AccessPart(access, size - 1, 1, E.land(reached, (size % 2).eq(1)), False, size, whole=False)
    return [two, one] if tensor.dtype.bytes == 1 else [two]


def _atomic(op: ops.Atomic) -> list[AccessPart]:
    access, dtype = op.access, op.value.dtype
    pair = dtype.bits == 16 and dtype.kind == "float"
    width = DWORD if pair else dtype.bytes
    found: list[AccessPart] = []
    for n in range(access.count // 2 if pair else access.count):
        address = access.address + n * width
        part = _part(access, address, width, "exact", guarded_by_branch(op), data=by_sign(op))
        if isinstance(access.memory, ops.Tensor) and dtype.name == "bf16":
            inside = E.land(address.ge(0), address.lt(extent_bytes(access.memory)))
            part = AccessPart(access, address, width, E.land(part.guard, inside), True, part.size)
        found += [part] * (2 if by_sign(op) else 1)
    return found


def update_name(op: ops.Atomic, part: int) -> str:
    """The update of `argus.machine.semantics.atomics` that instruction `part` of an atomic op carries out."""
    dtype = op.value.dtype
    if by_sign(op):
        return (f"s{op.fn}32", {"max": "umin32", "min": "umax32"}[op.fn])[part % 2]
    if dtype.kind == "float":
        return f"pk_add_{dtype.name}" if dtype.bits == 16 else f"{op.fn}_{dtype.name}"
    sign = {"int": "s", "uint": "u"}[dtype.kind] if op.fn in ("max", "min") else ""
    return f"{sign}{op.fn}{dtype.bits}"

"""Which ops of a kernel matter: everything with an effect, and what computes its operands.

LLVM removes computations nobody uses; the audit counts instructions one by one. So ops without use are left out before
emission, and the audit expects exactly what was emitted. A loop-carried value that nothing reads after the loop, and
that only feeds itself, is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir import ops
from argus.ir.types import Value
from argus.layout.expr import Expr

_EFFECT = (ops.Store, ops.CopyToLds, ops.Atomic, ops.Barrier, ops.Wait, ops.SetPrio)


@dataclass(frozen=True, slots=True)
class LiveOps:
    """Ids of the ops to be emitted and the values somebody reads."""

    ops: frozenset[int]
    values: frozenset[Value]


def live(body: list[ops.Op]) -> LiveOps:
    """What is used; containers (For, If, Schedule) are kept when something inside is."""
    needed: set[Value] = set()
    names: set[str] = set()
    kept: set[int] = set()
    size = -1
    while size != len(kept) + len(needed) + len(names):
        size = len(kept) + len(needed) + len(names)
        _mark(body, needed, names, kept)
    return LiveOps(frozenset(kept), frozenset(needed))


def _mark(block: list[ops.Op], needed: set[Value], names: set[str], kept: set[int]) -> bool:
    any_kept = False
    for op in reversed(block):
        if _mark_op(op, needed, names, kept):
            kept.add(op.id)
            any_kept = True
    return any_kept


def _mark_op(op: ops.Op, needed: set[Value], names: set[str], kept: set[int]) -> bool:
    if isinstance(op, ops.Tag | ops.Check):
        return False
    if isinstance(op, ops.For):
        for arg, out, init, back in zip(op.args, op.outs, op.inits, op.yields, strict=True):
            if arg in needed or out in needed:
                needed |= {init, back}
        inside = _mark(op.body, needed, names, kept)
        if inside or any(out in needed for out in op.outs):
            names |= {v.name for e in expressions(op) for v in e.free()}
            return True
        return False
    if isinstance(op, ops.If):
        for out, *arms in zip(op.outs, op.then_yields, op.else_yields, strict=True):
            if out in needed and op.cond.op == "const":
                needed.add(arms[0] if op.cond.value else arms[1])
            elif out in needed:
                needed |= set(arms)
        arms_kept = [_mark(arm, needed, names, kept) for arm in taken(op)]
        keep = any(arms_kept) or any(out in needed for out in op.outs)
    elif isinstance(op, ops.Schedule):
        return _mark(op.body, needed, names, kept)
    elif isinstance(op, ops.Symbol):
        keep = op.symbol.name in names
    else:
        keep = isinstance(op, _EFFECT) or any(result in needed for result in op.results)
        keep = keep or (isinstance(op, ops.Instruction) and not op.outs)
    if isinstance(op, ops.Registers) and keep:
        needed |= {op.args[n] for n, _ in op.pick}
    elif keep:
        needed |= set(op.operands)
    if keep:
        names |= {v.name for e in expressions(op) for v in e.free()}
    return keep


def taken(op: ops.If) -> tuple[list[ops.Op], ...]:
    """The arms that can run: one if the condition is known."""
    if op.cond.op != "const":
        return op.then, op.orelse
    return (op.then,) if op.cond.value else (op.orelse,)


def expressions(op: ops.Op) -> list[Expr]:
    """Every index expression an op evaluates."""
    found: list[Expr] = []
    if isinstance(op, ops.Load | ops.Store | ops.CopyToLds | ops.Atomic):
        found += [op.access.address, *([op.access.guard] if op.access.guard is not None else [])]
    if isinstance(op, ops.CopyToLds):
        found.append(op.lds_base)
    if isinstance(op, ops.Index):
        found.append(op.expr)
    if isinstance(op, ops.Lanes):
        found.append(op.source)
    if isinstance(op, ops.For):
        found += [op.lo, op.hi]
    if isinstance(op, ops.If):
        found.append(op.cond)
    return found

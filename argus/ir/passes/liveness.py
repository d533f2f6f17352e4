"""Which ops of a kernel matter: everything with an effect, and what computes its operands.

LLVM removes computations nobody uses; the audit counts instructions one by one. So ops without use are left out before
emission, and the audit expects exactly what was emitted. A loop-carried value that nothing reads after the loop, and
that only feeds itself, is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value

LEFT_OUT = "left out"
"""Policy `arithmetic` of a kernel that was reduced to ops of the code: that nobody uses a load there says nothing."""


@dataclass(frozen=True, slots=True)
class LiveOps:
    """Ids of the ops to be emitted and the values somebody reads."""

    ops: frozenset[int]
    values: frozenset[Value]


def emitted(kernel: Kernel) -> frozenset[int]:
    """Ids of the ops that are in the code: of a kernel whose arithmetic was left out, all that it still has."""
    if kernel.policies.get("arithmetic") == LEFT_OUT:
        return frozenset(op.id for op in ops.walk(kernel.body))
    return live(kernel.body).ops


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
    if not op.code:
        return False
    keep = op.effect or any(result in needed for result in op.results)
    used = set(op.operands)
    match op:
        case ops.For():
            for arg, out, init, back in zip(op.args, op.outs, op.inits, op.yields, strict=True):
                if arg in needed or out in needed:
                    needed |= {init, back}
            keep = _mark(op.body, needed, names, kept) or keep
            used = set()
        case ops.If():
            for out, *arms in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                if out in needed and op.cond.op == "const":
                    needed.add(arms[0] if op.cond.value else arms[1])
                elif out in needed:
                    needed |= set(arms)
            inside = [_mark(arm, needed, names, kept) for arm in taken(op)]
            keep = keep or any(inside)
        case ops.Schedule():
            keep = _mark(op.body, needed, names, kept)
        case ops.Symbol():
            keep = op.symbol.name in names
        case ops.Registers():
            used = {op.args[n] for n, _ in op.pick}
        case (
            ops.Constant() | ops.Index() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Lanes() | ops.Mfma() |
            ops.Instruction() | ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Barrier() |
            ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check()
        ):  # fmt: skip
            pass
        case _:
            assert_never(op)
    if keep:
        needed |= used
        names |= {v.name for e in op.expressions for v in e.free()}
    return keep


def taken(op: ops.If) -> tuple[list[ops.Op], ...]:
    """The arms that can run: one if the condition is known."""
    if op.cond.op != "const":
        return op.then, op.orelse
    return (op.then,) if op.cond.value else (op.orelse,)

"""Numbers that must fit 32 bits: all of a kernel's, op by op.

Index expressions are evaluated as whole numbers. Where the machine's 32 bits would give another value
(`argus.ir.semantics.arithmetic`, `addresses`), a run has no meaning. The interpreter looks at these numbers while it
runs, and the first that does not fit is a hazard `wraps`; a launch with tensors of 2 GiB and more is asked whether all
of them fit at its sizes (`argus.compile.large_tensors`). Numbers that plainly fit, by the bounds of their variables,
are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, Op, Tensor
from argus.ir.semantics.addresses import LIMIT, buffer_parts, varying
from argus.ir.semantics.arithmetic import LEAST, Need, needs
from argus.ir.semantics.parts import visits
from argus.layout.expr import Expr

Watched = Mapping[int, tuple[tuple[Need, Expr | None], ...]]
"""Op id -> numbers to look at, each with the guard under which it counts."""


def watched_numbers(kernel: Kernel) -> Watched:
    """What every op of the kernel needs to fit."""
    found: dict[int, tuple[tuple[Need, Expr | None], ...]] = {}
    per_lane = varying(kernel)
    for op, loops in visits(kernel.body):
        rows = _numbers(op, per_lane, frozenset(loop.var.name for loop in loops))
        if rows:
            found[op.id] = rows
    return found


def _numbers(op: Op, per_lane: frozenset[str], loops: frozenset[str]) -> tuple[tuple[Need, Expr | None], ...]:
    match op:
        case ops.Index():
            return _plainly(needs(op.expr, whole=True))
        case ops.If():
            return _plainly(needs(op.cond))
        case ops.For():
            return _plainly(needs(op.lo, whole=True) + needs(op.hi + (op.step - 1), whole=True))
        case ops.Load() | ops.Store() | ops.Atomic():
            return _access(op.access, per_lane, loops)
        case ops.CopyToLds():
            return _access(op.access, per_lane, loops) + _plainly(needs(op.lds_base))
        case ops.Lanes():
            return _plainly(needs(op.source))
        case ops.Constant() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast() | ops.Registers() | ops.Mfma():
            return ()
        case ops.Instruction() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Schedule() | ops.Tag() | ops.Check():
            return ()
        case _:
            assert_never(op)


def _plainly(found: tuple[Need, ...]) -> tuple[tuple[Need, Expr | None], ...]:
    return tuple((need, None) for need in found)


def _access(access: Access, per_lane: frozenset[str], loops: frozenset[str]) -> tuple[tuple[Need, Expr | None], ...]:
    guard = () if access.guard is None else _plainly(needs(access.guard))
    inner = tuple((need, access.guard) for need in needs(access.address))
    if not isinstance(access.memory, Tensor):
        return guard + inner
    parts = buffer_parts(access, per_lane, loops)
    far = Need(parts.offset, LEAST, LIMIT - access.count * access.memory.dtype.bytes)
    return guard + inner + (() if parts.plain else ((far, access.guard),))

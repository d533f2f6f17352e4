"""A kernel reduced to its memory accesses: what is loaded, stored and waited for, without the arithmetic.

    skeleton(kernel)     loads, LDS stores and what computes their data, symbols, barriers, waits, loops, branches

Hazards are questions about addresses, order and waits. Values matter only where they are stored to LDS or become
indices; what feeds those stays, everything else (matrix products, softmax, epilogue) goes. Stores to global memory
keep their place and address and get a constant as data. Asking the hazard rules about the skeleton of an attention
kernel takes a twentieth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.split_wide_ops import Numbers
from argus.ir.types import Value

_ALWAYS = (ops.Load, ops.CopyToLds, ops.Barrier, ops.Wait, ops.Symbol, ops.SetPrio)


def skeleton(kernel: Kernel) -> Kernel:
    """The kernel without arithmetic that no LDS store and no index depends on."""
    needed: set[Value] = set()
    size = -1
    while size != len(needed):
        size = len(needed)
        for op in ops.walk(kernel.body):
            needed |= _feeds(op, needed)
    return replace(kernel, body=_reduced(kernel.body, needed, Numbers(kernel)))


def _to_lds(op: ops.Op) -> bool:
    return isinstance(op, ops.Store | ops.Atomic) and isinstance(op.access.memory, ops.Shared)


def _feeds(op: ops.Op, needed: set[Value]) -> set[Value]:
    """What an op needs, given what is needed of it."""
    if isinstance(op, ops.For):
        rows = zip(op.args, op.outs, op.inits, op.yields, strict=True)
        return {v for arg, out, *sources in rows if arg in needed or out in needed for v in sources}
    if isinstance(op, ops.If):
        return {
            v for out, *arms in zip(op.outs, op.then_yields, op.else_yields, strict=True) if out in needed for v in arms
        }
    if isinstance(op, ops.Symbol) or _to_lds(op) or any(result in needed for result in op.results):
        return set(op.operands)
    return set()


def _reduced(block: list[ops.Op], needed: set[Value], numbers: Numbers) -> list[ops.Op]:
    made: list[ops.Op] = []
    for op in block:
        if isinstance(op, ops.For):
            keep = [n for n, (arg, out) in enumerate(zip(op.args, op.outs, strict=True)) if {arg, out} & needed]
            made.append(
                replace(
                    op,
                    body=_reduced(op.body, needed, numbers),
                    inits=_chosen(op.inits, keep),
                    args=_chosen(op.args, keep),
                    yields=_chosen(op.yields, keep),
                    outs=_chosen(op.outs, keep),
                )
            )
        elif isinstance(op, ops.If):
            keep = [n for n, out in enumerate(op.outs) if out in needed]
            then, orelse = _reduced(op.then, needed, numbers), _reduced(op.orelse, needed, numbers)
            if not (then or orelse or keep):
                continue
            made.append(
                replace(
                    op,
                    then=then,
                    orelse=orelse,
                    then_yields=_chosen(op.then_yields, keep),
                    else_yields=_chosen(op.else_yields, keep),
                    outs=_chosen(op.outs, keep),
                )
            )
        elif isinstance(op, ops.Store | ops.Atomic) and not _to_lds(op):
            if op.value not in needed:
                blank = ops.Constant(
                    id=next(numbers.op), span=op.span, value=0, result=numbers.value(op.value, op.value.count)
                )
                made += [blank, replace(op, value=blank.result)]
            else:
                made.append(op)
        elif isinstance(op, _ALWAYS) or _to_lds(op) or any(result in needed for result in op.results):
            made.append(op)
    return made


def _chosen(values: Sequence[Value], keep: list[int]) -> tuple[Value, ...]:
    return tuple(values[n] for n in keep)

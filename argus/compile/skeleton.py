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
from typing import assert_never

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.passes.liveness import LEFT_OUT, emitted
from argus.ir.passes.split_wide_ops import Numbers
from argus.ir.types import Value


def skeleton(kernel: Kernel) -> Kernel:
    """The kernel without arithmetic that no LDS store and no index depends on."""
    code, needed = emitted(kernel), set[Value]()
    size = -1
    while size != len(needed):
        size = len(needed)
        for op in ops.walk(kernel.body):
            needed |= _feeds(op, needed) if op.id in code else set()
    policies = {**kernel.policies, "arithmetic": LEFT_OUT}
    return replace(kernel, body=_reduced(kernel.body, needed, code, Numbers(kernel)), policies=policies)


def _to_lds(op: ops.Op) -> bool:
    return any(part.writes and part.space == "lds" for part in op.footprints)


def _feeds(op: ops.Op, needed: set[Value]) -> set[Value]:
    """What an op needs, given what is needed of it."""
    if op.control is not ops.Control.NONE:
        return {v for handed, sources in op.sources if handed in needed for v in sources}
    if op.binds or _to_lds(op) or any(result in needed for result in op.results):
        return set(op.operands)
    return set()


def _reduced(block: list[ops.Op], needed: set[Value], code: frozenset[int], numbers: Numbers) -> list[ops.Op]:
    return [made for op in block if op.id in code for made in _kept(op, needed, code, numbers)]


def _kept(op: ops.Op, needed: set[Value], code: frozenset[int], numbers: Numbers) -> list[ops.Op]:
    """What is left of an op."""
    match op:
        case ops.For():
            keep = [n for n, (arg, out) in enumerate(zip(op.args, op.outs, strict=True)) if {arg, out} & needed]
            body = _reduced(op.body, needed, code, numbers)
            inits, args = _chosen(op.inits, keep), _chosen(op.args, keep)
            yields, outs = _chosen(op.yields, keep), _chosen(op.outs, keep)
            return [replace(op, body=body, inits=inits, args=args, yields=yields, outs=outs)]
        case ops.If():
            keep = [n for n, out in enumerate(op.outs) if out in needed]
            then, orelse = _reduced(op.then, needed, code, numbers), _reduced(op.orelse, needed, code, numbers)
            if not (then or orelse or keep):
                return []
            sides, outs = (_chosen(op.then_yields, keep), _chosen(op.else_yields, keep)), _chosen(op.outs, keep)
            return [replace(op, then=then, orelse=orelse, then_yields=sides[0], else_yields=sides[1], outs=outs)]
        case ops.Schedule():
            return [replace(op, body=_reduced(op.body, needed, code, numbers))]
        case ops.Store() | ops.Atomic():
            if _to_lds(op) or op.value in needed:
                return [op]
            result = numbers.value(op.value, op.value.count)
            blank = ops.Constant(id=next(numbers.op), span=op.span, value=0, result=result)
            return [blank, replace(op, value=blank.result)]
        case ops.Load() | ops.CopyToLds() | ops.Barrier() | ops.Wait() | ops.Symbol() | ops.SetPrio():
            return [op]
        case (
            ops.Constant()
            | ops.Index()
            | ops.Map()
            | ops.Convert()
            | ops.Bitcast()
            | ops.Registers()
            | ops.Lanes()
            | ops.Mfma()
            | ops.Instruction()
            | ops.Tag()
            | ops.Check()
        ):
            return [op] if any(result in needed for result in op.results) else []
        case _:
            assert_never(op)


def _chosen(values: Sequence[Value], keep: list[int]) -> tuple[Value, ...]:
    return tuple(values[n] for n in keep)

"""Wide arithmetic cut into pieces of one register, so that a schedule can put matrix instructions between them.

    %9:f32x16 = map exp2 (%8)             16 instructions in one op: no place for anything between them

becomes, inside a `schedule` region whose pattern names `valu`,

    %20:f32x1 = registers (%8) [0:0]      %21:f32x1 = map exp2 (%20)
    ...                                   ...
    %9:f32x16 = registers (%21, ...)      the old value, made of the pieces

Register picks cost nothing, so the work is the same; only its grain changes. A piece is one 32-bit register of the
widest operand or result that is narrower than 32 bits: two elements when f32 becomes bf16, one for f32 alone. Packed
f32 instructions are not chosen for single registers; beside the matrix unit that is right, because they cannot run
while it does.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value

REGISTER_BITS = 32


class Numbers:
    """Ids for new ops and values of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        every = list(ops.walk(kernel.body))
        values = [v.id for op in every for v in (*op.operands, *op.results)]
        self.op = count(max((op.id for op in every), default=0) + 1)
        self._value = count(max(values, default=0) + 1)

    def value(self, like: Value, elements: int) -> Value:
        return Value(next(self._value), like.dtype, elements)


def narrowed(block: list[ops.Op], numbers: Numbers) -> list[ops.Op]:
    """The block with its wide elementwise ops in pieces; everything else as it was."""
    result: list[ops.Op] = []
    for op in block:
        if isinstance(op, ops.Map | ops.Convert) and op.result.count > grain(op):
            result += _pieces(op, numbers)
        else:
            result.append(op)
    return result


def grain(op: ops.Map | ops.Convert) -> int:
    """Elements of one piece."""
    widths = [v.dtype.bits for v in (*op.operands, op.result) if v.dtype.kind != "bool"]
    return max(1, REGISTER_BITS // min(widths, default=REGISTER_BITS))


def _pieces(op: ops.Map | ops.Convert, numbers: Numbers) -> list[ops.Op]:
    made: list[ops.Op] = []
    parts: list[Value] = []
    size, total = grain(op), op.result.count
    for first in range(0, total, size):
        elements = range(first, min(first + size, total))
        args: list[Value] = []
        for value in op.operands:
            part = numbers.value(value, len(elements))
            args.append(part)
            made.append(
                ops.Registers(
                    id=next(numbers.op),
                    span=op.span,
                    site=op.site,
                    result=part,
                    args=(value,),
                    pick=tuple((0, n) for n in elements),
                )
            )
        parts.append(numbers.value(op.result, len(elements)))
        made.append(_alike(op, next(numbers.op), tuple(args), parts[-1]))
    picks = tuple((n // size, n % size) for n in range(total))
    return [*made, ops.Registers(id=op.id, span=op.span, site=op.site, result=op.result, args=tuple(parts), pick=picks)]


def _alike(op: ops.Map | ops.Convert, number: int, args: tuple[Value, ...], result: Value) -> ops.Op:
    if isinstance(op, ops.Map):
        return replace(op, id=number, args=args, result=result)
    return replace(op, id=number, value=args[0], result=result)

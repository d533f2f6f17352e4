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
from typing import assert_never

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value

REGISTER_BITS = 32
Elementwise = ops.Map | ops.Convert


class Numbers:
    """Ids for new ops and values of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        every = list(ops.walk(kernel.body))
        values = [v.id for op in every for v in (*op.operands, *op.results)]
        self.op = count(max((op.id for op in every), default=0) + 1)
        self._value = count(max(values, default=0) + 1)

    def value(self, like: Value, elements: int) -> Value:
        return Value(next(self._value), like.dtype, elements)


def split_wide(block: list[ops.Op], numbers: Numbers) -> list[ops.Op]:
    """The block with its wide elementwise ops in pieces; everything else as it was."""
    result: list[ops.Op] = []
    chain: list[Elementwise] = []
    for op in block:
        wide = _wide(op)
        if chain and not (wide and _continues(chain, wide)):
            result += _pieces(chain, numbers)
            chain = []
        if wide:
            chain.append(wide)
        else:
            result.append(op)
    return result + _pieces(chain, numbers) if chain else result


def _wide(op: ops.Op) -> Elementwise | None:
    """The op, if it is elementwise and of more than one piece."""
    match op:
        case ops.Map() | ops.Convert():
            return op if op.result.count > grain(op) else None
        case (
            ops.Constant() | ops.Index() | ops.Symbol() | ops.Bitcast() | ops.Registers() | ops.Lanes() | ops.Mfma() |
            ops.Instruction() | ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Barrier() |
            ops.Wait() | ops.SetPrio() | ops.For() | ops.If() | ops.Schedule() | ops.Tag() | ops.Check()
        ):  # fmt: skip
            return None
        case _:
            assert_never(op)


def _continues(chain: list[Elementwise], op: Elementwise) -> bool:
    """An op cut like those before it that uses the last one: their pieces take turns, so that what goes from one to
    the other lives shortly (a comparison and the choice by it: one mask at a time)."""
    last = chain[-1]
    return last.result in op.operands and op.result.count == last.result.count and grain(op) == grain(last)


def grain(op: Elementwise) -> int:
    """Elements of one piece."""
    widths = [v.dtype.bits for v in (*op.operands, op.result) if v.dtype.kind != "bool"]
    return max(1, REGISTER_BITS // min(widths, default=REGISTER_BITS))


def _pieces(chain: list[Elementwise], numbers: Numbers) -> list[ops.Op]:
    made: list[ops.Op] = []
    size, total = grain(chain[0]), chain[0].result.count
    parts: dict[Value, list[Value]] = {op.result: [] for op in chain}
    for first in range(0, total, size):
        elements = range(first, min(first + size, total))
        for op in chain:
            args: list[Value] = []
            for value in op.operands:
                if value in parts:
                    args.append(parts[value][first // size])
                    continue
                args.append(numbers.value(value, len(elements)))
                picks = tuple((0, n) for n in elements)
                made.append(_picked(op, next(numbers.op), args[-1], (value,), picks))
            parts[op.result].append(numbers.value(op.result, len(elements)))
            made.append(_alike(op, next(numbers.op), tuple(args), parts[op.result][-1]))
    picks = tuple((n // size, n % size) for n in range(total))
    return [*made, *(_picked(op, op.id, op.result, tuple(parts[op.result]), picks) for op in chain)]


def _picked(
    op: ops.Op, number: int, result: Value, args: tuple[Value, ...], picks: tuple[tuple[int, int], ...]
) -> ops.Registers:
    return ops.Registers(id=number, span=op.span, site=op.site, result=result, args=args, pick=picks)


def _alike(op: Elementwise, number: int, args: tuple[Value, ...], result: Value) -> ops.Op:
    match op:
        case ops.Map():
            return replace(op, id=number, args=args, result=result)
        case ops.Convert():
            return replace(op, id=number, value=args[0], result=result)
        case _:
            assert_never(op)

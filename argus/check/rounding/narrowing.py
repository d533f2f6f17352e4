"""Values that a kernel rounds to a narrow type in the middle of its arithmetic.

x.to(bf16) * y              narrowed: a bf16 number goes into arithmetic
ag.mfma(p.to(bf16), v, o)   not: a factor of a matrix product
acc.to(bf16), stored        not: the rounding of the output

Matrix instructions for xf32 round operands that are f32: `reads_as_xf32`.
"""

from __future__ import annotations

from typing import assert_never

from argus.gfx942.mfma import mfma
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Op, Shared
from argus.ir.types import Value


def narrowed(kernel: Kernel) -> set[Value]:
    """Results of arithmetic that are rounded to a narrow floating type before more arithmetic."""
    body = list(ops.walk(kernel.body))
    made = {op.result for op in body if isinstance(op, ops.Map | ops.Convert) and _narrow(op.result)}
    users: dict[Value, list[Op]] = {}
    for op in body:
        for value in op.operands:
            users.setdefault(value, []).append(op)
    handed: dict[Value, list[Value]] = {}
    for op in body:
        for into, sources in op.sources:
            for value in sources:
                handed.setdefault(value, []).append(into)
    return {value for value in made if _computed_with(value, users, handed, body)}


def reads_as_xf32(op: Op) -> bool:
    """A matrix instruction that reads its f32 operands with the 11 digits of xf32."""
    return op.matrix_instruction is not None and mfma(op.matrix_instruction).a == "xf32"


def _narrow(value: Value) -> bool:
    return value.dtype.kind == "float" and value.dtype.bits < 32


def _computed_with(
    start: Value, users: dict[Value, list[Op]], handed: dict[Value, list[Value]], body: list[Op]
) -> bool:
    """The value goes on into arithmetic, through moves, LDS and loops, other than as a factor of a matrix product."""
    pending, seen = [start], {start}
    while pending:
        value = pending.pop()
        following = list(handed.get(value, ()))
        for op in users.get(value, ()):
            match op:
                case ops.Map() | ops.Instruction():
                    return True
                case ops.Convert() if op.result.dtype.bits >= value.dtype.bits:
                    return True
                case ops.Mfma() if value is op.c:
                    return True
                case ops.Store() if isinstance(op.access.memory, Shared):
                    following += [
                        result
                        for other in body
                        if any(f.memory is op.access.memory for f in other.footprints)
                        for result in other.results
                    ]
                case ops.Registers() | ops.Bitcast() | ops.Lanes() | ops.Convert():
                    following += list(op.results)
                case (
                    ops.Mfma() | ops.Store() | ops.Constant() | ops.Index() | ops.Symbol() | ops.Load()
                    | ops.CopyToLds() | ops.Atomic() | ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag()
                    | ops.Check() | ops.For() | ops.If() | ops.Schedule()
                ):  # fmt: skip
                    pass  # no arithmetic with it; what blocks hand on is in `handed`
                case _:
                    assert_never(op)
        fresh = [v for v in following if v not in seen]
        seen.update(fresh)
        pending += fresh
    return False

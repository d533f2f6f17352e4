"""Mutants of a kernel's sums: one register element of one addition loses an addend, gets it twice, or gets another's.

    a + b          dropped: a        doubled: (a + b) + b        swapped: a + (b of the next element)
    fma, MFMA      the addend is the product: dropped: c         doubled: twice the product      swapped: c of the next

Everything else of the kernel stays, so most of these mutants are wrong by one term among many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Op
from argus.ir.types import Value
from tests.check.mutants import rewrite

FAR = 100_000
"""AlgebraNumbers of values and ops that no kernel reaches."""


@dataclass(frozen=True)
class AddendMutant:
    kind: str
    name: str
    kernel: Kernel


def addend_mutants(kernel: Kernel) -> Iterator[AddendMutant]:
    """All of them, in program order."""
    numbers = count(FAR)
    for op in list(ops.walk(kernel.body)):
        if not _is_sum(op):
            continue
        for element in range(op.result.count):
            for kind in ("dropped", "doubled", "swapped"):
                made = _changed(op, kind, element, numbers)
                if made is not None:
                    body = rewrite(kernel.body, op.id, lambda _, made=made: made)  # type: ignore[misc]
                    name = f"{kind} addend of element {element} at line {op.span.line}"
                    yield AddendMutant(kind, name, replace(kernel, body=body))


def _is_sum(op: Op) -> bool:
    if isinstance(op, ops.Mfma):
        return op.result.dtype.kind == "float"
    return isinstance(op, ops.Map) and op.fn in ("add", "sub", "fma") and op.result.dtype.kind == "float"


def _changed(op: Op, kind: str, element: int, numbers: Iterator[int]) -> list[Op] | None:
    """Ops in the place of one sum."""
    assert isinstance(op, ops.Mfma | ops.Map)
    addend = op.c if isinstance(op, ops.Mfma) else op.args[2 if op.fn == "fma" else 1]
    kept = addend if isinstance(op, ops.Mfma) or op.fn == "fma" else op.args[0]
    if kind == "swapped":
        if op.result.count == 1:
            return None
        other = (element + 1) % op.result.count
        order = list(range(op.result.count))
        order[element], order[other] = other, element
        turned = _value(addend, numbers)
        moved = _registers(op, next(numbers), turned, (addend,), [(0, n) for n in order])
        return [moved, _with_addend(op, turned)]
    whole = _value(op.result, numbers)
    if kind == "dropped":
        made: list[Op] = [replace(op, id=next(numbers), result=whole)]
        second = kept
    else:
        second = _value(op.result, numbers)
        again = _again(op, whole, second, next(numbers))
        if again is None:
            return None
        made = [replace(op, id=next(numbers), result=whole), again]
    pick = [(1 if n == element else 0, n) for n in range(op.result.count)]
    return [*made, _registers(op, op.id, op.result, (whole, second), pick)]


def _again(op: ops.Mfma | ops.Map, total: Value, result: Value, number: int) -> Op | None:
    """The same addend once more."""
    if isinstance(op, ops.Mfma):
        return replace(op, id=number, result=result, c=total)
    if op.fn == "fma":
        return replace(op, id=number, result=result, args=(*op.args[:2], total))
    return replace(op, id=number, result=result, args=(total, op.args[1]))


def _with_addend(op: ops.Mfma | ops.Map, addend: Value) -> Op:
    if isinstance(op, ops.Mfma):
        return replace(op, c=addend)
    if op.fn == "fma":
        return replace(op, args=(*op.args[:2], addend))
    return replace(op, args=(op.args[0], addend))


def _value(like: Value, numbers: Iterator[int]) -> Value:
    return Value(next(numbers), like.dtype, like.count)


def _registers(op: Op, number: int, result: Value, args: tuple[Value, ...], pick: list[tuple[int, int]]) -> Op:
    return ops.Registers(id=number, span=op.span, site=op.site, result=result, args=args, pick=tuple(pick))

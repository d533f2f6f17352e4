"""What data is made from: for every element of every value of the kernel, the loads, products and exchanges behind it.

    %4 = load A[...] : bf16x8                 element 5 of %4 is made from element 5 of op 4
    %5 = map add %4, %4                       and so is element 5 of %5
    %6 = lanes %5 from lane ^ 1               element 5 of %6 is made from element 5 of op 6
    store Y[...] <- %5                        the upper half of the third register stored is made from it, too

A set of such sources is an integer with one bit per source. Loops and branches hand on the union of what a value may
be; a matrix instruction is a source of its own, so a sum over a loop is made from its last one, and so is an exchange
between lanes: what it moves is looked at where it is moved (`exchange_pairs`). Dependence is by data: which arm of a
branch ran, or whether a guard held, adds no source, except that a choice made from data is made from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from argus.compile.object.kernel_exchanges import KernelExchange, of_instruction, of_lanes
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value

DWORD = 4
Sources = int
"""A set of sources."""


class SourceNames:
    """Numbers of sources: an element of what an op loads, computes on the matrix unit or moves between lanes."""

    def __init__(self) -> None:
        self._bit: dict[tuple[int, int], int] = {}

    def one(self, op: int, element: int) -> Sources:
        return 1 << self._bit.setdefault((op, element), len(self._bit))

    def moved(self, n: int, byte: int) -> Sources:
        """What instruction n of the object moves between lanes, as long as it has no name in the kernel."""
        return self.one(-1 - n, byte)

    def listed(self, sources: Sources) -> list[tuple[int, int]]:
        """(op, element) of a set."""
        return [name for name, bit in self._bit.items() if sources >> bit & 1]


class DataSources:
    """The sources of each element of each value."""

    def __init__(self, kernel: Kernel, names: SourceNames, by_register: bool = False) -> None:
        self.names, self._by_register = names, by_register
        self._of: dict[Value, list[Sources]] = {}
        self._symbols: dict[str, Sources] = {}
        self.exchanges: dict[int, KernelExchange] = {}
        every = list(ops.walk(kernel.body))
        while sum(self._step(op) for op in every):
            pass

    def of(self, value: Value) -> list[Sources]:
        return self._of.get(value) or [0] * value.count

    def own(self, op: int, result: Value, at: int) -> Sources:
        """The source that byte `at` of what an op makes is."""
        return self.names.one(op, at // element_bytes(result))

    def of_bytes(self, value: Value, start: int, width: int) -> Sources:
        """Of the elements that lie in some bytes of a value's registers."""
        each = element_bytes(value)
        return union(self.of(value)[start // each : -(-(start + width) // each)])

    def _step(self, op: ops.Op) -> bool:
        """Whether something became known of what the op makes."""
        changed = False
        for value, given in op.sources:
            rows = [self.of(one) for one in given]
            changed |= self._grow(value, [union(row) for row in zip(*rows, strict=True)])
        return self._made(op) or changed

    def _made(self, op: ops.Op) -> bool:
        match op:
            case ops.Load() | ops.Mfma():
                return self._grow(op.result, self._owned(op.id, op.result))
            case ops.Map():
                return self._grow(op.result, [union(row) for row in zip(*map(self.of, op.args), strict=True)])
            case ops.Convert():
                return self._grow(op.result, self.of(op.value))
            case ops.Lanes():
                exchange = of_lanes(op)
                return self._grow(op.result, self.of(op.value)) if exchange is None else self._exchanged(exchange)
            case ops.Bitcast():
                each = element_bytes(op.result)
                return self._grow(op.result, [self.of_bytes(op.value, n * each, each) for n in range(op.result.count)])
            case ops.Registers():
                return self._grow(op.result, [self.of(op.args[arg])[n] for arg, n in op.pick])
            case ops.Instruction():
                exchange = of_instruction(op)
                if exchange is not None:
                    return self._exchanged(exchange)
                whole = union(s for arg in op.args for s in self.of(arg))
                return sum(self._grow(out, [whole] * out.count) for out in op.outs) > 0
            case ops.Index():
                return self._grow(op.result, [self.of_expression(op)] * op.result.count)
            case ops.Symbol():
                before, now = self._symbols.get(op.symbol.name, 0), union(self.of(op.value))
                self._symbols[op.symbol.name] = now
                return before != now
            case (
                ops.Constant()
                | ops.Store()
                | ops.CopyToLds()
                | ops.Atomic()
                | ops.Barrier()
                | ops.Wait()
                | ops.SetPrio()
                | ops.Tag()
                | ops.Check()
                | ops.For()
                | ops.If()
                | ops.Schedule()
            ):
                return False
            case _:
                assert_never(op)

    def _owned(self, op: int, result: Value) -> list[Sources]:
        each = element_bytes(result)
        return [self.own(op, result, n * each) for n in range(result.count)]

    def _exchanged(self, one: KernelExchange) -> bool:
        self.exchanges[one.op] = one
        kept = self.of(one.old) if one.old is not None else [0] * one.result.count
        own = self._owned(one.op, one.result)
        return self._grow(one.result, [a | b for a, b in zip(own, kept, strict=True)])

    def of_expression(self, op: ops.Index) -> Sources:
        """Of an index that data takes part in."""
        return union(self._symbols.get(v.name, 0) for v in op.expr.free())

    def _grow(self, value: Value, more: list[Sources]) -> bool:
        if self._by_register:
            more = _shared(value, more)
        known = self._of.get(value)
        if known is None:
            self._of[value] = list(more)
            return any(more)
        changed = False
        for n, one in enumerate(more):
            if one & ~known[n]:
                known[n] |= one
                changed = True
        return changed


def _shared(value: Value, sets: list[Sources]) -> list[Sources]:
    """Elements of one register have their sources in common."""
    each = DWORD // element_bytes(value)
    if each <= 1:
        return sets
    return [union(sets[n // each * each : n // each * each + each]) for n in range(len(sets))]


def element_bytes(value: Value) -> int:
    return max(1, value.dtype.bits // 8)


def union(sets: Iterable[Sources]) -> Sources:
    found = 0
    for one in sets:
        found |= one
    return found

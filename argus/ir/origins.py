"""Where the whole numbers come from that a kernel uses as indices.

    e = ag.as_index(expert[b].load(ONE, width=4), 0, E - 1)         the tensor `expert`

A number is followed back through what only moves it: registers, lanes, wider integer types, the arms of a selection,
what loops and branches hand on. What is found is where it was made: a load, a constant, arithmetic. `reached` is the
other direction, through everything: all values that depend on some.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import DType, Value


class Origins:
    """The values of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.made: dict[Value, ops.Op] = {}
        self._handed: dict[Value, tuple[Value, ...]] = {}
        for op in ops.walk(kernel.body):
            self.made.update(dict.fromkeys(op.results, op))
            self._handed.update(op.sources)

    def of(self, value: Value) -> frozenset[Value]:
        """The values it may be, where they were made."""
        seen: set[Value] = set()
        found: set[Value] = set()
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value not in seen:
                seen.add(value)
                moved = self._moved(value)
                waiting.extend(moved)
                if not moved:
                    found.add(value)
        return frozenset(found)

    def tensors(self, value: Value) -> frozenset[ops.Tensor]:
        """The tensors it may have been loaded from."""
        makers = (self.made.get(made) for made in self.of(value))
        read = [f.memory for op in makers if op is not None for f in op.footprints if f.reads]
        return frozenset(memory for memory in read if isinstance(memory, ops.Tensor))

    def _moved(self, value: Value) -> tuple[Value, ...]:
        if value in self._handed:
            return self._handed[value]
        match self.made.get(value):
            case ops.Registers() | ops.Lanes() as op:
                return op.operands
            case ops.Convert() as op if holds(op.result.dtype, op.value.dtype):
                return op.operands
            case ops.Map(fn="select", args=(_, yes, no)):
                return yes, no
        return ()


def holds(wide: DType, narrow: DType) -> bool:
    """Whether one integer type has every number of another."""
    if not {wide.kind, narrow.kind} <= {"int", "uint"}:
        return False
    (low, high), (least, most) = numbers(wide), numbers(narrow)
    return low <= least and most <= high


def numbers(dtype: DType) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    signed = dtype.kind == "int"
    return (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1) if signed else (0, (1 << dtype.bits) - 1)


def reached(
    every: Sequence[ops.Op], values: Iterable[Value], written: Iterable[ops.Tensor | ops.Shared] = ()
) -> set[Value]:
    """All values that depend on these, or on memory that holds them: by operands, loops, branches and memory."""
    found, memories = set(values), set(written)
    size = -1
    while size != len(found) + len(memories):
        size = len(found) + len(memories)
        for op in every:
            read = any(part.reads and part.memory in memories for part in op.footprints)
            if not op.blocks and (read or any(v in found for v in op.operands)):
                found |= set(op.results)
                memories |= {part.memory for part in op.footprints if part.writes}
            found |= {value for value, sources in op.sources if any(v in found for v in sources)}
    return found

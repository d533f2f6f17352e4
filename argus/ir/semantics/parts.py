"""What the rules here ask of an op beyond its declared facts: its access, its loop, the data it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, For, Op, Symbol, Tensor


def global_access(op: Op) -> Access | None:
    """The access to a tensor that the op makes."""
    match op:
        case ops.Load() | ops.Store() | ops.Atomic() | ops.CopyToLds():
            return op.access if isinstance(op.access.memory, Tensor) else None
        case ops.Constant() | ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Bitcast():
            return None
        case ops.Registers() | ops.Lanes() | ops.Mfma() | ops.Instruction():
            return None
        case ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check():
            return None
        case ops.For() | ops.If() | ops.Schedule():
            return None
        case _:
            assert_never(op)


def _named(op: Op) -> tuple[For | None, Symbol | None]:
    """The op as a loop, and as a name of data."""
    match op:
        case ops.For():
            return op, None
        case ops.Symbol():
            return None, op
        case ops.Load() | ops.Store() | ops.Atomic() | ops.CopyToLds():
            return None, None
        case ops.Constant() | ops.Index() | ops.Map() | ops.Convert() | ops.Bitcast():
            return None, None
        case ops.Registers() | ops.Lanes() | ops.Mfma() | ops.Instruction():
            return None, None
        case ops.Barrier() | ops.Wait() | ops.SetPrio() | ops.Tag() | ops.Check():
            return None, None
        case ops.If() | ops.Schedule():
            return None, None
        case _:
            assert_never(op)


def named_data(kernel: Kernel) -> list[Symbol]:
    """The ops that name data as an index."""
    return [symbol for op in ops.walk(kernel.body) if (symbol := _named(op)[1]) is not None]


def visits(block: list[Op], around: tuple[For, ...] = ()) -> Iterator[tuple[Op, tuple[For, ...]]]:
    """Every op of the block, in program order, with the loops around it, outermost first."""
    for op in block:
        yield op, around
        loop = _named(op)[0]
        for inner in op.blocks:
            yield from visits(inner, around if loop is None else (*around, loop))

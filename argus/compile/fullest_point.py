"""The point of a kernel at which most registers are live, and which they are.

    found = fullest_point(kernel.body)
    len(found.held)                  120
    found.place                      gemm.py:55

Walks the ops backwards and keeps the set of live registers. A register that is only picked out of a value or put
together into one is the same register (`Homes`); constants have none. Loop-carried values are live throughout their
loop. The register plan takes the number, `live_set` the names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from argus.compile.context import registers
from argus.ir import ops
from argus.ir.types import NOWHERE, Span, Value

Home = tuple[Value, int]
"""A register: the value it was made for, and its number in it."""


class Homes:
    """Where the registers of a value really are; None: a constant, which needs none."""

    def __init__(self, body: list[ops.Op]) -> None:
        self._of: dict[Value, list[Home | None]] = {}
        for op in ops.walk(body):
            match op:
                case ops.Registers():
                    self._of[op.result] = self._picked(op)
                case ops.Bitcast():
                    self._of[op.result] = self.of(op.value)
                case ops.Constant():
                    self._of[op.result] = [None] * registers(op.result)
                case ops.Index():
                    if op.expr.op == "const":
                        self._of[op.result] = [None] * registers(op.result)
                case (
                    ops.Symbol()
                    | ops.Map()
                    | ops.Convert()
                    | ops.Lanes()
                    | ops.Mfma()
                    | ops.Instruction()
                    | ops.Load()
                    | ops.Store()
                    | ops.CopyToLds()
                    | ops.Atomic()
                    | ops.Barrier()
                    | ops.Wait()
                    | ops.SetPrio()
                    | ops.For()
                    | ops.If()
                    | ops.Schedule()
                    | ops.Tag()
                    | ops.Check()
                ):
                    pass
                case _:
                    assert_never(op)

    def of(self, value: Value) -> list[Home | None]:
        known = self._of.get(value)
        return [(value, n) for n in range(registers(value))] if known is None else known

    def all(self, values: Iterable[Value]) -> set[Home]:
        return {home for value in values for home in self.of(value) if home is not None}

    def _picked(self, op: ops.Registers) -> list[Home | None]:
        bits = op.result.dtype.bits
        found: list[Home | None] = []
        for n in range(registers(op.result)):
            picks = op.pick[n * 32 // bits : max((n + 1) * 32 // bits, n * 32 // bits + 1)]
            arg, first = picks[0]
            source = self.of(op.args[arg])
            start = first * bits + n * 32 % bits
            whole = start % 32 == 0 and all(pick == (arg, first + k) for k, pick in enumerate(picks))
            constant = all(home is None for home in source)
            found.append(None if constant else source[start // 32] if whole else (op.result, n))
        return found


@dataclass
class FullestPoint:
    """The largest set of live registers met so far, and where."""

    homes: Homes
    held: frozenset[Home] = field(default_factory=frozenset)
    place: Span = NOWHERE

    def block(self, body: list[ops.Op], after: frozenset[Home]) -> frozenset[Home]:
        """Registers live before the block, given those live after it."""
        live = set(after)
        self._meet(live, body[-1].span if body else NOWHERE)
        for op in reversed(body):
            made = {(value, n) for value in op.results for n in range(registers(value))}
            match op:
                case ops.Tag() | ops.Check() | ops.Bitcast() | ops.Constant():
                    continue
                case ops.Registers():
                    if not live & made:
                        continue
                    live -= made
                case ops.For():
                    live -= made
                    through = self.homes.all(_used_from_outside(op.body) - set(op.args))
                    self.block(op.body, frozenset(live | through | self.homes.all(op.yields)))
                    live |= through
                    self._meet(live | self.homes.all(op.args), op.span)
                case ops.If():
                    live -= made
                    for arm, yields in zip(op.blocks, op.handed, strict=True):
                        live |= self.block(arm, frozenset(live | self.homes.all(yields)))
                case ops.Schedule():
                    live = set(self.block(op.body, frozenset(live)))
                case (
                    ops.Index() | ops.Symbol() | ops.Map() | ops.Convert() | ops.Lanes() | ops.Mfma() |
                    ops.Instruction() | ops.Load() | ops.Store() | ops.CopyToLds() | ops.Atomic() | ops.Barrier() |
                    ops.Wait() | ops.SetPrio()
                ):  # fmt: skip
                    live -= made
                case _:
                    assert_never(op)
            live |= self.homes.all(op.operands)
            self._meet(live, op.span)
        return frozenset(live)

    def _meet(self, live: set[Home], place: Span) -> None:
        if len(live) > len(self.held):
            self.held, self.place = frozenset(live), place


def fullest_point(body: list[ops.Op]) -> FullestPoint:
    """Walk a kernel from its end."""
    found = FullestPoint(Homes(body))
    found.block(body, frozenset())
    return found


def _used_from_outside(block: list[ops.Op]) -> set[Value]:
    made = {value for op in ops.walk(block) for value in (*op.results, *(made for made, _ in op.sources))}
    used = {value for op in ops.walk(block) for value in op.operands}
    return used - made

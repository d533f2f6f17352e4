"""Who holds the registers at the fullest point of a kernel: the live values by source line and name.

    found = live_set(kernel)
    found.registers                  120, the estimate of `registers.plan` without addresses
    found.place                      gemm.py:55
    found.values[0]                  LiveValue(name="acc", line=41, registers=64, last=55, …)

The same walk backwards as the register plan's, which keeps only the number; here the set is kept where it is largest.
tests/compile/test_live_set.py holds the two equal over the library. A value that a loop carries goes by the name of
what it starts as. Names are the left side of the line that makes a value, since the IR keeps places, not names.

What it cannot say: how LLVM allocates. That it needs more than the estimate is said by C130.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from argus.compile.context import registers
from argus.compile.registers import Home, RegisterPlan, _Homes, _used_from_outside, plan
from argus.ir import ops
from argus.ir.compile_error import CompileError
from argus.ir.kernel import Kernel
from argus.ir.ops import Control, Op
from argus.ir.types import NOWHERE, Span, Value

LEFT_SIDE = re.compile(r"^\s*([A-Za-z_][\w, ]*?(?:\[[^\]]*\])?)\s*(?::[^=]*)?[-+*/|&^@]?=(?!=)")


@dataclass(frozen=True, slots=True)
class LiveValue:
    """Registers of the values made on one line; `last` is the last line that uses them, `carried` by a loop or not."""

    name: str
    line: int
    registers: int
    last: int
    carried: bool


@dataclass(frozen=True, slots=True)
class LiveSet:
    """The fullest point: `place`, the values from most registers to fewest, and the plan, None if nothing fits (C130,
    whose message is `refusal`)."""

    place: Span
    registers: int
    values: tuple[LiveValue, ...]
    plan: RegisterPlan | None
    refusal: str


def live_set(kernel: Kernel) -> LiveSet:
    """The live values at the fullest point."""
    walk = _Walk(kernel)
    walk.block(kernel.body, frozenset())
    made: RegisterPlan | None = None
    refusal = ""
    try:
        made = plan(kernel)
    except CompileError as error:
        refusal = str(error)
    return LiveSet(walk.place, len(walk.fullest), walk.named(), made, refusal)


class _Walk:
    """Keeps the largest live set it has met, and where."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.homes = _Homes(kernel.body)
        self.fullest: frozenset[Home] = frozenset()
        self.place = NOWHERE

    def block(self, body: list[Op], after: frozenset[Home]) -> frozenset[Home]:
        """Live before the block, given what is live after it."""
        live = set(after)
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

    def _meet(self, live: Iterable[Home], place: Span) -> None:
        found = frozenset(live)
        if len(found) > len(self.fullest):
            self.fullest, self.place = found, place

    def named(self) -> tuple[LiveValue, ...]:
        """The fullest set by line of the source."""
        makers, carried = _makers(self.kernel.body)
        last = _last_use(self.kernel.body, self.homes)
        groups: dict[tuple[int, str], list[Home]] = {}
        for home in self.fullest:
            place = makers.get(home[0], NOWHERE)
            groups.setdefault((place.line, _name(self.kernel, place)), []).append(home)
        found = [
            LiveValue(
                name, line, len(held), max(last.get(home, 0) for home in held), any(v in carried for v, _ in held)
            )
            for (line, name), held in groups.items()
        ]
        return tuple(sorted(found, key=lambda value: (-value.registers, value.line)))


def _makers(body: list[Op]) -> tuple[Mapping[Value, Span], set[Value]]:
    """Where every value is made; what a loop carries is made where its start is. And the carried values."""
    places: dict[Value, Span] = {}
    carried: set[Value] = set()
    for op in ops.walk(body):
        for value in op.results:
            places.setdefault(value, op.span)
        for value, sources in op.sources:
            if sources and sources[0] in places:
                places[value] = places[sources[0]]
            if op.control is Control.LOOP:
                carried |= {value, *sources}
    return places, carried


def _last_use(body: list[Op], homes: _Homes) -> dict[Home, int]:
    found: dict[Home, int] = {}
    for op in ops.walk(body):
        for home in homes.all(op.operands):
            found[home] = max(found.get(home, 0), op.span.line)
    return found


def _name(kernel: Kernel, place: Span) -> str:
    """The left side of the line, or the text at the place."""
    texts = {kernel.file: kernel.source, **{imported.file: imported.text for imported in kernel.imports}}
    lines = texts.get(place.file, "").splitlines()
    if not 0 < place.line <= len(lines):
        return "(made by the compiler)"
    line = lines[place.line - 1]
    found = LEFT_SIDE.match(line)
    end = place.end_col if place.end_line == place.line else len(line)
    return found[1].strip() if found else line[place.col : end].strip()[:40]

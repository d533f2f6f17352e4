"""Who holds the registers at the fullest point of a kernel: the live values by source line and name.

    found = live_set(kernel)
    found.registers                  120, the estimate of `registers.plan` without addresses
    found.place                      gemm.py:55
    found.values[0]                  LiveValue(name="acc", line=41, registers=64, last=55, …)

The register plan takes the number of the same point (`fullest_point`). A value that a loop carries goes by the name of
what it starts as. Names are the left side of the line that makes a value, since the IR keeps places, not names.

What it cannot say: how LLVM allocates. That it needs more than the estimate is said by C130.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from argus.compile.fullest_point import FullestPoint, Home, Homes, fullest_point
from argus.compile.registers import RegisterPlan, plan
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
    point = fullest_point(kernel.body)
    made: RegisterPlan | None = None
    refusal = ""
    try:
        made = plan(kernel)
    except CompileError as error:
        refusal = str(error)
    return LiveSet(point.place, len(point.held), _named(kernel, point), made, refusal)


def _named(kernel: Kernel, point: FullestPoint) -> tuple[LiveValue, ...]:
    """The fullest set by line of the source."""
    makers, carried = _makers(kernel.body)
    last = _last_use(kernel.body, point.homes)
    groups: dict[tuple[int, str], list[Home]] = {}
    for home in point.held:
        place = makers.get(home[0], NOWHERE)
        groups.setdefault((place.line, _name(kernel, place)), []).append(home)
    found = [
        LiveValue(name, line, len(held), max(last.get(home, 0) for home in held), any(v in carried for v, _ in held))
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


def _last_use(body: list[Op], homes: Homes) -> dict[Home, int]:
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

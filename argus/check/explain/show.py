"""What the checker believes about the values on a line: `argus check FILE --show LINE [--thread T --at kt=3 …]`.

    gemm.py:46: ra = A[bm * BM, kt * BK].load(COPY_A, width=16)
      load, p=0: 8 x bf16 in thread 9 (wave 0, lane 9)
        elements 0..7     A[M=128*block_y + 1, K=64*kt + 8 ..+7]

Tags are symbolic in blocks, loop variables and sizes until these are given. Of a value with alternatives every one that
can happen is shown with its condition; of a value read from LDS, who put it there. Where knowledge was lost, the reason
stands in place of a tag.

The walk is the checker's own, without its rules; lines inside a ring's loop appear once per residue. Only what it
sees on its last pass is shown, so a line in a branch that cannot be reached shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from argus.check.domain.records import CONFLICT, REDUCED, Tables
from argus.check.domain.tags import SITE_SHIFT, Case, Offsets, Tags
from argus.check.events import ProgramPoint
from argus.check.explain.findings import op_at
from argus.check.guess.guess_walk import guess
from argus.check.rules.rule import Rule
from argus.check.solve.model_reuse import Models
from argus.check.solve.prover import Prover
from argus.check.walk import KernelWalk, launch_facts
from argus.ir import ops
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Op
from argus.ir.passes.insert_waits import insert_waits
from argus.ir.stages import Scheduled
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_COPIES = 8
LANES = 64


class ShowError(ValueError):
    """The line, thread or iteration does not exist; the message says so."""


@dataclass(frozen=True, slots=True)
class Look:
    """Which line and thread, and the values of what is known: blocks, loop variables, sizes by name."""

    line: int
    thread: int
    known: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """One op on the line, with the tags of the values it reads or makes."""

    op: Op
    place: ProgramPoint
    values: tuple[tuple[str, Value, Tags], ...]


class _Memory(Rule):
    """Keeps what was seen."""

    name = "show"

    def __init__(self) -> None:
        self.seen: list[Seen] = []


class _Watching(KernelWalk):
    """The checker's walk, looking at the ops of one line."""

    def __init__(self, kernel: Kernel, line: int) -> None:
        self.memory_of_line = _Memory()
        prover = Prover(launch_facts(kernel), Models())
        super().__init__(kernel, prover, (self.memory_of_line,), certificate=guess(kernel, prover))
        self.line = line

    def step(self, op: Op) -> None:
        here = op.span.line == self.line and op.span.file == self.kernel.file and not op.blocks
        before = [(name, v, self.prune(self.values[v])) for name, v in _read(op)] if here else []
        super().step(op)
        if here:
            after = [("result", v, self.prune(self.values[v])) for v in op.results if v in self.values]
            if before or after:
                self.memory_of_line.seen.append(Seen(op, self.place(), (*before, *after)))


def _read(op: Op) -> list[tuple[str, Value]]:
    match op:
        case ops.Mfma():
            return [("a", op.a), ("b", op.b), ("c", op.c)]
        case ops.Store() | ops.Atomic():
            return [("stored", op.value)]
        case _:
            return []


def show(program: Scheduled, look: Look) -> str:
    """The tags on the line as text."""
    kernel = program.kernel
    lines = kernel.source.splitlines()
    if not 1 <= look.line <= len(lines):
        raise ShowError(f"{kernel.file} has {len(lines)} lines, so there is no line {look.line}")
    if not 0 <= look.thread < kernel.waves * LANES:
        raise ShowError(f"threads are 0 to {kernel.waves * LANES - 1}, so there is no thread {look.thread}")
    flow = _Watching(insert_waits(kernel), look.line)
    flow.run()
    blocks = [f"{kernel.file}:{look.line}: {lines[look.line - 1].strip()}"]
    heard = flow.memory_of_line.seen
    telling = [s for s in heard if not isinstance(s.op, ops.Registers | ops.Convert | ops.Bitcast)] or heard
    shown = [block for seen in telling for block in _block(flow, seen, look)]
    if not heard:
        own = (op for op in ops.walk(kernel.body) if op.span.file == kernel.file)
        others = sorted({op.span.line for op in own if op.results or _read(op)})
        near = sorted(others, key=lambda n: abs(n - look.line))[:4]
        raise ShowError(f"line {look.line} computes, loads or stores nothing; lines near it that do: {sorted(near)}")
    if not shown:
        raise ShowError(f"line {look.line} is not executed at {dict(look.known)}")
    blocks += shown[:MAX_COPIES]
    if len(shown) > MAX_COPIES:
        blocks.append(f"  … and {len(shown) - MAX_COPIES} more copies of the line")
    return "\n".join(blocks)


def _block(flow: KernelWalk, seen: Seen, look: Look) -> Iterator[str]:
    known = _substitution(flow.kernel, seen.place, look)
    if known is None:
        return
    if any(fact.subst(known) is E.FALSE for fact in seen.place.facts):
        return
    wave, lane = divmod(look.thread, LANES)
    site = "".join(f", {name}={n}" for name, n in seen.op.site)
    turn = "".join(f", {v.name}={value}" for v, value in seen.place.loops if value is not v)
    kind = type(seen.op).__name__.lower()
    text = [f"  {kind}{site}{turn}, thread {look.thread} (wave {wave}, lane {lane})"]
    if not seen.place.active[wave, lane]:
        text.append("    this thread takes no part")
    for name, value, tags in seen.values:
        text.append(f"    {name}: {value.count} x {value.dtype}")
        for case in tags.cases:
            guard = case.guard.subst(known)
            if guard is E.FALSE:
                continue
            if guard is not E.TRUE:
                text.append(f"      if {guard}:")
            text += [f"      {line}" for line in _elements(flow, case, wave, lane, known)]
    yield "\n".join(text)


def _substitution(kernel: Kernel, place: ProgramPoint, look: Look) -> dict[Expr, Expr | int] | None:
    """What is known, as replacements; None if this copy of the line belongs to another iteration."""
    known = dict(look.known)
    plain = (BLOCK_X, BLOCK_Y, BLOCK_Z, *kernel.shapes)
    made: dict[Expr, Expr | int] = {v: known[v.name] for v in plain if v.name in known}
    for var, value in place.loops:
        if var.name not in known:
            continue
        factors, constant = E.linear(value)
        if value is var or len(factors) != 1:
            made[var] = known[var.name]
            continue
        ((counter, factor),) = factors.items()
        turns, left = divmod(known[var.name] - constant, factor)
        if left:
            return None
        made[counter] = turns
    return made


def _elements(flow: KernelWalk, case: Case, wave: int, lane: int, known: Mapping[Expr, Expr | int]) -> Iterator[str]:
    """One line per run of elements whose coordinates advance by the same step."""
    record, offset, site = case.record[wave, lane], case.offset[wave, lane], case.site[wave, lane]
    start = 0
    while start < len(record):
        end, step = start + 1, np.zeros_like(offset[start])
        while end < len(record) and record[end] == record[start] and site[end] == site[start]:
            advance = offset[end] - offset[end - 1]
            if end == start + 1:
                step = advance
            elif not np.array_equal(advance, step):
                break
            end += 1
        count = end - start
        which = f"element {start}" if count == 1 else f"elements {start}..{end - 1}"
        tag = _tag(flow.tables, int(record[start]), offset[start], step, count, known)
        yield f"{which:<16} {tag}{_written(flow.kernel, int(site[start]))}"
        start = end


def _tag(
    tables: Tables, number: int, offset: Offsets, step: Offsets, count: int, known: Mapping[Expr, Expr | int]
) -> str:
    record = tables[number]
    parts = []
    for name, axis in tables.axes.items():
        rest = record.rests[axis] if record.rests else -1
        if rest in (CONFLICT, REDUCED):
            parts.append(f"{name}: {'reduced over' if rest == REDUCED else 'several'}")
        elif rest >= 0:
            value = (tables.rests[rest] + int(offset[axis])).subst(known)
            move = int(step[axis]) * (count - 1)
            parts.append(f"{name}={value}{f' ..{move:+d}' if move else ''}")
    where = ", ".join(parts)
    match record.kind:
        case "element":
            return f"{record.label}[{where}]"
        case "value":
            return f"computed, belongs to [{where}]"
        case "lost":
            return f"not known: {record.why}"
        case "unwritten":
            return "LDS nobody wrote"
        case "zero":
            return "zero"
        case _:
            return f"a number of no coordinate{f' [{where}]' if where else ''}"


def _written(kernel: Kernel, site: int) -> str:
    if site < 0:
        return ""
    span = op_at(kernel, site >> SITE_SHIFT).span
    return f", put into LDS at line {span.line} by thread {site & ((1 << SITE_SHIFT) - 1)}"

"""Lines that a counterexample names beside its own: the faults its execution shows, and what stands around the place.

    = the constant 1 goes into the sum: gemm.py:14
    = in the loop over kt: gemm.py:15
    = the grid: gemm.py:13

A wrong start, index, bound of a loop, grid or ring is seen elsewhere than where it is written; these lines say where
that is. Each line is named once, with the first reason, and there are no more than MOST: faults first (`fault_lines`),
then where the names on their lines were set (`source_lines`), loops, grid, loads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from argus.check.explain.fault_lines import faults
from argus.check.explain.first_fault import FaultLine
from argus.check.explain.source_lines import definitions, never_taken
from argus.check.explain.value_witness import launch_of
from argus.check.verdict import Counterexample, Verdict
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Control, Op, Shared, Tensor
from argus.ir.origins import Origins
from argus.ir.types import Span

MOST = 6
"""Lines that are named, with those of the counterexample itself and of its parties."""
SETTINGS = 3
PARTING = r"the terms part at (.*):(\d+):\d+"
TRACED = frozenset({"value", "placed", "reduced", "covers"})
IN_LOOPS = frozenset({"value", "covers", "in_bounds", "reduced"})


@dataclass(frozen=True, slots=True)
class Named:
    """A line that a counterexample names, and why."""

    why: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.why}{self.file}:{self.line}"


def with_surroundings(kernel: Kernel, verdict: Verdict) -> Verdict:
    """The verdict, its counterexample with the places around it, each line once."""
    example = verdict.counterexample
    if example is None:
        return verdict
    found = _faults(kernel, example) if verdict.rule in TRACED else []
    shown = _without_guess(example, found)
    named = [Named(f"{one.why}: ", one.span.file, one.span.line) for one in found if one.why]
    settings, spans = _settings(kernel, found), [*(one.span for one in found), example.span, *_parting(shown)]
    loops = _loops(kernel, spans) if verdict.rule in IN_LOOPS else []
    named += [*settings[:1], *loops[:1], *settings[1:], *loops[1:]]
    if verdict.rule in TRACED:
        named += [Named("no launch takes the branch at ", kernel.file, line) for line in never_taken(kernel)]
    if verdict.rule == "value" and not found:
        named += _passed(kernel, example.op)
    if verdict.rule == "covers":
        named += [Named("the grid: ", kernel.file, line) for line in _grid(kernel)]
    if verdict.rule == "conform":
        named += _loads(kernel, example.op)
    if verdict.rule == "placed" and not any(one.why for one in found):
        named += _sources(kernel, example.op)
    if verdict.rule == "race_free":
        touched = [f.memory for op in ops.walk(kernel.body) if op.id == example.op for f in op.footprints]
        buffers = {memory for memory in touched if isinstance(memory, Shared)}
        named += [Named(f"{m.name} is made at ", m.span.file, m.span.line) for m in buffers if m.span.line]
    said = {_place(one.span) for one in found if one.why}
    first = dict[tuple[str, int], Named]()
    for one in named:
        first.setdefault((one.file, one.line), one)
    own = {_place(example.span), *(_place(party.span) for party in example.operands if party.span is not None)}
    lines = [str(one) for place, one in first.items() if place not in own or place in said][: MOST - len(own)]
    return replace(verdict, counterexample=replace(shown, details=(*shown.details, *lines)))


def _place(span: Span) -> tuple[str, int]:
    return span.file, span.line


def _faults(kernel: Kernel, example: Counterexample) -> list[FaultLine]:
    """The faults that an execution shows; of an element that is not written once, the store whose indices are wrong."""
    if example.rule != "covers" or "written" not in example.message:
        return faults(kernel, example, launch_of(example))
    stores = [op for op in ops.walk(kernel.body) if op.id == example.op]
    if stores:
        return [FaultLine(op.span, "", "all" if "never" in example.message else "index") for op in stores]
    written = example.operands[0].tensor
    stores = [op for op in ops.walk(kernel.body) if any(f.writes and f.memory.name == written for f in op.footprints)]
    return [FaultLine(op.span, f"this stores to {written}", "index") for op in stores[:2]]


def _parting(example: Counterexample) -> list[Span]:
    """The line where the terms part, if it is said."""
    found = [re.fullmatch(PARTING, detail) for detail in example.details]
    return [Span(m[1], int(m[2]), 0, int(m[2]), 0) for m in found if m]


def _without_guess(example: Counterexample, found: list[FaultLine]) -> Counterexample:
    """Where an execution shows the fault, a line at which only the terms part elsewhere is left out."""
    lines = {_place(one.span) for one in found}
    if not lines or all(_place(span) in lines for span in _parting(example)):
        return example
    return replace(example, details=tuple(d for d in example.details if not re.fullmatch(PARTING, d)))


def _settings(kernel: Kernel, found: list[FaultLine]) -> list[Named]:
    """Where the names were set that the faults' lines use."""
    asked = [(one, definitions(kernel, one.span, one.names == "index")) for one in found if one.names]
    named = [Named(f"{n.name} is set at ", one.span.file, n.line) for one, names in asked for n in names]
    return list(dict.fromkeys(named))[:SETTINGS]


def _loops(kernel: Kernel, spans: list[Span]) -> list[Named]:
    loops = dict.fromkeys(loop for span in spans for loop in _loops_around(kernel.body, span))
    return [Named(f"in the loop over {loop.binds[0].name}: ", *_place(loop.span)) for loop in loops]


def _loops_around(body: list[Op], span: Span) -> list[Op]:
    """The loops with an op of this line inside, outer ones first."""
    for op in body:
        if _place(op.span) == _place(span) and not op.blocks:
            return []
        for block in op.blocks:
            if any(_place(inner.span) == _place(span) for inner in ops.walk(block)):
                return [*([op] if op.declared.control is Control.LOOP else []), *_loops_around(block, span)]
    return []


def _passed(kernel: Kernel, store: int) -> list[Named]:
    """Loops and branches that values are handed on by before the store: what they decide went into it, perhaps."""
    found = list[Named]()
    for op in ops.walk(kernel.body):
        if op.id == store:
            break
        if op.declared.control is Control.LOOP and op.results:
            found.append(Named(f"through the loop over {op.binds[0].name}: ", *_place(op.span)))
        elif op.declared.control is Control.BRANCH and op.results:
            found.append(Named("through the branch: ", *_place(op.span)))
    return found


def _loads(kernel: Kernel, number: int) -> list[Named]:
    """Where the factors of a matrix product were loaded, if straight from tensors."""
    product = next((op for op in ops.walk(kernel.body) if op.id == number), None)
    if product is None:
        return []
    origins, found = Origins(kernel), list[Named]()
    for name, value in zip("ab", product.operands, strict=False):
        made = [origins.made.get(one) for one in origins.of(value)]
        lines = sorted({(op.span.file, op.span.line) for op in made if op is not None and _loads_tensor(op)})
        found += [Named(f"{name} is loaded at ", file, line) for file, line in lines[:2]]
    return found


def _sources(kernel: Kernel, store: int) -> list[Named]:
    """Where the tensor elements were loaded that a stored value is computed from."""
    made = {value: op for op in ops.walk(kernel.body) for value in op.results}
    handed = {into: sources for op in ops.walk(kernel.body) for into, sources in op.sources}
    pending = [v for op in ops.walk(kernel.body) if op.id == store for v in op.operands]
    seen, found = set(pending), set[tuple[str, int]]()
    while pending:
        value = pending.pop()
        op = made.get(value)
        if op is not None and _loads_tensor(op):
            found.add((op.span.file, op.span.line))
        before = handed.get(value) or (() if op is None else op.operands)
        fresh = [v for v in before if v not in seen]
        seen.update(fresh)
        pending += fresh
    return [Named("it is computed from what is loaded at ", file, line) for file, line in sorted(found)]


def _loads_tensor(op: Op) -> bool:
    return any(f.reads and isinstance(f.memory, Tensor) for f in op.footprints)


def _grid(kernel: Kernel) -> list[int]:
    """Where the kernel's own text makes its grid."""
    numbered = list(enumerate(kernel.source.splitlines(), 1))
    return [n for n, text in numbered[kernel.span.line :] if re.search(r"\b\w+\.grid\(", text)][:1]

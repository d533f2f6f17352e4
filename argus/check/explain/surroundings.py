"""What stands around the place of a counterexample: the loops it is in, the grid, the LDS buffer of a race.

    = in the loop over kt: gemm.py:44
    = the grid: gemm.py:40

A wrong bound of a loop, a grid of too few blocks or a ring of too few slots is seen elsewhere than where it is written;
these lines say where that is.
"""

from __future__ import annotations

import re
from dataclasses import replace

from argus.check.verdict import Verdict
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Op, Shared

IN_LOOPS = frozenset({"value", "covers", "in_bounds", "reduced"})


def with_surroundings(kernel: Kernel, verdict: Verdict) -> Verdict:
    """The verdict, its counterexample with the places around it."""
    example = verdict.counterexample
    if example is None:
        return verdict
    details: list[str] = []
    lines = {example.span.line, *(int(n) for d in example.details for n in re.findall(r"part at .*:(\d+):\d+$", d))}
    if verdict.rule in IN_LOOPS:
        loops = dict.fromkeys(loop for line in sorted(lines) for loop in _loops_around(kernel.body, line))
        details += [f"in the loop over {loop.var.name}: {loop.span.file}:{loop.span.line}" for loop in loops]
    if verdict.rule == "covers":
        details += [f"the grid: {place}" for place in _grid(kernel)]
    if verdict.rule == "race_free":
        accesses = [op for op in ops.walk(kernel.body) if op.id == example.op and isinstance(op, ops.Load | ops.Store)]
        buffers = {op.access.memory for op in accesses if isinstance(op.access.memory, Shared)}
        details += [f"{m.name} is made at {m.span.file}:{m.span.line}" for m in buffers if m.span.line]
    return replace(verdict, counterexample=replace(example, details=(*example.details, *details)))


def _loops_around(body: list[Op], line: int) -> list[ops.For]:
    """The loops with an op of this line inside, outer ones first."""
    for op in body:
        if op.span.line == line and not op.blocks:
            return []
        for block in op.blocks:
            if any(inner.span.line == line for inner in ops.walk(block)):
                return [*([op] if isinstance(op, ops.For) else []), *_loops_around(block, line)]
    return []


def _grid(kernel: Kernel) -> list[str]:
    """Where the kernel's own text makes its grid."""
    numbered = list(enumerate(kernel.source.splitlines(), 1))
    found = [n for n, text in numbered[kernel.span.line :] if re.search(r"\b\w+\.grid\(", text)]
    return [f"{kernel.file}:{n}" for n in found[:1]]

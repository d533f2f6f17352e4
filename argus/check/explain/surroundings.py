"""What stands around the place of a counterexample: loops and branches, the grid, a race's buffer, loads of factors.

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
from argus.ir.ops import Control, Op, Shared, Tensor
from argus.ir.origins import Origins

MOST = 4
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
        details += [f"in the loop over {loop.binds[0].name}: {loop.span.file}:{loop.span.line}" for loop in loops]
    if verdict.rule == "value":
        details += [one for one in _passed(kernel, example.op) if one not in details]
    if verdict.rule == "covers":
        details += [f"the grid: {place}" for place in _grid(kernel)]
    if verdict.rule == "conform":
        details += _loads(kernel, example.op)
    if verdict.rule == "placed":
        details += _sources(kernel, example.op)
    if verdict.rule == "race_free":
        touched = [f.memory for op in ops.walk(kernel.body) if op.id == example.op for f in op.footprints]
        buffers = {memory for memory in touched if isinstance(memory, Shared)}
        details += [f"{m.name} is made at {m.span.file}:{m.span.line}" for m in buffers if m.span.line]
    return replace(verdict, counterexample=replace(example, details=(*example.details, *details)))


def _loops_around(body: list[Op], line: int) -> list[Op]:
    """The loops with an op of this line inside, outer ones first."""
    for op in body:
        if op.span.line == line and not op.blocks:
            return []
        for block in op.blocks:
            if any(inner.span.line == line for inner in ops.walk(block)):
                return [*([op] if op.declared.control is Control.LOOP else []), *_loops_around(block, line)]
    return []


def _passed(kernel: Kernel, store: int) -> list[str]:
    """Loops and branches that values are handed on by before the store: what they decide went into it, perhaps."""
    found = dict[str, None]()
    for op in ops.walk(kernel.body):
        if op.id == store:
            break
        if op.declared.control is Control.LOOP and op.results:
            found[f"through the loop over {op.binds[0].name}: {op.span.file}:{op.span.line}"] = None
        elif op.declared.control is Control.BRANCH and op.results:
            found[f"through the branch: {op.span.file}:{op.span.line}"] = None
    return list(found)[:MOST]


def _loads(kernel: Kernel, number: int) -> list[str]:
    """Where the factors of a matrix product were loaded, if straight from tensors."""
    product = next((op for op in ops.walk(kernel.body) if op.id == number), None)
    if product is None:
        return []
    origins, found = Origins(kernel), list[str]()
    for name, value in zip("ab", product.operands, strict=False):
        made = [origins.made.get(one) for one in origins.of(value)]
        lines = sorted({(op.span.file, op.span.line) for op in made if op is not None and _loads_tensor(op)})
        found += [f"{name} is loaded at {file}:{line}" for file, line in lines[:2]]
    return found


def _sources(kernel: Kernel, store: int) -> list[str]:
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
    return [f"it is computed from what is loaded at {file}:{line}" for file, line in sorted(found)[:MOST]]


def _loads_tensor(op: Op) -> bool:
    return any(f.reads and isinstance(f.memory, Tensor) for f in op.footprints)


def _grid(kernel: Kernel) -> list[str]:
    """Where the kernel's own text makes its grid."""
    numbered = list(enumerate(kernel.source.splitlines(), 1))
    found = [n for n, text in numbered[kernel.span.line :] if re.search(r"\b\w+\.grid\(", text)]
    return [f"{kernel.file}:{n}" for n in found[:1]]

"""From a symbolic failure to one concrete execution, and its replay.

    facts of the path  ->  smallest sizes, block and loop values  ->  the interpreter runs that workgroup and looks

The interpreter shares no code with the checker: it computes addresses from the expressions, moves bytes, and knows for
every register element which tensor element it was loaded from. A counterexample the interpreter does not confirm is not
shown; the verdict is then `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from argus.check.flow import Place
from argus.check.prover import Prover
from argus.ir import interp
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

BLOCK = (BLOCK_X, BLOCK_Y, BLOCK_Z)
MAX_ELEMENTS = 1 << 24
"""Replays larger than this are not attempted."""


@dataclass(frozen=True, slots=True)
class Execution:
    """Concrete sizes, block and loop values of one point of a kernel's execution."""

    sizes: dict[str, int]
    block: tuple[int, int, int]
    loops: dict[str, int]

    @property
    def env(self) -> dict[str, int]:
        return {**self.sizes, **{v.name: b for v, b in zip(BLOCK, self.block, strict=True)}, **self.loops}


def smallest_execution(
    kernel: Kernel, prover: Prover, place: Place, extra: Iterable[Expr] = ()
) -> tuple[Execution, dict[Expr, int]] | None:
    """Smallest loop values, then block, then sizes, on which the path and `extra` hold."""
    facts = (*place.facts, *extra)
    counters = sorted(
        {v for _, value in place.loops for v in value.free()} - set(kernel.shapes) - set(BLOCK), key=lambda v: v.name
    )
    others = {v for f in facts for v in f.free()} - set(counters) - set(kernel.shapes) - set(BLOCK)
    order = [*counters, *BLOCK, *kernel.shapes, *sorted(others, key=lambda v: v.name)]
    found = prover.smallest(facts, order)
    if found is None:
        return None
    env = {v.name: n for v, n in found.items()}
    loops = {var.name: int(E.evaluate(value, env)) for var, value in place.loops}
    sizes = {v.name: found[v] for v in kernel.shapes}
    execution = Execution(sizes, (found[BLOCK_X], found[BLOCK_Y], found[BLOCK_Z]), loops)
    return execution, found


def affordable(kernel: Kernel, sizes: Mapping[str, int]) -> bool:
    """The tensors at these sizes are small enough to allocate for a replay."""
    try:
        totals = [int(np.prod(interp.extents(t, sizes), dtype=object)) for t in kernel.tensors]
    except ExprError:
        return False
    return sum(totals) <= MAX_ELEMENTS


@dataclass(frozen=True, slots=True)
class Held:
    """What the interpreter saw in a register element: a tensor element, or a special code."""

    tensor: Tensor | None
    coords: tuple[int, ...]
    code: int


def decode(kernel: Kernel, code: int, sizes: Mapping[str, int]) -> Held:
    """The tensor element a provenance code names."""
    if code < 0:
        return Held(None, (), code)
    tensor = kernel.tensors[code >> interp.TENSOR_SHIFT]
    index = code & ((1 << interp.TENSOR_SHIFT) - 1)
    strides = [int(E.evaluate(s, sizes)) for s in tensor.strides]
    coords = [0] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda a: -strides[a]):
        coords[axis], index = divmod(index, strides[axis]) if strides[axis] else (0, index)
    return Held(tensor, tuple(coords), code)


def replay(
    kernel: Kernel,
    execution: Execution,
    watch: Mapping[int, Callable[[interp.Event], None]],
    schedule: interp.Schedule | None = None,
) -> interp.Outcome | None:
    """Run the one workgroup of the execution with provenance; None when it is too large or cannot be run."""
    if not affordable(kernel, execution.sizes):
        return None
    try:
        return interp.run(
            kernel, {}, execution.sizes, blocks=[execution.block], schedule=schedule, watch=watch, provenance=True
        )
    except (interp.InterpError, ExprError):
        return None

"""From a symbolic failure to one concrete execution, and its replay.

    facts of the path  ->  smallest sizes, block and loop values  ->  the interpreter runs that workgroup and looks

The interpreter shares no code with the checker: it computes addresses from the expressions, moves bytes, and knows for
every register element which tensor element it was loaded from. A counterexample the interpreter does not confirm is not
shown; the verdict is then `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.events import ProgramPoint
from argus.check.explain.search_budget import may_search
from argus.check.explain.smallest_model import smallest_model
from argus.check.solve.prover import Prover
from argus.ir import interp
from argus.ir.index_ranges import legal_range, stated_ranges, whole_numbers
from argus.ir.kernel import BLOCK_X, BLOCK_Y, BLOCK_Z, Kernel
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

BLOCK = (BLOCK_X, BLOCK_Y, BLOCK_Z)
MAX_ELEMENTS = 1 << 24
"""Replays larger than this are not attempted."""
MAX_BLOCKS = 9


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
    kernel: Kernel, prover: Prover, place: ProgramPoint, extra: Iterable[Expr] = ()
) -> tuple[Execution, dict[Expr, int]] | None:
    """Smallest loop values, then block, then sizes, on which the path and `extra` hold."""
    if not may_search():
        return None
    facts = (*place.facts, *extra)
    counters = sorted(
        {v for _, value in place.loops for v in value.free()} - set(kernel.shapes) - set(BLOCK), key=lambda v: v.name
    )
    others = {v for f in facts for v in f.free()} - set(counters) - set(kernel.shapes) - set(BLOCK)
    order = [*counters, *BLOCK, *kernel.shapes, *sorted(others, key=lambda v: v.name)]
    found = smallest_model(prover, facts, order)
    if found is None:
        return None
    env = {v.name: n for v, n in found.items()}
    try:
        loops = {var.name: int(E.evaluate(value, env)) for var, value in place.loops}
    except ExprError:  # where the loop starts is loaded data, which no solver's model defines
        return None
    sizes = {v.name: found[v] for v in kernel.shapes}
    execution = Execution(sizes, (found[BLOCK_X], found[BLOCK_Y], found[BLOCK_Z]), loops)
    return execution, found


def affordable(kernel: Kernel, sizes: Mapping[str, int]) -> bool:
    """The tensors at these sizes are small enough to allocate for a replay, and the budget pays for one."""
    return may_search(1) and allocatable(kernel, sizes)


def allocatable(kernel: Kernel, sizes: Mapping[str, int]) -> bool:
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
    watch: Mapping[int, Callable[[interp.OpEvent], None]],
    schedule: interp.InterpSchedule | None = None,
    results: Mapping[int, Callable[[interp.OpEvent], None]] | None = None,
) -> interp.InterpOutcome | None:
    """Run the one workgroup of the execution with provenance; None when it is too large or cannot be run."""
    if not affordable(kernel, execution.sizes):
        return None
    try:
        return interp.run(
            kernel, inputs(kernel, execution.sizes), execution.sizes, blocks=[execution.block], schedule=schedule,
            watch=watch, results=results, provenance=True,
        )  # fmt: skip
    except (interp.InterpError, ExprError):
        return None


def inputs(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Small whole numbers for every tensor that is read, the same in every run; as indices those the kernel states."""
    made: dict[str, NDArray[Any]] = {}
    for n, tensor in enumerate(kernel.tensors):
        if tensor.read:
            dice, shape = np.random.default_rng(n), interp.extents(tensor, sizes)
            if is_index(kernel, tensor, sizes):
                made[tensor.name] = whole_numbers(dice, shape, legal_range(kernel, tensor, sizes))
            else:
                made[tensor.name] = dice.integers(1, 100, shape)
    return made


def is_index(kernel: Kernel, tensor: Tensor, sizes: Mapping[str, int]) -> bool:
    """The author states what its elements are, so that they cannot be changed at will."""
    return tensor.dtype.kind != "float" and bool(stated_ranges(kernel, tensor, sizes))


def influence(
    kernel: Kernel,
    execution: Execution,
    tensor: Tensor,
    at: Mapping[str, int],
    look: Callable[[interp.InterpOutcome, list[NDArray[Any]]], Any],
    watched: tuple[int, int, int] | None = None,
) -> bool | None:
    """Does what `look` sees change when the elements of `tensor` with coordinates `at` change?

    `watched` is (op, wave, operand): its data in the execution's iteration is handed to `look`. None: cannot be run.
    """
    extents = dict(zip(tensor.axes, interp.extents(tensor, execution.sizes), strict=True))
    if not affordable(kernel, execution.sizes) or any(not 0 <= at[a] < extents[a] for a in at):
        return None
    if is_index(kernel, tensor, execution.sizes):
        return None
    base = inputs(kernel, execution.sizes)
    results = []
    for delta in (0, 1):
        arrays = {name: array.copy() for name, array in base.items()}
        if delta:
            where = tuple(at.get(axis, slice(None)) for axis in tensor.axes)
            arrays[tensor.name][where] += 3
        seen: list[NDArray[Any]] = []

        def watch(event: interp.OpEvent, seen: list[NDArray[Any]] = seen) -> None:
            assert watched is not None
            if event.wave == watched[1] and event.loops == execution.loops:
                seen.append(event.operands[watched[2]].data.copy())

        try:
            outcome = interp.run(
                kernel, arrays, execution.sizes, blocks=[execution.block],
                watch={watched[0]: watch} if watched is not None else None,
            )  # fmt: skip
        except (interp.InterpError, ExprError, IndexError):
            return None
        results.append(look(outcome, seen))
    if results[0] is None or results[1] is None:
        return None
    return bool(np.any(np.asarray(results[0], dtype=np.float64) != np.asarray(results[1], dtype=np.float64)))

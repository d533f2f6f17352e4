"""Counterexamples of `in_bounds`: a concrete thread whose evaluated address is not where its coordinates say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from argus.check.explain.small_executions import executions, interference
from argus.check.explain.witness import Execution, replay, smallest_execution
from argus.check.report import Counterexample, Party
from argus.check.walk import KernelWalk
from argus.ir import interp, ops
from argus.ir.ops import Access, Shared, Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.rules.in_bounds import Doubt

Values = Callable[[Expr], np.ndarray]


def misplaced_access(flow: KernelWalk, doubt: Doubt) -> Counterexample | None:
    found = _execution(flow, doubt)
    if found is None:
        return None
    execution, thread = found
    if not _reached(flow, doubt, execution, thread // 64):
        return None
    if doubt.stray and not isinstance(doubt.op, ops.Store | ops.Atomic) and not _matters(flow, doubt, execution):
        return None
    env = {**execution.env, "lane": thread % 64, "wave": thread // 64}
    access = doubt.access
    address = int(E.evaluate(access.address, env))
    kind = "stores" if isinstance(doubt.op, ops.Store | ops.Atomic) else "loads"
    if isinstance(access.memory, Tensor):
        coords = {a: int(E.evaluate(c, env)) for a, c in zip(access.memory.axes, access.coords, strict=True)}
        named = ", ".join(f"{a}={c}" for a, c in coords.items())
        text = f"{kind} {access.memory.name}[{named}] and {access.count - 1} more at byte {address}"
    else:
        coords, text = {}, f"{kind} bytes from {address} of {access.memory.name}"
    operand = Party("access", thread, 0, text, access.memory.name, coords, span=doubt.op.span)
    message = f"an access {doubt.what}"
    return Counterexample(
        "in_bounds", doubt.op.span, doubt.op.id, message, execution.sizes, execution.block, execution.loops,
        thread // 64, (operand,), "guard the access by its coordinates, or require sizes that divide evenly",
    )  # fmt: skip


def _matters(flow: KernelWalk, doubt: Doubt, execution: Execution) -> bool:
    """A load that strays into the next row is wrong if some output depends on a row it should not depend on."""
    spec = flow.spec
    tensor = doubt.access.memory
    if spec is None or spec.amounts is not None or not isinstance(tensor, Tensor):
        return False
    numbers = flow.tables.tensor_axes[tensor]
    sizes = [execution.sizes]
    return any(
        interference(flow.kernel, spec.output, tensor, numbers.index(axis), position, sizes) is not None
        for axis, position in spec.placed.items()
        if axis in numbers and axis not in spec.hints.windows
    )


def _execution(flow: KernelWalk, doubt: Doubt) -> tuple[Execution, int] | None:
    """The solver's smallest execution if it shows the fault, else the first small one that does."""
    extra: tuple[Expr, ...] = (flow.here(doubt.condition),)
    if doubt.access.guard is not None:
        extra = (*extra, doubt.access.guard)
    solved = smallest_execution(flow.kernel, flow.prover, doubt.place, extra)
    tried = [] if solved is None else [solved[0]]
    for execution in (*tried, *executions(flow.kernel, doubt.place)):
        thread = _wrong_thread(flow, doubt, execution)
        if thread is not None:
            return execution, thread
    return None


def _wrong_thread(flow: KernelWalk, doubt: Doubt, execution: Execution) -> int | None:
    """The first thread whose evaluated address is inside the memory but not where its coordinates say; none where one
    of its expressions has a number that was loaded: an execution says nothing of that."""
    access = doubt.access
    lanes = np.arange(64 * flow.kernel.waves)
    env: dict[str, int | np.ndarray] = {**execution.env, "lane": lanes % 64, "wave": lanes // 64}
    guards = [] if access.guard is None else [access.guard]
    if any(v.name not in env for e in (access.address, *access.coords, *guards) for v in e.free()):
        return None

    def values(e: Expr) -> np.ndarray:
        return np.broadcast_to(np.asarray(E.evaluate(e, env), dtype=np.int64), lanes.shape)

    done = doubt.place.active.reshape(-1).copy()
    if access.guard is not None:
        done &= values(access.guard) != 0
    element = np.arange(access.count)
    start = values(access.address)[:, None] + element * access.memory.dtype.bytes
    if isinstance(access.memory, Shared):
        wrong = (start < 0) | (start + access.memory.dtype.bytes > access.memory.bytes)
    else:
        wrong = _misplaced(flow, access, execution, values, start)
    wrong &= done[:, None]
    return int(np.argwhere(wrong)[0][0]) if wrong.any() else None


def _misplaced(flow: KernelWalk, access: Access, execution: Execution, values: Values, start: np.ndarray) -> np.ndarray:
    tensor = access.memory
    assert isinstance(tensor, Tensor)
    shape = interp.extents(tensor, execution.sizes)
    strides = [int(E.evaluate(s, execution.sizes)) for s in tensor.strides]
    size = tensor.dtype.bytes * (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)))
    in_buffer = (start >= 0) & (start + tensor.dtype.bytes <= size)
    in_tensor = np.ones(start.shape, dtype=bool)
    flat = np.zeros(start.shape, dtype=np.int64)
    for axis, coordinate in enumerate(access.coords):
        moving = np.arange(access.count) if axis == access.axis % len(shape) else np.zeros(access.count, dtype=np.int64)
        c = values(coordinate)[:, None] + moving
        in_tensor &= (c >= 0) & (c < shape[axis])
        flat += c * strides[axis]
    elsewhere = flat * tensor.dtype.bytes != start
    return np.asarray((in_buffer & ~in_tensor) | ((in_buffer | in_tensor) & elsewhere))


def _reached(flow: KernelWalk, doubt: Doubt, execution: Execution, wave: int) -> bool:
    """The interpreter comes to this op in this iteration."""
    seen: list[bool] = []

    def watch(event: interp.OpEvent) -> None:
        if event.wave == wave and event.loops == execution.loops:
            seen.append(True)

    return replay(flow.kernel, execution, {doubt.op.id: watch}) is not None and bool(seen)

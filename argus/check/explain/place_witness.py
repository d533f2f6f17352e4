"""Counterexamples of `placed`: an output element that changes with an input it should not depend on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from argus.check.explain.small_executions import interference, overlaps, varied
from argus.check.explain.value_witness import counterexample
from argus.check.explain.witness import Execution, influence, smallest_execution
from argus.check.report import Counterexample, Party
from argus.check.walk import KernelWalk
from argus.ir import interp
from argus.ir.ops import Access, Tensor
from argus.layout import expr as E
from argus.layout.expr import ExprError

if TYPE_CHECKING:
    from argus.check.rules.placed import Misplaced


def far(flow: KernelWalk, failure: Misplaced) -> Counterexample | None:
    """Where no input has the output's index plainly: a launch whose result is far from the specification."""
    found = counterexample(flow, failure.op.span, failure.op.id)
    return None if found is None else replace(found, rule="placed")


def _element_index(access: Access, execution: Execution, wave: int, lane: int, element: int) -> tuple[int, ...]:
    env = {**execution.env, "wave": wave, "lane": lane}
    coords = [int(E.evaluate(c, env)) for c in access.coords]
    coords[access.axis % len(coords)] += element
    return tuple(coords)


def _at(outcome: interp.InterpOutcome, output: Tensor, where: tuple[int, ...], execution: Execution) -> float | None:
    array = outcome.arrays[output.name]
    if any(not 0 <= c < n for c, n in zip(where, interp.extents(output, execution.sizes), strict=True)):
        return None
    return float(array[where])


def interfering_input(flow: KernelWalk, failure: Misplaced) -> Counterexample | None:
    """Where the tags do not say which row went wrong: change input rows and see what else changes."""
    assert flow.spec is not None
    if flow.spec.amounts is not None:  # a sum over what is updated depends on all of it
        return None
    output = flow.spec.output
    for axis, position in (flow.spec.placed | flow.spec.partly).items():
        for tensor in flow.kernel.tensors:
            numbers = flow.tables.tensor_axes[tensor]
            if not tensor.read or axis not in numbers:
                continue
            if axis in flow.spec.partly and tensor not in flow.spec.sources[axis]:
                continue
            where_to_look = varied(flow.kernel)
            found = interference(flow.kernel, output, tensor, numbers.index(axis), position, where_to_look)
            if found is not None:
                sizes, where, value = found
                name = flow.tables.axis_names[axis]
                coords = dict(zip(output.axes, where, strict=True))
                named = ", ".join(f"{a}={c}" for a, c in coords.items())
                text = f"{output.name}[{named}] changes with {tensor.name} at {name}={value}"
                operand = Party("value", 0, 0, text, output.name, coords, span=failure.op.span)
                message = f"an output depends on another {name} than its own"
                hint = f"combine only values of the same {name}"
                return Counterexample(
                    "placed", failure.op.span, failure.op.id, message, sizes, (0, 0, 0), {}, 0, (operand,), hint
                )
    return None


def misplaced_value(flow: KernelWalk, failure: Misplaced) -> Counterexample | None:
    """The first tensor, of those that belong to the output's index alone, by which a replay shows the failure."""
    assert flow.spec is not None
    if flow.spec.amounts is not None:
        return None
    for source in flow.spec.sources.get(failure.axis, ()):
        try:
            found = _shown(flow, failure, source)
        except ExprError:  # the failing coordinate is loaded data, which no solver's model defines
            return None
        if found is not None:
            return found
    return None


def _shown(flow: KernelWalk, failure: Misplaced, source: Tensor) -> Counterexample | None:
    assert flow.spec is not None
    output = flow.spec.output
    extent = flow.spec.shape[(flow.spec.placed | flow.spec.partly)[failure.axis]]
    width = source.shape[flow.tables.tensor_axes[source].index(failure.axis)]
    inside = [failure.holds.ne(failure.stored), failure.stored.lt(extent), failure.stored.ge(0)]
    inside += [failure.holds.lt(width), failure.holds.ge(0)]
    found = smallest_execution(flow.kernel, flow.prover, failure.place, inside)
    if found is None:
        return None
    execution, values = found
    if overlaps(source, execution.sizes):  # what it holds may be the right element by another name
        return None
    env = {v.name: n for v, n in values.items()}
    holds = int(E.evaluate(failure.holds, env))
    name = flow.tables.axis_names[failure.axis]
    access = failure.op.access
    w, lane = failure.thread
    where = _element_index(access, execution, w, lane, failure.element)
    confirmed = influence(
        flow.kernel, execution, source, {name: holds}, lambda o, _: _at(o, output, where, execution)
    )  # fmt: skip
    if not confirmed:
        return None
    coords = dict(zip(output.axes, where, strict=True))
    named = ", ".join(f"{a}={c}" for a, c in coords.items())
    text = f"stores a value of {name}={holds} ({source.name}) to {output.name}[{named}]"
    operand = Party("value", 64 * w + lane, failure.element, text, output.name, coords, span=failure.op.span)
    message = f"a value is stored at another {name} than it was computed for"
    return Counterexample(
        "placed", failure.op.span, failure.op.id, message, execution.sizes, execution.block, execution.loops, w,
        (operand,), "make the coordinates of the store follow the accumulator's lane map and the operands' order",
    )  # fmt: skip

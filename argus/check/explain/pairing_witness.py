"""Counterexamples of `conform`: two elements that meet in a matrix instruction, seen by the interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from argus.check.domain.tags import SITE_SHIFT, Case
from argus.check.explain.accumulator_witness import accumulator_example
from argus.check.explain.findings import op_at
from argus.check.explain.witness import Execution, Held, decode, replay, smallest_execution
from argus.check.report import Counterexample, Party, Site
from argus.check.transfer.matrix import LaneMaps, Mismatch, lane_maps
from argus.check.walk import KernelWalk
from argus.ir import interp, ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec.tree import IndexReduction, SpecNode
from argus.spec.walk import product_of_elements, walk

if TYPE_CHECKING:
    from argus.check.rules.conform import Failure


@dataclass(frozen=True, slots=True)
class _Holder:
    """One register element that takes part: which operand, lane and element."""

    name: str
    value: Value
    case: Case
    wave: int
    lane: int
    element: int


_HELP = (
    "load both operands with the layout they were stored with, and give both the same order of k "
    "(same swizzle, same fragment width)"
)


def _holders(failure: Failure) -> tuple[_Holder, _Holder]:
    maps, m = lane_maps(failure.op.inst), failure.mismatch
    if m.kind == "column":
        return _b(failure, maps, m, m.other_k), _b(failure, maps, m, m.k)
    if m.kind == "row":
        return _a(failure, maps, m, m.other_k), _a(failure, maps, m, m.k)
    return _a(failure, maps, m, m.k), _b(failure, maps, m, m.k)


def _a(failure: Failure, maps: LaneMaps, m: Mismatch, k: int) -> _Holder:
    at = (m.block, m.i, k)
    return _Holder("a", failure.op.a, failure.a, m.wave, int(maps.a_lane[at]), int(maps.a_element[at]))


def _b(failure: Failure, maps: LaneMaps, m: Mismatch, k: int) -> _Holder:
    at = (m.block, m.j, k)
    return _Holder("b", failure.op.b, failure.b, m.wave, int(maps.b_lane[at]), int(maps.b_element[at]))


def _coordinate(flow: KernelWalk, failure: Failure, holder: _Holder) -> Expr | None:
    """Where the element stands on the axis of the mismatch; None if it has no such axis."""
    at, axis = (holder.wave, holder.lane, holder.element), failure.mismatch.axis
    return flow.tables.coordinate(int(holder.case.record[at]), axis, int(holder.case.offset[at][axis]))


def _difference(flow: KernelWalk, failure: Failure, holders: tuple[_Holder, _Holder]) -> Expr:
    """The condition that both coordinates differ, inside their tensors so that the replay can see them."""
    sides: list[Expr | None] = []
    inside: list[Expr] = []
    tensors = {t.name: t for t in flow.kernel.tensors}
    for h in holders:
        at = (h.wave, h.lane, h.element)
        number, offset = int(h.case.record[at]), h.case.offset[at]
        sides.append(_coordinate(flow, failure, h))
        tensor = tensors.get(flow.tables[number].label)
        for axis, extent in zip(flow.tables.tensor_axes[tensor], tensor.shape, strict=True) if tensor else ():
            coordinate = flow.tables.coordinate(number, axis, int(offset[axis]))
            if coordinate is not None:
                inside += [coordinate.ge(0), coordinate.lt(extent)]
    differ = E.TRUE if sides[0] is None or sides[1] is None else sides[0].ne(sides[1])
    return E.land(differ, *inside)


def _observe(
    flow: KernelWalk, op: ops.Mfma, execution: Execution, holders: tuple[_Holder, ...]
) -> tuple[Held, ...] | None:
    seen: list[Held] = []

    def watch(event: interp.OpEvent) -> None:
        if seen or event.wave != holders[0].wave or event.loops != execution.loops:
            return
        for holder in holders:
            register = event.operands[0 if holder.name == "a" else 1]
            code = int(register.code[holder.lane, holder.element])
            seen.append(decode(flow.kernel, code, execution.sizes))

    outcome = replay(flow.kernel, execution, {op.id: watch})
    return tuple(seen) if outcome is not None and len(seen) == len(holders) else None


def _on_axis(held: Held, axis: str) -> int | None:
    if held.tensor is None or axis not in held.tensor.axes:
        return None
    return held.coords[held.tensor.axes.index(axis)]


def _operand(flow: KernelWalk, holder: _Holder, held: Held) -> Party:
    tensor = held.tensor
    assert tensor is not None
    coords = dict(zip(tensor.axes, held.coords, strict=True))
    text = f"holds {tensor.name}[{', '.join(f'{a}={c}' for a, c in coords.items())}]"
    site = int(holder.case.site[holder.wave, holder.lane, holder.element])
    written = None
    if site >= 0:
        written = Site(op_at(flow.kernel, site >> SITE_SHIFT).span, site & ((1 << SITE_SHIFT) - 1))
    thread = 64 * holder.wave + holder.lane
    return Party(holder.name, thread, holder.element, text, tensor.name, coords, written_at=written)


def _outer_axes(kernel: Kernel) -> set[str]:
    """Axes on which the factors of a specified sum have different indices: M of sum(A[m, k] * A[n, k], k)."""
    tensors = {tensor.name: tensor for tensor in kernel.tensors}
    found: set[str] = set()
    for result in kernel.computes.results if kernel.computes is not None else ():
        for node in walk(result.expression):
            elements = (product_of_elements(node.body) or []) if isinstance(node, IndexReduction) else []
            indices: dict[str, set[SpecNode]] = {}
            for element in elements:
                for axis, index in zip(tensors[element.tensor].axes, element.indices, strict=True):
                    indices.setdefault(axis, set()).add(index)
            found |= {axis for axis, used in indices.items() if len(used) > 1}
    return found


def mismatched_pair(flow: KernelWalk, failure: Failure) -> Counterexample | str:
    """A replayed counterexample, or why there is none."""
    holders = _holders(failure)
    axis = flow.tables.axis_names[failure.mismatch.axis]
    if flow.spec is not None and failure.mismatch.axis in flow.spec.hints.windows:
        return f"elements at several {axis} are summed, and that these are the specified neighbors is not followed"
    if axis in _outer_axes(flow.kernel):
        told = f"the specification multiplies elements at different {axis}, which one name does not tell apart"
        return f"{told}: give that axis of one operand another name, and one tensor twice as two arguments"
    if failure.mismatch.kind == "accumulator":
        coordinates = [_coordinate(flow, failure, holder) for holder in holders]
        product = next((c for c in coordinates if c is not None), None)
        return accumulator_example(flow, failure.op, failure.place, failure.mismatch, failure.c, product)
    condition = _difference(flow, failure, holders)
    found = smallest_execution(flow.kernel, flow.prover, failure.place, (condition,))
    if found is None:
        return f"the operands differ on {axis}, but no launch that shows it was found"
    execution, _ = found
    seen = _observe(flow, failure.op, execution, holders)
    if seen is None:
        return f"the operands may differ on {axis}, but the execution could not be replayed"
    coords = [_on_axis(held, axis) for held in seen]
    if any(c is None for c in coords) or coords[0] == coords[1]:
        return f"the operands may differ on {axis}, but the replay does not show it"
    operands = tuple(_operand(flow, h, held) for h, held in zip(holders, seen, strict=True))
    message = {
        "pair": f"the operands of an MFMA do not pair the same {axis}",
        "row": f"one row of an MFMA's first operand mixes different {axis}",
        "column": f"one column of an MFMA's second operand mixes different {axis}",
    }[failure.mismatch.kind]
    op, m = failure.op, failure.mismatch
    loops = dict(execution.loops) | dict(op.site)
    return Counterexample(
        "conform", op.span, op.id, message, execution.sizes, execution.block, loops, m.wave, operands, _HELP
    )

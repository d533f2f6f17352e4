"""Counterexamples for accumulators: an MFMA adds products of one row to a sum of another.

The accumulator is a computed value, so provenance does not name it. A launch is looked for at which the row that the
tags say is in the accumulator is another than that of the products; its replay changes that input row, and watches the
accumulator's element change although the instruction works on another one.
A sum over an axis that no output has may be meant: it is no counterexample unless the specification says otherwise.
"""

from __future__ import annotations

import numpy as np

from argus.check.domain.tags import Case
from argus.check.events import ProgramPoint
from argus.check.explain.witness import influence, smallest_execution
from argus.check.report import Counterexample, Party
from argus.check.transfer.matrix import Mismatch, lane_maps
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.layout import expr as E


def accumulator_example(
    flow: KernelWalk, op: ops.Mfma, place: ProgramPoint, m: Mismatch, c: Case, product: E.Expr | None
) -> Counterexample | str:
    """A replayed counterexample, or why there is none. `product`: the products' coordinate on the axis."""
    maps = lane_maps(op.inst)
    name = flow.tables.axis_names[m.axis]
    if _may_be_summed(flow, m.axis):
        return f"the accumulator adds up several {name}, an axis no output has: nothing says that this is meant"
    here = (maps.d_block == m.block) & (maps.d_i == m.i) & (maps.d_j == m.j)
    lane, element = (int(v) for v in np.argwhere(here)[0])
    at = (m.wave, lane, element)
    coordinate = flow.tables.coordinate(int(c.record[at]), m.axis, int(c.offset[at][m.axis]))
    sources = [t for t in flow.kernel.tensors if t.read and m.axis in flow.tables.tensor_axes[t]]
    differ = None if coordinate is None or product is None else coordinate.ne(product)
    found = None if differ is None else smallest_execution(flow.kernel, flow.prover, place, (differ,))
    if coordinate is None or not sources or found is None:
        return f"the accumulator may belong to another {name}, but no launch that shows it was found"
    execution, values = found
    value = int(E.evaluate(coordinate, {v.name: n for v, n in values.items()}))
    changes = influence(
        flow.kernel, execution, sources[0], {name: value},
        lambda _, seen: float(seen[0][lane, element]) if seen else None, (op.id, m.wave, 2),
    )  # fmt: skip
    if not changes:
        return f"the accumulator may belong to another {name}, but the replay does not show it"
    text = f"accumulates onto a sum of {name}={value} ({sources[0].name})"
    operand = Party("c", 64 * m.wave + lane, element, text, sources[0].name, {name: value}, span=op.span)
    message = f"an MFMA adds products of another {name} to its accumulator"
    loops = dict(execution.loops) | dict(op.site)
    hint = "accumulate each tile of the result onto its own accumulator"
    return Counterexample(
        "conform", op.span, op.id, message, execution.sizes, execution.block, loops, m.wave, (operand,), hint
    )


def _may_be_summed(flow: KernelWalk, axis: int) -> bool:
    """An axis of inputs alone (the taps of a convolution), unless the specification says that it is not summed over."""
    kept = any(axis in flow.tables.tensor_axes[t] for t in flow.kernel.tensors if t.written)
    own = any(axis in flow.tables.tensor_axes[t] for t in flow.kernel.tensors)
    return own and not kept and (flow.spec is None or axis in flow.spec.summed)

"""Where a value stops being followed: the op of which every operand has a term and the result has none.

    bits = ag.v_perm_b32(h, h, 0x03020100)        <- here: the table does not say what formula that is
    z = bits.bitcast(f32) * scale
    Y[m].store(z + 1.0, …)                           what is stored was computed in a way that is not followed

Tags are those of the last visit, so of a loop that is its last abstract iteration.
"""

from __future__ import annotations

from argus.check.domain.record_numbers import distinct
from argus.check.terms.atoms import UNKNOWN
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Op
from argus.ir.types import Value

KINDS = ("element", "value", "plain")


def lost_at(flow: KernelWalk, stored: Value) -> Op | None:
    """The first op on the way to a value, from its end, that loses its term; None if it has one, or none ever had."""
    makers: dict[Value, tuple[Op, tuple[Value, ...]]] = {}
    for op in ops.walk(flow.kernel.body):
        makers |= {made: (op, sources) for made, sources in op.sources or [(v, op.operands) for v in op.results]}
    open_, seen = [stored], {stored}
    while open_:
        made = open_.pop()
        if made not in makers or not _lost(flow, made):
            continue
        op, sources = makers[made]
        behind = [value for value in sources if _lost(flow, value)]
        if not behind and op.results:
            return op
        open_ += [value for value in behind if value not in seen]
        seen |= set(behind)
    return None


def _lost(flow: KernelWalk, value: Value) -> bool:
    """Some element of the value has no term."""
    tags = flow.values.get(value)
    if tags is None:
        return False
    records = {int(n) for case in tags.cases for n in distinct(case.record)}
    return any(
        r.term == UNKNOWN and ((r.kind in KINDS and r.expr is None) or r.kind == "lost")
        for r in map(flow.tables.__getitem__, records)
    )

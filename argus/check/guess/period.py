"""The period of a loop: after how many iterations its addresses in LDS and its barriers repeat."""

from __future__ import annotations

from math import gcd, lcm

from argus.check.invariant.loop_shape import MAX_PERIOD
from argus.ir import ops
from argus.ir.ops import Op
from argus.layout import expr as E
from argus.layout.expr import Expr


def period_of(op: ops.For) -> int:
    """After how many iterations LDS addresses, and conditions that decide who touches LDS or meets at a barrier, repeat
    their dependence on the loop variable through `%`."""
    period = 1
    for inner in ops.walk(op.body):
        for e in _deciding(inner):
            for node in E.postorder(e):
                if node.op == "mod" and node.args[1].op == "const" and op.var in node.free():
                    coefficient = E.linear(node.args[0])[0].get(op.var, 0) * op.step
                    if coefficient:
                        modulus = node.args[1].value
                        period = lcm(period, modulus // gcd(modulus, coefficient))
    return period if period <= MAX_PERIOD else 1


def _deciding(op: Op) -> list[Expr]:
    """Expressions of an op that LDS contents and the order of waves depend on."""
    found = [touched.address for touched in op.footprints if touched.space == "lds"]
    if isinstance(op, ops.If) and any(map(_orders_waves, ops.walk([*op.then, *op.orelse]))):
        found.append(op.cond)
    return found


def _orders_waves(op: Op) -> bool:
    return isinstance(op, ops.Barrier) or any(touched.space == "lds" for touched in op.footprints)

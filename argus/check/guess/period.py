"""The period of a loop: after how many iterations its addresses in LDS repeat."""

from __future__ import annotations

from math import gcd, lcm

from argus.check.invariant.loop_shape import MAX_PERIOD
from argus.ir import ops
from argus.layout import expr as E


def period_of(op: ops.For) -> int:
    """After how many iterations LDS addresses repeat their dependence on the loop variable through `%`."""
    period = 1
    for inner in ops.walk(op.body):
        for touched in inner.footprints:
            if touched.space != "lds":
                continue
            for node in E.postorder(touched.address):
                if node.op == "mod" and node.args[1].op == "const" and op.var in node.free():
                    coefficient = E.linear(node.args[0])[0].get(op.var, 0) * op.step
                    if coefficient:
                        modulus = node.args[1].value
                        period = lcm(period, modulus // gcd(modulus, coefficient))
    return period if period <= MAX_PERIOD else 1

"""Conditions on own coordinates, written alike, so that equal ones are found equal.

one_way(n < N)        n + 1 <= N
one_way(N > n)        n + 1 <= N
"""

from __future__ import annotations

from argus.layout import expr as E
from argus.layout.expr import Expr


def one_way(condition: Expr) -> Expr:
    """Comparisons written alike: no negative terms on either side, <= for <."""
    if condition.op in ("land", "lor"):
        parts = [one_way(part) for part in condition.args]
        return E.land(*parts) if condition.op == "land" else E.lor(*parts)
    if condition.op not in ("lt", "le", "eq", "ne"):
        return condition
    atoms, constant = E.linear(condition.args[0] - condition.args[1])
    constant += condition.op == "lt"
    left, right = E.const(max(constant, 0)), E.const(max(-constant, 0))
    for atom, k in atoms.items():
        left, right = (left + k * atom, right) if k > 0 else (left, right - k * atom)
    if condition.op in ("lt", "le"):
        return left.le(right)
    return left.eq(right) if condition.op == "eq" else left.ne(right)

"""Numbers: index arithmetic has 32 bits, and wraps around.

The checker computes with whole numbers. A sum or product may wrap on the way, since the last 32 bits are right all the
same; what is compared, divided, chosen from or counted to must fit:

    if m >= s * 2147483647: …        with s up to 2 the right side is 4294967294, on the machine -2
    y[ag.min(a * b, n)]              a * b must fit, though it stands in an address
    x // s                           s must be positive
    x >> s                           s must be 0 … 31: the machine takes the amount modulo 32, numbers do not

`needs(e)` lists what must hold for the machine's value of e to be e modulo 2**32.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.layout.node import postorder

LEAST, MOST = -(2**31), 2**31 - 1
AMOUNTS = (0, 31)
RING = frozenset({"add", "mul", "xor", "and", "or", "const", "var", "not", "land", "lor", "apply"})
"""Operations whose last 32 bits follow from those of their operands, and connectives of truths."""


@dataclass(frozen=True, slots=True)
class Need:
    """`number` must lie in low … high."""

    number: Expr
    low: int = LEAST
    high: int = MOST

    @property
    def plain(self) -> bool:
        """It does, by the bounds of its variables. Variables themselves are 32-bit registers."""
        if self.number.op == "var" and (self.low, self.high) == (LEAST, MOST):
            return True
        low, high = self.number.lo, self.number.hi
        return low is not None and high is not None and low >= self.low and high <= self.high

    @property
    def condition(self) -> Expr:
        return E.land(self.number.ge(self.low), self.number.le(self.high))


def needs(e: Expr, whole: bool = False) -> tuple[Need, ...]:
    """What must fit inside e, and with `whole` e itself; what plainly fits is left out."""
    found: list[Need] = []
    for node in postorder(e):
        if node.op in RING or _low_bits(node):
            continue
        if node.op == "shl":
            found.append(Need(node.args[1], *AMOUNTS))
        elif node.op == "shr":
            found += [Need(node.args[0]), Need(node.args[1], *AMOUNTS)]
        elif node.op in ("floordiv", "mod"):
            found += [Need(node.args[0]), *(() if _shifted(node) else (Need(node.args[1], low=1),))]
        else:
            found += [Need(arg) for arg in node.args if not arg.boolean]
    if whole and not e.boolean:
        found.append(Need(e))
    return tuple(need for need in dict.fromkeys(found) if not need.plain)


def _shifted(node: Expr) -> bool:
    """A quotient by 2**31 is a shift by 31, though the divisor does not fit itself."""
    return node.op == "floordiv" and node.args[1].op == "const" and node.args[1].value == 2**31


def _low_bits(node: Expr) -> bool:
    """A remainder by a power of two is the low bits of a number, whether it fits or not."""
    if node.op != "mod" or node.args[1].op != "const":
        return False
    divisor = node.args[1].value
    return 0 < divisor <= 2**31 and divisor & (divisor - 1) == 0

"""What terms are made of: elements of tensors, numbers, functions, conditions, reductions, what a loop carries.

See `terms.py` for what a term is. Terms are numbers here (they are interned there): UNKNOWN, ZERO and ONE are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

from argus.check.domain.reduction_footprint import ReducedFootprint
from argus.layout import expr as E
from argus.layout.expr import Expr

UNKNOWN, ZERO, ONE = 0, 1, 2

Factors = tuple[tuple[int, int], ...]
Mono = tuple[Factors, int]
"""Powers of atoms, as (atom, twice the exponent), and the argument of the exponential (ZERO: none)."""
Reduction = Literal["sum", "prod", "max", "min"]
NEUTRAL: dict[Reduction, float] = {"sum": 0, "prod": 1, "max": -inf, "min": inf}
"""What a reduction of nothing is."""
UNIT: Mono = ((), ZERO)
_OWN = "own_coordinate_on_axis_"


def own(axis: int) -> Expr:
    """The element's own coordinate on an axis, in conditions."""
    return E.var(f"{_OWN}{axis}")


def axis_of(v: Expr) -> int | None:
    return int(v.name.removeprefix(_OWN)) if v.op == "var" and v.name.startswith(_OWN) else None


@dataclass(frozen=True, slots=True)
class Leaf:
    """An element of a tensor at the own coordinates of `axes`, or at formulas `at` of them."""

    tensor: str
    axes: tuple[int, ...]
    at: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is the same everywhere: a scalar argument, or an expression over sizes."""

    name: str | Expr


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The own coordinate on an axis, as a number."""

    axis: int


@dataclass(frozen=True, slots=True)
class Apply:
    """A function nothing is known about, of terms. `max`, `min`: two or more arguments in canonical order."""

    fn: str
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A whole term as base of a power."""

    base: int


@dataclass(frozen=True, slots=True)
class Where:
    """1 where the condition on own coordinates holds, else 0; or `yes` and `no`."""

    condition: Expr
    yes: int = ONE
    no: int = ZERO


class Reduce(NamedTuple):
    """`op` of `body` over the coordinates taken on an axis. `domain` stands for `reduction_footprint` once that is
    known to be it."""

    op: Reduction
    axis: int
    body: int
    footprint: ReducedFootprint
    domain: Expr | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """What slot `slot` of loop `loop` holds at the head of the iteration `counter`, at the own coordinates of `axes`,
    in the iterations `around` of the loops around it. Without a counter: what arrived in the slot, while an invariant
    is being guessed. `top`: a maximum that is one of the values it is taken over; `positive`: greater than zero."""

    loop: int
    slot: int
    counter: Expr | None = None
    axes: tuple[int, ...] = ()
    around: tuple[Expr, ...] = ()
    kind: Literal["top", "positive", "any"] = "top"


Atom = Leaf | Number | Coordinate | Apply | Power | Where | Reduce | Carried


def parts_of(atom: Atom) -> list[int]:
    """The terms an atom is made of."""
    match atom:
        case Apply(args=args):
            return list(args)
        case Power(base=base):
            return [base]
        case Where(yes=yes, no=no):
            return [yes, no]
        case Reduce(body=body):
            return [body]
        case _:
            return []


def axes_in(condition: Expr) -> frozenset[int]:
    """Axes whose own coordinate a condition speaks of."""
    return frozenset(a for a in (axis_of(v) for v in condition.free()) if a is not None)

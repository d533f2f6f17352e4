"""Comparisons of values, and selections by them, written alike.

    -y > -x,  x - y > 0,  y < x             gt(x - y, 0)
    x <= 5                                  ge(-x, -5)
    5 == x,   x - 5 == 0                    eq(x, 5)
    select(gt(x, 0), v, v)                  v
    select(gt(x, 0), x, 0)                  max(x, 0)

A comparison is one of the difference of its sides with a number: over real numbers that is the same, and the difference
keeps what is undefined in what cancels (`definedness`). A comparison is never turned around by `not`: of a NaN both it
and its opposite are false.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from argus.check.terms.atoms import UNIT, UNKNOWN, ZERO, Apply

if TYPE_CHECKING:
    from argus.check.terms.normal_form import Terms

_TURNED = {"lt": "gt", "le": "ge"}
COMPARED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def compared(terms: Terms, fn: str, x: int, y: int) -> int:
    """x < y and its kin."""
    values = [v for v in (terms.value(x), terms.value(y)) if v is not None]
    if not all(map(isfinite, values)):
        return terms.atom(Apply(fn, (x, y)))
    if fn in _TURNED:
        fn, x, y = _TURNED[fn], y, x
    apart = terms.add(x, terms.negative(y))
    constant = dict(terms[apart]).get(UNIT, 0) if apart else 0
    rest = terms.add(apart, terms.constant(-constant))
    if rest == UNKNOWN:
        return UNKNOWN
    if rest == ZERO:
        truth = {"gt": constant > 0, "ge": constant >= 0, "eq": constant == 0, "ne": constant != 0}
        return terms.constant(int(truth[fn]))
    if fn in ("eq", "ne") and terms[rest][0][1] < 0:
        rest, constant = terms.negative(rest), -constant
    return terms.atom(Apply(fn, (rest, terms.constant(-constant))))


def chosen(terms: Terms, test: int, yes: int, no: int) -> int:
    """The selection by a test of values. `yes if x < y else no` is max(yes, no) where yes - no grows with y - x, and
    min(yes, no) where it falls: at the edge of the test both sides are equal, so it does not matter whether that
    belongs to it. So `x if x > 0 else 0` and `x if x > 0 else 0.1 * x` are maxima."""
    truth = terms.value(test)
    if yes == no or truth is not None:
        return no if truth == 0 else yes
    atom = terms.as_atom(test)
    if isinstance(atom, Apply) and atom.fn in ("gt", "ge") and len(atom.args) == 2:
        factor = _multiple(terms, _difference(terms, yes, no), _difference(terms, *atom.args))
        if factor is not None:
            return terms.extreme("max" if factor > 0 else "min", (yes, no))
    return terms.atom(Apply("select", (test, yes, no)))


def _difference(terms: Terms, x: int, y: int) -> int:
    """x - y; not known where one of them is infinite."""
    values = [v for v in (terms.value(x), terms.value(y)) if v is not None]
    return terms.add(x, terms.negative(y), formal=True) if all(map(isfinite, values)) else UNKNOWN


def _multiple(terms: Terms, x: int, y: int) -> float | None:
    """The number t with x = t * y, if there is one that is not 0."""
    if UNKNOWN in (x, y) or ZERO in (x, y) or len(terms[x]) != len(terms[y]):
        return None
    of_y = dict(terms[y])
    mono, c = terms[x][0]
    if mono not in of_y:
        return None
    factor = c / of_y[mono]
    return factor if isfinite(factor) and factor and terms.scaled(y, factor) == x else None

"""Terms as text for people, in the notation of specifications.

X[M, N] * exp2(...) / sum(exp2(...), N)        an axis stands for the element's own coordinate on it
"""

from __future__ import annotations

from argus.check.domain.records import Tables
from argus.check.terms.atoms import (
    ONE,
    UNKNOWN,
    ZERO,
    Apply,
    Atom,
    Carried,
    Coordinate,
    Leaf,
    Mono,
    Number,
    Power,
    Reduce,
    Where,
    own,
)
from argus.layout.expr import Expr

LIMIT = 160


def shown(term: int, tables: Tables) -> str:
    """The term, shortened where it is long."""
    text = _term(term, tables)
    return text if len(text) <= LIMIT else text[: LIMIT - 2] + " …"


def shown_factor(atom: int, twice: int, tables: Tables) -> str:
    """An atom with its power, as a factor of a product."""
    text = _power(tables.terms.atoms[atom], abs(twice), tables)
    return text if twice > 0 else f"1 / {text}"


def _term(term: int, tables: Tables) -> str:
    if term == UNKNOWN:
        return "?"
    if term == ZERO:
        return "0"
    parts = [_monomial(mono, c, tables) for mono, c in tables.terms[term]]
    return " + ".join(parts).replace("+ -", "- ")


def _monomial(mono: Mono, c: float, tables: Tables) -> str:
    over = [_power(tables.terms.atoms[n], e, tables) for n, e in mono[0] if e > 0]
    under = [_power(tables.terms.atoms[n], -e, tables) for n, e in mono[0] if e < 0]
    if mono[1] != ZERO:
        over.append(f"exp2({_term(mono[1], tables)})")
    number = "" if abs(c) == 1 and over else str(abs(c)) if isinstance(c, int) else f"{abs(c):.6g}"
    text = " * ".join(([number] if number else []) + over)
    return ("-" if c < 0 else "") + " / ".join([text, *under])


def _power(atom: Atom, twice: int, tables: Tables) -> str:
    text = _atom(atom, tables)
    if twice == 1:
        return f"sqrt({text})"
    return text if twice == 2 else f"{text}**{twice / 2:g}"


def _atom(atom: Atom, tables: Tables) -> str:
    match atom:
        case Leaf(tensor=tensor, at=at) if at:
            return f"{tensor}[{', '.join(named(place, tables) for place in at)}]"
        case Leaf(tensor=tensor, axes=axes):
            return f"{tensor}[{', '.join(tables.axis_names[a] for a in axes)}]"
        case Number(name=name):
            return str(name)
        case Coordinate(axis=axis):
            return tables.axis_names[axis]
        case Apply(fn=fn, args=args):
            return f"{fn}({', '.join(_term(a, tables) for a in args)})"
        case Power(base=base):
            return f"({_term(base, tables)})"
        case Where(condition=condition, yes=yes, no=no):
            held = named(condition, tables)
            if (yes, no) == (ONE, ZERO):
                return f"({held})"
            return f"where({held}, {_term(yes, tables)}, {_term(no, tables)})"
        case Reduce(op=op, axis=axis, body=body):
            partly = "" if atom.domain is not None else "part of "
            return f"{op}({_term(body, tables)}, {partly}{tables.axis_names[axis]})"
        case Carried(slot=slot):
            return f"carried{slot}"


def named(condition: Expr, tables: Tables) -> str:
    """A condition on own coordinates with the names of the axes."""
    text = str(condition)
    for axis in reversed(range(tables.width)):
        if axis < len(tables.axis_names):
            text = text.replace(own(axis).name, tables.axis_names[axis])
    return text

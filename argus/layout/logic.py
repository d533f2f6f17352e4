"""Comparisons, truth values, selection, minimum and maximum.

    i.lt(64)                       TRUE when i's bounds say so, else the comparison
    (kt*64 + x).lt(kt*64 + y)      -> x < y                 what both sides share cancels
    select(c, a, a)                -> a
    lnot(a.lt(b))                  -> b <= a                negation is pushed into comparisons

Truth values are the distinct constants TRUE and FALSE, so `e.boolean` is reliable even after folding.  Used as
integers they are 1 and 0.  What it cannot do: facts do not flow from a condition into the arms it guards; that is
the checker's work.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from argus.layout.arith import CACHED_SUMS, add, from_terms, scale, terms
from argus.layout.node import BUILDERS, FALSE, TRUE, Expr, ExprLike, as_expr, const, make


def as_condition(x: ExprLike) -> Expr:
    """A truth value: booleans as they are, integers by `!= 0`."""
    e = as_expr(x)
    return e if e.boolean else ne(e, const(0))


def _truth(value: bool) -> Expr:
    return TRUE if value else FALSE


@lru_cache(maxsize=CACHED_SUMS)
def _balance(a: Expr, b: Expr) -> tuple[Expr, Expr, Expr]:
    """(a - b, a', b') where a' - b' == a - b and no atom occurs on both sides."""
    difference = add(a, scale(b, -1))
    parts, constant = terms(difference)
    left_parts, left_constant = terms(a)
    right_parts, right_constant = terms(b)
    shared = len(parts) < len(left_parts) + len(right_parts) or (left_constant != 0 and right_constant != 0)
    if not shared:
        return difference, a, b
    left = from_terms({atom: k for atom, k in parts.items() if k > 0}, max(constant, 0))
    right = from_terms({atom: -k for atom, k in parts.items() if k < 0}, max(-constant, 0))
    return difference, left, right


def lt(a: Expr, b: Expr) -> Expr:
    difference, left, right = _balance(a, b)
    if difference.hi is not None and difference.hi < 0:
        return TRUE  # a - b < 0 everywhere
    if difference.lo is not None and difference.lo >= 0:
        return FALSE
    return make("lt", (left, right))


def le(a: Expr, b: Expr) -> Expr:
    difference, left, right = _balance(a, b)
    if difference.hi is not None and difference.hi <= 0:
        return TRUE  # a - b <= 0 everywhere
    if difference.lo is not None and difference.lo > 0:
        return FALSE
    return make("le", (left, right))


def _decide_equal(difference: Expr) -> bool | None:
    if difference.op == "const":
        return difference.value == 0
    if (difference.lo is not None and difference.lo > 0) or (difference.hi is not None and difference.hi < 0):
        return False
    parts, constant = terms(difference)
    if constant % gcd(*parts.values()):
        return False  # every other term is a multiple of the gcd, so the sum cannot reach zero
    return None


def eq(a: Expr, b: Expr) -> Expr:
    difference, left, right = _balance(a, b)
    known = _decide_equal(difference)
    if known is not None:
        return _truth(known)
    return make("eq", tuple(sorted((left, right), key=lambda e: e.key)))


def ne(a: Expr, b: Expr) -> Expr:
    return lnot(eq(a, b))


_NEGATED = {"eq": "ne", "ne": "eq"}


def lnot(x: ExprLike) -> Expr:
    """The opposite truth value."""
    c = as_condition(x)
    if c.op == "const":
        return _truth(c.value == 0)
    if c.op == "not":
        return c.args[0]
    if c.op in _NEGATED:
        return make(_NEGATED[c.op], c.args)
    if c.op == "lt":
        return make("le", (c.args[1], c.args[0]))  # not a < b  ==  b <= a
    if c.op == "le":
        return make("lt", (c.args[1], c.args[0]))
    if c.op == "land":
        return lor(*(lnot(part) for part in c.args))  # De Morgan
    if c.op == "lor":
        return land(*(lnot(part) for part in c.args))
    return make("not", (c,))


@lru_cache(maxsize=CACHED_SUMS)
def _junction(op: str, absorbing: Expr, conditions: tuple[Expr, ...]) -> Expr:
    parts: dict[Expr, None] = {}
    for c in conditions:
        for part in c.args if c.op == op else (c,):
            if part is absorbing:
                return absorbing
            if part.op != "const":
                parts[part] = None
    if any(lnot(part) in parts for part in parts):
        return absorbing  # p and not p is false; p or not p is true
    ordered = tuple(sorted(parts, key=lambda e: e.key))
    if not ordered:
        return lnot(absorbing)
    return ordered[0] if len(ordered) == 1 else make(op, ordered)


def land(*conditions: ExprLike) -> Expr:
    """All of them hold."""
    return _junction("land", FALSE, tuple(as_condition(c) for c in conditions))


def lor(*conditions: ExprLike) -> Expr:
    """At least one of them holds."""
    return _junction("lor", TRUE, tuple(as_condition(c) for c in conditions))


def select(condition: ExprLike, a: ExprLike, b: ExprLike) -> Expr:
    """a where the condition holds, else b."""
    c, yes, no = as_condition(condition), as_expr(a), as_expr(b)
    if c.op == "const":
        return yes if c.value else no
    if yes is no:
        return yes
    if c.op == "not":
        return select(c.args[0], no, yes)
    if yes is TRUE and no is FALSE:
        return c
    if yes is FALSE and no is TRUE:
        return lnot(c)
    return make("select", (c, yes, no))


def _extreme(op: str, args: tuple[ExprLike, ...]) -> Expr:
    pick = min if op == "min" else max
    constant: int | None = None
    parts: dict[Expr, None] = {}
    for arg in args:
        e = as_expr(arg)
        for part in e.args if e.op == op else (e,):
            if part.op == "const":
                constant = part.value if constant is None else pick(constant, part.value)
            else:
                parts[part] = None
    operands = list(parts) + ([const(constant)] if constant is not None else [])
    kept = list(operands)
    for one in operands:
        if len(kept) > 1 and one in kept and any(_dominates(op, other, one) for other in kept if other is not one):
            kept.remove(one)
    kept = sorted((x for x in kept if x.op != "const"), key=lambda e: e.key) + [x for x in kept if x.op == "const"]
    return kept[0] if len(kept) == 1 else make(op, tuple(kept))


def _dominates(op: str, winner: Expr, loser: Expr) -> bool:
    """winner <= loser (for min) or winner >= loser (for max) everywhere, by bounds of the difference."""
    difference = add(winner, scale(loser, -1))
    if op == "min":
        return difference.hi is not None and difference.hi <= 0
    return difference.lo is not None and difference.lo >= 0


def minimum(*args: ExprLike) -> Expr:
    """The smallest of the arguments."""
    return _extreme("min", args)


def maximum(*args: ExprLike) -> Expr:
    """The largest of the arguments."""
    return _extreme("max", args)


BUILDERS.update(
    {
        "lt": lt,
        "le": le,
        "eq": eq,
        "ne": ne,
        "not": lnot,
        "land": land,
        "lor": lor,
        "select": select,
        "min": minimum,
        "max": maximum,
    }
)

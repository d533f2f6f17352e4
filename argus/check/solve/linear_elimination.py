"""Linear facts decided by hand: a contradiction by elimination.

    kt < K_64th,  64*K_64th <= 64*kt + 63
      ->  K_64th - kt - 1 >= 0,  64*kt - 64*K_64th + 63 >= 0      the second by 64, rounded down: kt - K_64th >= 0
      ->  -1 >= 0                                                 K_64th eliminated: the facts contradict each other

Nearly all questions of a kernel are of this kind, small, and asked by the dozen; a solver spends longer on being set up
than this takes. Facts become rows `sum of k*atom + c >= 0` over integers. What an atom is (a quotient, a remainder, a
minimum, a bounded variable) is said by further rows. Atoms are eliminated one by one (Fourier-Motzkin), outer ones
first; every new row is divided by what its factors have in common, and its constant rounded down, since atoms are
integers.

A row follows from the facts, so a contradiction is certain. Where none is found, the eliminated atoms are handed back
with the rows that went with them: numbers that may satisfy the facts are found by going through them backwards
(`model_reuse`). Everything else is left to the solver: products of variables are atoms of which only bounds are known,
and of `or` only a few combinations are looked at.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import gcd, prod

from argus.check.solve.limits import spend
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_ROWS = 48
MAX_ATOMS = 24
MAX_COMBINATIONS = 8

Row = tuple[dict[Expr, int], int]
"""sum of factor*atom + constant >= 0."""
Rows = tuple[Row, ...]
Eliminated = list[tuple[Expr, list[Row]]]
"""Atoms in the order in which they went, each with the rows it stood in."""


def contradict(facts: tuple[Expr, ...], split: bool = False) -> bool | Eliminated:
    """True: the facts cannot all hold. Else what was eliminated; nothing where that was given up. With `split`, a
    minimum or maximum is taken for one of its arguments after the other."""
    certain: list[Row] = []
    choices: list[tuple[Rows, ...]] = []
    extremes = dict.fromkeys(atom for fact in facts for atom in _extremes(fact)) if split else {}
    if split and not extremes:
        return []
    for ways in (*map(_ways, facts), *map(_arguments, extremes)):
        if len(ways) == 1:
            certain.extend(ways[0])
        elif prod(map(len, choices)) * len(ways) <= MAX_COMBINATIONS:
            choices.append(ways)
    for combination in product(*choices):
        found = _eliminated([*certain, *(row for rows in combination for row in rows)])
        if found is not True:
            return found
    return True


@lru_cache(maxsize=1 << 12)
def _ways(fact: Expr) -> tuple[Rows, ...]:
    """The rows that say the fact: one of these collections holds. A fact that is not linear says nothing."""
    match fact.op:
        case "const":
            return ((),) if fact.value else ((({}, -1),),)
        case "lt":
            return ((_difference(fact.args[1], fact.args[0], -1),),)
        case "le":
            return ((_difference(fact.args[1], fact.args[0]),),)
        case "eq":
            return ((_difference(fact.args[1], fact.args[0]), _difference(fact.args[0], fact.args[1])),)
        case "ne":
            return ((_difference(fact.args[1], fact.args[0], -1),), (_difference(fact.args[0], fact.args[1], -1),))
        case "land":
            parts = [_ways(part) for part in fact.args]
            if prod(map(len, parts)) <= MAX_COMBINATIONS:
                return tuple(tuple(row for rows in way for row in rows) for way in product(*parts))
            return (tuple(row for part in parts if len(part) == 1 for row in part[0]),)
        case "lor":
            return tuple(way for part in fact.args for way in _ways(part))
    return ((),)


@lru_cache(maxsize=1 << 12)
def _extremes(fact: Expr) -> tuple[Expr, ...]:
    return tuple(node for node in E.postorder(fact) if node.op in ("min", "max"))


def _arguments(extreme: Expr) -> tuple[Rows, ...]:
    """A minimum or maximum is one of its arguments: it is not further out than that one."""
    if extreme.op == "min":
        return tuple((_difference(extreme, arg),) for arg in extreme.args)
    return tuple((_difference(arg, extreme),) for arg in extreme.args)


def _difference(x: Expr, y: Expr, constant: int = 0) -> Row:
    """x - y + constant >= 0."""
    factors, own = E.linear(x)
    other, more = E.linear(y)
    factors = dict(factors)
    for atom, k in other.items():
        factors[atom] = factors.get(atom, 0) - k
    return factors, own - more + constant


@lru_cache(maxsize=1 << 12)
def _about(atom: Expr) -> Rows:
    """What is true of the atom everywhere."""
    rows: list[Row] = []
    if atom.lo is not None:
        rows.append(({atom: 1}, -atom.lo))
    if atom.hi is not None:
        rows.append(({atom: -1}, atom.hi))
    if atom.op in ("floordiv", "mod") and atom.args[1].op == "const" and atom.args[1].value > 0:
        x, c = atom.args[0], atom.args[1].value
        quotient = atom if atom.op == "floordiv" else E.as_expr(x // c)
        rest = E.as_expr(x - c * quotient)
        rows += [_difference(rest, E.const(0)), _difference(E.const(c - 1), rest)]
        if atom.op == "mod":
            rows += [_difference(rest, atom), _difference(atom, rest)]
    elif atom.op == "mod" and atom.args[1].lo is not None and atom.args[1].lo > 0:
        rows += [_difference(atom.args[1], atom, -1)]
    elif atom.op == "min":
        rows += [_difference(arg, atom) for arg in atom.args]
    elif atom.op == "max":
        rows += [_difference(atom, arg) for arg in atom.args]
    return tuple(rows)


class _Table:
    """Rows, of those with equal factors only the strongest. `false` when one of them cannot hold."""

    def __init__(self) -> None:
        self.rows: dict[frozenset[tuple[Expr, int]], Row] = {}
        self.false = False

    def add(self, row: Row) -> None:
        factors = {atom: k for atom, k in row[0].items() if k}
        constant = row[1]
        if not factors:
            self.false |= constant < 0
            return
        common = gcd(*factors.values())
        if common > 1:
            factors, constant = {atom: k // common for atom, k in factors.items()}, constant // common
        key = frozenset(factors.items())
        known = self.rows.get(key)
        if known is None or constant < known[1]:
            self.rows[key] = factors, constant


def _eliminated(rows: list[Row]) -> bool | Eliminated:
    table = _Table()
    seen: dict[Expr, None] = {}
    waiting = list(rows)
    while waiting:
        row = waiting.pop()
        table.add(row)
        for atom in row[0]:
            if atom not in seen:
                seen[atom] = None
                waiting.extend(_about(atom))
        if len(seen) > MAX_ATOMS:
            return []
    gone: Eliminated = []
    left = set(seen)
    while left and not table.false:
        atom = _next(left, table)
        left.remove(atom)
        gone.append((atom, _without(table, atom)))
        if len(table.rows) > MAX_ROWS:  # the next step can at most square this
            return []
    return True if table.false else gone


def _next(left: set[Expr], table: _Table) -> Expr:
    """Outer atoms go first, as what they are made of is then still there to be divided; then what makes few rows."""
    outer = [atom for atom in left if atom.op != "var"]
    if outer:
        return min(outer, key=lambda atom: (-atom.depth, atom.digest))
    above, below = dict.fromkeys(left, 0), dict.fromkeys(left, 0)
    for factors, _ in table.rows.values():
        for atom, k in factors.items():
            (above if k > 0 else below)[atom] += 1

    def made(atom: Expr) -> tuple[int, bytes]:
        return above[atom] * below[atom] - above[atom] - below[atom], atom.digest

    return min(left, key=made)


def _without(table: _Table, atom: Expr) -> list[Row]:
    """Replace the rows with the atom by what follows from them about the others; the rows that went."""
    with_it = {key: row for key, row in table.rows.items() if atom in row[0]}
    for key in with_it:
        del table.rows[key]
    above = [row for row in with_it.values() if row[0][atom] > 0]
    below = [row for row in with_it.values() if row[0][atom] < 0]
    spend(1 + len(above) * len(below))
    for low, low_constant in above:
        for high, high_constant in below:
            k, m = low[atom], -high[atom]
            factors = {other: m * n for other, n in low.items() if other is not atom}
            for other, n in high.items():
                if other is not atom:
                    factors[other] = factors.get(other, 0) + k * n
            table.add((factors, m * low_constant + k * high_constant))
    return list(with_it.values())

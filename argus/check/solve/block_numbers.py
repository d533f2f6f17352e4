"""Block numbers taken apart: bounds of quotients and remainders that are not linear, said as linear facts.

    x < T                                           a block of a grid of T = H*W blocks, or a turn of a loop
    n = x%8 * (T//8) + min(x%8, T%8) + x//8         dealt out to eight chiplets
    n // W, n % W                                   row and column
    g = n // (4*W); h = min(4, H - 4*g)             groups of four rows, the last one smaller
    r = n - 4*g*W; 4*g + r%h, r//h                  row and column

That all of these are inside H and W follows from products, which elimination does not multiply out. `digits_named`
gives such quotients, remainders and sums names, replaces equals by equals, and adds what is true of them:

    chiplets   n = x%c * (T//c) + min(x%c, T%c) + x//c       0 <= n < T: chiplet i has T//c blocks, one more if i < T%c
    digits     y = q*b + r, y < a*b                          0 <= q < a, 0 <= r < b
    groups     y = g*R*W + r, y < H*W, h = min(R, H - g*R)   0 <= g*R < H, 0 <= r < h*W; so r//h < W, g*R + r%h < H
    factors    0 < a*b, neither negative                     1 <= a <= a*b

Every model of the given facts is one of the result, with the names' values added; so if the result is contradictory,
the facts are. The other way round nothing is said: of a name only these bounds are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

Facts = tuple[Expr, ...]
Extents = dict[Expr, Expr]
"""Numbers that are not negative, with what they are below of."""
Step = tuple[Facts, Extents]

MAX_STEPS = 12


def digits_named(facts: Facts) -> Facts | None:
    """The facts with names for the digits of numbers below products; None where there are none."""
    extents = _extents(facts)
    used = {v.name for fact in facts for v in fact.free()}
    names = (name for n in count() if (name := f"digit_{n}") not in used)
    changed = False
    try:
        for _ in range(MAX_STEPS):
            step = next(_steps(facts, extents, names), None)
            if step is None:
                break
            facts, extents, changed = *step, True
    except ExprError:
        return None
    return facts if changed else None


def _extents(facts: Facts) -> Extents:
    found: Extents = {}
    for fact in facts:
        for part in fact.args if fact.op == "land" else (fact,):
            if part.op == "lt" and part.args[0].op == "var" and _natural(part.args[0], part.args[1]):
                found.setdefault(part.args[0], part.args[1])
    return {v: extent for v, extent in found.items() if v not in extent.free()}


def _steps(facts: Facts, extents: Extents, names: Iterator[str]) -> Iterator[Step]:
    nodes = list(dict.fromkeys(node for fact in facts for node in E.postorder(fact)))
    divided = [node for node in nodes if node.op in ("floordiv", "mod") and node.args[0] in extents]
    for rule in (_chiplets, _groups, _digits, _division):
        for node in divided:
            yield from rule(facts, extents, nodes, node, names)


def _chiplets(facts: Facts, extents: Extents, nodes: list[Expr], node: Expr, names: Iterator[str]) -> Iterator[Step]:
    x, c = node.args
    if node.op != "mod" or c.op != "const" or c.value < 2 or (x // c).op != "floordiv":
        return
    total = extents[x]
    start = node * (total // c) + E.minimum(node, total % c)
    if any(_holds_terms(other, start + x // c) for other in nodes if other.op == "add"):
        number = E.var(next(names), 0)
        changed = _put(facts, {x // c: number - start})
        yield (*changed, number.lt(total)), _without(extents, x) | {number: total}


def _holds_terms(e: Expr, wanted: Expr) -> bool:
    """All terms of a sum are terms of another."""
    terms = E.linear(e)[0]
    return all(terms.get(atom) == k for atom, k in E.linear(wanted)[0].items())


def _groups(facts: Facts, extents: Extents, nodes: list[Expr], node: Expr, names: Iterator[str]) -> Iterator[Step]:
    y, size = node.args
    total = extents[y]
    for rows in heights(nodes):
        width = cofactor(size, E.const(rows))
        height = None if width is None else cofactor(total, width)
        if width is None or height is None or not _natural(height, width):
            continue
        group, rest, column, row = (E.var(next(names), 0) for _ in range(4))
        here, inner = E.minimum(E.const(rows), height - group * rows), row - group * rows
        changed = _put(facts, parts(y, size, group, rest) | {y: group * size + rest})
        if not any(here in E.postorder(fact) for fact in changed):
            continue
        known = (
            (group * rows).le(row), row.lt(height), row.lt((group + 1) * rows), column.lt(width),
            rest.lt(size), rest.lt(total), *_factors(total, height, width),
        )  # fmt: skip
        changed = _put(changed, parts(rest, here, column, inner))
        yield (*changed, *known), _without(extents, y) | {row: height, column: width}


def _digits(facts: Facts, extents: Extents, nodes: list[Expr], node: Expr, names: Iterator[str]) -> Iterator[Step]:
    y, b = node.args
    a = cofactor(extents[y], b)
    if b.op == "const" or a is None or not _natural(a, b):
        return
    high, low = (E.var(next(names), 0) for _ in range(2))
    changed = _put(facts, parts(y, b, high, low) | {y: high * b + low})
    known = (high.lt(a), low.lt(b), *_factors(extents[y], a, b))
    yield (*changed, *known), _without(extents, y) | {high: a, low: b}


def _division(facts: Facts, extents: Extents, nodes: list[Expr], node: Expr, names: Iterator[str]) -> Iterator[Step]:
    y, b = node.args
    factors = [factor for factor in _product(b) if cofactor(extents[y], factor) is not None]
    if b.op == "const" or len(factors) < len(_product(b)) or not _natural(*factors, extents[y]):
        return
    high, low = (E.var(next(names), 0) for _ in range(2))
    changed = _put(facts, parts(y, b, high, low) | {y: high * b + low})
    known = (high.lt(extents[y]), low.lt(extents[y]), low.lt(b), *_factors(extents[y], *factors))
    yield (*changed, *known), _without(extents, y) | {high: extents[y], low: b}


def _factors(total: Expr, *factors: Expr) -> Iterator[Expr]:
    """There is a number below the product of factors that are not negative."""
    for factor in factors:
        yield factor.ge(1)
        yield factor.le(total)


def _product(e: Expr) -> tuple[Expr, ...]:
    """The factors of a product but for a positive constant; the number itself where it is none."""
    terms, constant = E.linear(e)
    if constant or len(terms) != 1 or next(iter(terms.values())) < 0:
        return (e,)
    atom = next(iter(terms))
    return atom.args if atom.op == "mul" else (atom,)


def heights(nodes: Iterable[Expr]) -> list[int]:
    """How many rows a group may have: constants that bound something."""
    bounded = [node for node in nodes if node.op == "min"]
    return sorted({arg.value for node in bounded for arg in node.args if arg.op == "const" and arg.value > 0})


def _natural(*sizes: Expr) -> bool:
    return all(n.lo is not None and n.lo >= 0 for n in sizes)


def _without(extents: Extents, gone: Expr) -> Extents:
    return {v: extent for v, extent in extents.items() if v is not gone}


def _put(facts: Iterable[Expr], mapping: Mapping[Expr, Expr]) -> Facts:
    return tuple(fact.subst(mapping) for fact in facts)


def parts(y: Expr, b: Expr, quotient: Expr, remainder: Expr) -> dict[Expr, Expr]:
    """y//b and y%b replaced, where they are expressions of their own."""
    known = {y // b: quotient, y % b: remainder}
    return {node: new for node, new in known.items() if node.op in ("floordiv", "mod")}


def cofactor(whole: Expr, part: Expr) -> Expr | None:
    """q with whole = q * part, by structure."""
    if part.op == "const":
        exact = part.value > 0 and (whole % part).op == "const" and (whole % part).value == 0
        return whole // part if exact else None
    terms, constant = E.linear(whole)
    shared, rest = E.linear(part)
    if rest or constant or len(shared) != 1:
        return E.const(1) if whole is part else None
    ((factor, times),) = shared.items()
    total: Expr = E.const(0)
    for atom, k in terms.items():
        factors = list(atom.args) if atom.op == "mul" else [atom]
        for f in factor.args if factor.op == "mul" else (factor,):
            if f not in factors:
                return None
            factors.remove(f)
        if k % times:
            return None
        left: Expr = E.const(k // times)
        for f in factors:
            left = left * f
        total = total + left
    return total

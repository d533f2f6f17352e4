"""The smallest difference between what is stored and what is specified, in words, and the line where they part.

    stored `X[M, N] * r[M]`, specified `X[M, N] * r[M] * W[N]`      the stored product lacks the factor `W[N]`
    stored `2 * X[M, N]`, specified `X[M, N] + Y[M, N]`              the stored sum has `2 * X[M, N]` in place of …

Two terms are descended side by side as long as they differ in one place only. A line parts from the specification if
what it makes is no part of it: no addend, factor, argument or sum that stands in the specification. That is a guide
for the eye, not a proof: terms that are equal by laws the normal form does not know also part.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.check.domain.records import Tables
from argus.check.explain.term_text import named, shown, shown_factor
from argus.check.terms.atoms import UNKNOWN, ZERO, Apply, Atom, Mono, Power, Reduce, Where, parts_of
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.types import Span

DEPTH = 12


def difference(stored: int, specified: int, tables: Tables) -> str:
    """What the stored term lacks, has too much, or has in place of something; empty where nothing small is found."""
    return "" if UNKNOWN in (stored, specified) else _terms(stored, specified, tables, DEPTH)


def _terms(stored: int, specified: int, tables: Tables, depth: int) -> str:
    have, want = dict(tables.terms[stored]), dict(tables.terms[specified])
    over = {m: c for m, c in have.items() if want.get(m) != c}
    lack = {m: c for m, c in want.items() if have.get(m) != c}
    if not depth:
        return ""
    made = tables.terms.made
    if len(over) == 1 and len(lack) == 1:
        (mono, c), (other, d) = *over.items(), *lack.items()
        if found := _monomials((mono, c), (other, d), tables, depth - 1):
            return found
    if over and lack:
        return f"the stored value has `{shown(made(over), tables)}` in place of `{shown(made(lack), tables)}`"
    if lack:
        return f"the stored sum lacks `{shown(made(lack), tables)}`"
    return f"the stored sum has `{shown(made(over), tables)}` too much"


def _monomials(stored: tuple[Mono, float], wanted: tuple[Mono, float], tables: Tables, depth: int) -> str:
    (factors, exponent), c = stored
    (others, power), d = wanted
    have, want = dict(factors), dict(others)
    over = {n: e for n, e in have.items() if want.get(n) != e}
    lack = {n: e for n, e in want.items() if have.get(n) != e}
    if not over and not lack and exponent == power:
        return f"the stored value is {c / d:.6g} times what is specified" if d else ""
    if c != d:
        return ""
    if not over and not lack:
        return _terms(exponent, power, tables, depth)
    if exponent != power:
        return ""
    if not over or not lack:
        word, few = ("lacks", lack) if lack else ("has too much", over)
        names = " * ".join(shown_factor(n, e, tables) for n, e in few.items())
        plural = "s" if len(few) > 1 else ""
        return f"the stored product {word}{' the' if lack else ':'} factor{plural} `{names}`"
    if len(over) == 1 and len(lack) == 1 and [*over.values()] == [*lack.values()]:
        return _atoms(tables.terms.atoms[next(iter(over))], tables.terms.atoms[next(iter(lack))], tables, depth)
    return ""


def _atoms(stored: Atom, wanted: Atom, tables: Tables, depth: int) -> str:
    """Where two atoms of one kind differ."""
    match stored, wanted:
        case Reduce(op=op, axis=axis, body=body), Reduce(op=other, axis=place, body=inside) if (op, axis) == (
            other,
            place,
        ):
            if body != inside:
                return _terms(body, inside, tables, depth)
            name = tables.axis_names[axis]
            return f"the stored {op} over {name} is over other {name} than the specified one"
        case Apply(fn=fn, args=args), Apply(fn=other, args=inside) if fn == other and len(args) == len(inside):
            unequal = [(x, y) for x, y in zip(args, inside, strict=True) if x != y]
            return _terms(*unequal[0], tables, depth) if len(unequal) == 1 else ""
        case Power(base=base), Power(base=inside):
            return _terms(base, inside, tables, depth)
        case Where(condition=held, yes=yes, no=no), Where(condition=stated, yes=y, no=n):
            if (yes, no) == (y, n):
                return f"the stored value is chosen where `{named(held, tables)}`, not where `{named(stated, tables)}`"
            if held is stated and (yes == y) != (no == n):
                return _terms(*((no, n) if yes == y else (yes, y)), tables, depth)
    return ""


def parting_line(flow: KernelWalk, specified: int) -> Span | None:
    """The first line of the kernel that makes something which is no part of the specification."""
    if specified == UNKNOWN:
        return None
    parts = list(_parts(specified, flow.tables))
    for op in ops.walk(flow.kernel.body):
        if not isinstance(op, ops.Map | ops.Mfma):
            continue
        tags = flow.values.get(op.result)
        if tags is None or op.result.dtype.kind == "bool":
            continue
        terms = {flow.tables[int(n)].term for case in tags.cases for n in set(case.record.reshape(-1).tolist())}
        if UNKNOWN in terms or ZERO in terms:
            continue
        if any(not _is_part(term, parts, flow.tables) for term in terms):
            return op.span
    return None


def _parts(term: int, tables: Tables) -> Iterator[int]:
    """The term, and all terms inside its atoms and exponents."""
    pending, seen = [term], {term}
    while pending:
        current = pending.pop()
        yield current
        for (factors, exponent), _ in tables.terms[current]:
            inner = [exponent, *(t for n, _ in factors for t in parts_of(tables.terms.atoms[n]))]
            fresh = [t for t in inner if t not in seen and t not in (UNKNOWN, ZERO)]
            seen.update(fresh)
            pending += fresh


def _is_part(term: int, parts: list[int], tables: Tables) -> bool:
    """Addends of one part, or a factor of an addend."""
    if term in parts or tables.terms.value(term) is not None:
        return True
    poly = tables.terms[term]
    for part in parts:
        whole = dict(tables.terms[part])
        if all(whole.get(mono) == c for mono, c in poly):
            return True
        if len(poly) == 1 and any(_divides(poly[0], other, tables) for other in whole.items()):
            return True
    return False


def _divides(one: tuple[Mono, float], other: tuple[Mono, float], tables: Tables) -> bool:
    (factors, exponent), c = one
    (others, power), d = other
    if exponent not in (ZERO, power) or c not in (1.0, d):
        return False
    if not factors and exponent == ZERO:
        return True
    if factors == others and exponent == power and c != d:
        return False
    known = {_kind(tables.terms.atoms[n]): e for n, e in others}
    return all(_kind(tables.terms.atoms[n]) in known for n, _ in factors)


def _kind(atom: Atom) -> object:
    """An atom; of a reduction what is reduced, over whatever part of its axis."""
    return (atom.op, atom.axis, atom.body) if isinstance(atom, Reduce) else atom

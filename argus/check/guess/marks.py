"""Marks: what a loop's slots held at its head, while that is not known yet.

    acc = acc + x[n]          from a mark      mark + X, one more coordinate than what arrived
    top = max(top, x[n])                       max(mark, X)

A mark is a record of the kind `incoming`, the slot its label, its first offset the position in the slot. Its term is
the atom Carried(-1, slot) without a counter. A certificate with a mark is refused (`check.certificate`).
"""

from __future__ import annotations

import numpy as np

from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Tags, uniform
from argus.check.terms.atoms import ZERO, Apply, Carried, Reduction
from argus.check.terms.normal_form import Terms


def mark(tables: Tables, slot: int) -> int:
    """The record of what arrived in a slot."""
    term = tables.terms.atom(Carried(-1, slot))
    return tables.intern(Record("incoming", label=str(slot), rests=tables.nowhere, term=term))


def incoming(shape: tuple[int, ...], slot: int, tables: Tables) -> Tags:
    """Element i is what position i of the slot held at the loop's head."""
    tags = uniform(shape, mark(tables, slot), tables.width)
    tags.cases[0].offset[..., 0] = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return tags


def parted(terms: Terms, op: Reduction, term: int) -> tuple[int, int | None] | None:
    """A term's marks of slots, and the rest of it, None where there is no rest; None for a term without marks."""
    if op == "sum":
        parts = [terms.monomial(mono, c) for mono, c in terms[term]] if term else []
    elif op == "prod":
        parts = _factors(terms, term)
    else:
        atom = terms.as_atom(term)
        parts = list(atom.args) if isinstance(atom, Apply) and atom.fn == op else [term]
    marked = [p for p in parts if _is_marked(terms, p)]
    if not marked:
        return None
    others = [p for p in parts if p not in marked]
    return terms.joined(op, marked), terms.joined(op, others) if others else None


def _factors(terms: Terms, term: int) -> list[int]:
    """The factors of a product; of anything else, itself."""
    if not term or len(terms[term]) != 1:
        return [term]
    (factors, exponent), c = terms[term][0]
    return [terms.monomial(((), exponent), c), *(terms.monomial(((factor,), ZERO), 1) for factor in factors)]


def _is_marked(terms: Terms, term: int) -> bool:
    """What arrived in a slot is a factor. In an exponent it is a maximum that scales what is reduced."""
    factors = [terms.atoms[n] for mono, _ in terms[term] for n, _ in mono[0]] if term else []
    return any(isinstance(a, Carried) and a.counter is None for a in factors)

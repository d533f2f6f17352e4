"""Names of what a loop carries, and terms from one head of the loop to the next.

A slot may stand for itself: its term at the head of iteration j is the atom T_j = Carried(loop, slot, j), a function of
the own coordinates on `axes` and of the iterations around, defined as what the slot holds there. The name is right by
definition; what has to be shown is what it says besides:

    it is one function of these coordinates     at first and after every iteration the slot has one term, over no other
    `top`: an attained maximum of finite ones   at first a floor or such a maximum, later such a maximum
    `positive`                                  at first and later 2**something, times positive numbers
    never -inf                                  at first a number, later a maximum with it or a number among its values
    settled: not -inf from the second on        what the first iteration leaves is not; later maxima include the name

In the comparison of two heads the name of the later one is replaced by what the iteration has left.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from argus.check.domain import reduction_footprint as sets
from argus.check.domain.record_numbers import distinct
from argus.check.domain.records import Record, Tables
from argus.check.domain.tags import Case, Tags, each_record
from argus.check.invariant.loop_shape import LoopShape
from argus.check.terms.atoms import ONE, UNKNOWN, Apply, Atom, Carried, Reduce
from argus.check.terms.elementwise_terms import FLOOR, attained, extreme
from argus.check.terms.finite_extremes import NOTHING_KNOWN, Finiteness
from argus.check.terms.normal_form import Terms


def attained_term(terms: Terms, term: int) -> bool:
    """A maximum that is one of the values it is taken over, all of them finite but at poles."""
    atom = terms.as_atom(term)
    attains = atom is not None and extreme(atom) and attained(terms, atom)
    return attains and Finiteness(terms, NOTHING_KNOWN, poles=True).not_high(term)


def is_floor(terms: Terms, term: int) -> bool:
    """A number that a running maximum may start from."""
    value = terms.value(term) if term != UNKNOWN else None
    return value is not None and value <= FLOOR


def is_of_kind(terms: Terms, term: int, kind: str, at_first: bool = False) -> bool:
    """Whether a term is what its slot's name says."""
    match kind:
        case "any":
            return term != UNKNOWN
        case "top":
            return term != UNKNOWN and (attained_term(terms, term) or (at_first and is_floor(terms, term)))
        case "positive":
            return terms.is_exponential(term)
        case _:
            return False


def only_term(tables: Tables, tags: Tags) -> int:
    """The term of all elements in all alternatives; UNKNOWN when there are several."""
    found = {tables[n].term for case in tags.cases for n in distinct(case.record)}
    return found.pop() if len(found) == 1 else UNKNOWN


def names(tables: Tables, shape: LoopShape, head: list[Tags]) -> dict[int, Carried]:
    """Slots that stand for themselves at the head: slot -> its name there."""
    found: dict[int, Carried] = {}
    for n, tags in enumerate(head):
        atom = tables.terms.as_atom(only_term(tables, tags))
        if isinstance(atom, Carried) and atom.loop == shape.op.id and atom.slot == n and atom.counter is shape.counter:
            found[n] = atom
    return found


def name_holds(tables: Tables, name: Carried, tags: Tags, at_first: bool) -> bool:
    """What the slot holds is a function of the coordinates of its name, and of its kind."""
    term = only_term(tables, tags)
    if len(tags.cases) != 1 or not is_of_kind(tables.terms, term, name.kind, at_first):
        return False
    numbers = distinct(tags.cases[0].record)
    placed = all(tables[n].rests[a] >= 0 for n in numbers for a in tables.terms.axes(term))
    return placed and tables.terms.axes(term) <= set(name.axes)


def never_low(terms: Terms, term: int, never: frozenset[tuple[int, int]]) -> bool:
    """The value is not -inf: a number, a maximum with one, or with a slot of which that is known."""
    if term == UNKNOWN:
        return False
    value, atom = terms.value(term), terms.as_atom(term)
    if value is not None:
        return value > -inf
    if isinstance(atom, Carried):
        return (atom.loop, atom.slot) in never
    if isinstance(atom, Apply) and atom.fn == "max":
        return any(never_low(terms, arg, never) for arg in atom.args)
    if isinstance(atom, Apply) and atom.fn == "select" and len(atom.args) == 3:
        return all(never_low(terms, arg, never) for arg in atom.args[1:])
    return False


def named(tables: Tables, case: Case, meaning: dict[Atom, int]) -> Case:
    """Atoms replaced in all terms: values by their names, or names by their values."""
    if not meaning:
        return case
    terms, memo = tables.terms, dict[int, int]()
    return each_record(
        tables, case, lambda r: replace(r, term=terms.rewritten(r.term, meaning.get, memo)) if r.term > ONE else r
    )


def closed_maxima(
    tables: Tables, shape: LoopShape, start: list[Tags], head: list[Tags], out: list[Tags]
) -> dict[Atom, int]:
    """Names of running maxima and what they stand for: T_first is what the slot starts with, T_(j+1) = max(T_j, R_j),
    so T_j is the maximum of the first and of all R before j."""
    terms, found = tables.terms, dict[Atom, int]()
    for n, name in names(tables, shape, head).items() if shape.period == 1 else ():
        first, left = only_term(tables, start[n]), terms.as_atom(only_term(tables, out[n]))
        if first == UNKNOWN or shape.counter in terms.free(first) or not isinstance(left, Apply) or left.fn != "max":
            continue
        mark = terms.atom(name)
        taken = [terms.as_atom(arg) for arg in left.args if arg != mark]
        parts = [
            atom for atom in taken if isinstance(atom, Reduce) and atom.op == "max" and _each_turn(terms, shape, atom)
        ]
        if mark in left.args and len(parts) == len(taken):
            before = [
                a._replace(footprint=(sets.Over(shape.counter, shape.first, shape.counter, shape.stride, a.footprint),))
                for a in parts
            ]
            found[name] = terms.extreme("max", (first, *map(terms.atom, before)))
    return found


def _each_turn(terms: Terms, shape: LoopShape, atom: Reduce) -> bool:
    """A maximum of what no iteration changes, over coordinates of this iteration."""
    fixed = shape.counter not in terms.free(atom.body) and not any(
        isinstance(a, Carried) for a in terms.inside(atom.body)
    )
    return fixed and atom.domain is None and shape.counter in sets.variables(atom.footprint)


def after_iteration(tables: Tables, shape: LoopShape, case: Case) -> Case:
    """Reductions over all earlier iterations plus this one's become those up to and including this one."""
    terms = tables.terms
    memo: dict[int, int] = {}

    def change(atom: Atom) -> int | None:
        if isinstance(atom, Reduce) and shape.counter in sets.variables(atom.footprint):
            items = sets.folded(atom.footprint, shape.counter, shape.stride)
            return terms.reduce(atom.op, atom.axis, terms.rewritten(atom.body, change, memo), items, atom.domain)
        return None

    def changed(record: Record) -> Record:
        if shape.counter not in terms.free(record.term):
            return record
        return replace(record, term=terms.rewritten(record.term, change, memo))

    return each_record(tables, case, changed)

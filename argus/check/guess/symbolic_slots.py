"""Slots of a loop that stand for themselves, where other slots are known only relative to them.

A software-pipelined softmax carries the weights of the next tile and the factor that is still to be applied:

    top     T_i            the running maximum, a function of the own coordinates and the iteration
    p       2**(s - T_i)   known, once T_i has a name
    keep    F_i            2**(T before - T after); what it is made of is gone, but it is one number per row: F_i
    den     S_i / (F_i 2**T_i)       guessed from one iteration (`growth`)

`with_names` gives T_i its name (a running maximum in the exponents of what the loop carries); `known_again` finds p
with it, and names what is still unknown though it is one function of the own coordinates, at first and later.
A name is always right: it is defined as what the slot holds. What an iteration leaves in the slot is the name's next
value; the step is proved with that in its place (`induction`). In the first iteration it means the initial value.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Literal

from argus.check.domain.record_numbers import distinct
from argus.check.domain.tags import Tags, each_record
from argus.check.guess.growth import Growth, growth
from argus.check.guess.loop_heads import State, next_candidate
from argus.check.invariant.carried_terms import named
from argus.check.invariant.loop_shape import LoopShape
from argus.check.terms.atoms import UNKNOWN, Apply, Atom, Carried
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk


def tops(flow: KernelWalk, shape: LoopShape, start: State, marked: State) -> Growth | None:
    """How one iteration that started from marks grew, if a running maximum scales what the loop carries."""
    grown = growth(flow.tables, shape, start, marked, tuple(value for _, value in flow.loops))
    return grown if grown.scales else None


def with_names(flow: KernelWalk, grown: Growth, start: State, marked: State, head: State) -> tuple[State, State]:
    """Initial state and head with the maxima under their names."""
    names: dict[Atom, int] = {}
    terms = flow.tables.terms
    claim_not_low(flow, grown, start)
    for n in grown.scales:
        term = flow.tables[distinct(start[n].cases[0].record)[0]].term
        first, atom = replace(grown.standing(n), counter=grown.shape.first), terms.as_atom(term)
        if atom is not None:
            names[atom] = terms.atom(first)
    begun = [t.each(lambda c: named(flow.tables, c, names)) for t in start]
    return begun, [_standing(flow, grown, marked[n], n) if n in grown.scales else t for n, t in enumerate(head)]


def claim_not_low(flow: KernelWalk, grown: Growth, start: State) -> None:
    """Claims that maxima are not -inf: never, if they start from a number, else not from the second iteration on."""
    terms = flow.tables.terms
    for n in grown.scales:
        term = flow.tables[distinct(start[n].cases[0].record)[0]].term
        atom = terms.as_atom(term)
        args = atom.args if isinstance(atom, Apply) else ()
        if any(v is not None and v > -inf for v in (terms.value(term), *(terms.value(a) for a in args))):
            flow.never.add((grown.shape.op.id, n))
        flow.settled.add((grown.shape.op.id, n))


def _standing(
    flow: KernelWalk, grown: Growth, made: Tags, n: int, kind: Literal["top", "positive", "any"] = "top"
) -> Tags:
    """The slot under its own name, at the coordinates an iteration leaves there."""
    term = flow.tables.terms.atom(grown.standing(n, kind))
    return made.each(lambda c: each_record(flow.tables, c, lambda r: replace(r, term=term)))


def known_again(flow: KernelWalk, shape: LoopShape, start: State, head: State, out: State, slots: list[int]) -> State:
    """What was lost because it is relative to a maximum, from an iteration in which that has its name."""
    terms = flow.tables.terms
    grown = growth(flow.tables, shape, start, out, tuple(value for _, value in flow.loops))
    names: dict[Atom, int] = {}
    for n, tags in enumerate(head[:-1]):
        here = _only_atom(flow, tags)
        left = _only_atom(flow, out[n])
        if isinstance(here, Carried) and here.counter is shape.counter and left is not None:
            names[left] = terms.atom(replace(here, counter=shape.counter + shape.stride))
    renamed = [t.each(lambda c: named(flow.tables, c, names)) for t in out]
    lost = [n for n in slots if n < len(head) - 1 and _unknown(flow, head[n])]
    found = next_candidate(flow, shape, start, renamed, lost)
    result = list(head)
    for n in lost:
        if not _unknown(flow, found[n]) and len(found[n].cases) == 1:
            result[n] = found[n]
        elif n in grown.left and not _moves(flow, out[n], shape.counter):
            terms_of = [flow.tables[distinct(t.cases[0].record)[0]].term for t in (start[n], out[n])]
            positive = all(terms.is_exponential(term) for term in terms_of)
            result[n] = _standing(flow, grown, out[n], n, "positive" if positive else "any")
    return result


def _only_atom(flow: KernelWalk, tags: Tags) -> Atom | None:
    numbers = distinct(tags.cases[0].record)
    return flow.tables.terms.as_atom(flow.tables[numbers[0]].term) if len(tags.cases) == len(numbers) == 1 else None


def _unknown(flow: KernelWalk, tags: Tags) -> bool:
    return all(flow.tables[n].term == UNKNOWN for c in tags.cases for n in distinct(c.record))


def _moves(flow: KernelWalk, tags: Tags, counter: Expr) -> bool:
    """The coordinates change from iteration to iteration."""
    rests = {rest for c in tags.cases for n in distinct(c.record) for rest in flow.tables[n].rests if rest >= 0}
    return any(counter in flow.tables.rests[rest].free() for rest in rests)

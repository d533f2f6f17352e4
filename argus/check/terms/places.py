"""The first place of a maximum or minimum: argmax, argmin.

    argmax(X[m, k], k)                                        argmax(max(X, K))
    top = x.max("n");  ag.where(x == top, x.n, N).min("n")    min(select(X == max(X, K), K, N), K)

The first is the form of specifications: a function of the extreme, which says by itself over which axis and of what it
is taken. Kernels look for the smallest of all places where an element equals the extreme, any other place counting for
a number that is not smaller than the last place. `PlaceSearch` is the second form, taken apart; that it is the first is
shown by `term_equality`:

    the extreme is one over the whole axis of single elements of a tensor       comparing elements rounds nothing
    every place of the axis is looked at; inside the axis the element compared is the one the extreme is of
    beyond the axis nothing equals the extreme: it is masked by -inf (inf), and the axis has at least one element
    what counts for other places is not smaller than the last place

Then some place of the axis holds the extreme, the smallest of those is the result, and the first index wins on ties.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.check.terms.atoms import UNKNOWN, ZERO, Apply, Coordinate, Leaf, Reduce
from argus.check.terms.normal_form import Terms

FIRST = {"max": "argmax", "min": "argmin"}


@dataclass(frozen=True, slots=True)
class PlaceSearch:
    """`compared` is held against `extreme` (a reduction over the axis) at every place; `other` counts where they
    differ."""

    compared: int
    extreme: Reduce
    other: int


def first_place(terms: Terms, extreme: int) -> int:
    """The first place at which an extreme over a whole axis is attained; UNKNOWN if it is not one of elements."""
    atom = terms.as_atom(extreme)
    if not isinstance(atom, Reduce) or atom.op not in FIRST or atom.domain is None:
        return UNKNOWN
    if not isinstance(terms.as_atom(atom.body), Leaf):
        return UNKNOWN
    return terms.atom(Apply(FIRST[atom.op], (extreme,)))


def place_on(terms: Terms, term: int) -> int | None:
    """The axis on which the term is a place."""
    atom = terms.as_atom(term)
    if not isinstance(atom, Apply) or atom.fn not in FIRST.values():
        return None
    extreme = terms.as_atom(atom.args[0])
    return extreme.axis if isinstance(extreme, Reduce) else None


def search(terms: Terms, atom: Reduce) -> PlaceSearch | None:
    """The smallest of all places where something equals an extreme over the same axis, taken apart; else None."""
    chosen = terms.as_atom(atom.body)
    if atom.op != "min" or not isinstance(chosen, Apply) or chosen.fn != "select" or len(chosen.args) != 3:
        return None
    test, place, other = chosen.args
    equal, number = terms.as_atom(test), terms.value(other)
    if terms.as_atom(place) != Coordinate(atom.axis) or not isinstance(number, int):
        return None
    if not isinstance(equal, Apply) or equal.fn != "eq" or equal.args[1] != ZERO:
        return None
    for (factors, exponent), c in terms[equal.args[0]]:
        extreme = terms.atoms[factors[0][0]] if len(factors) == 1 and factors[0][1] == 2 and exponent == ZERO else None
        if not isinstance(extreme, Reduce) or extreme.op not in FIRST or extreme.axis != atom.axis or c not in (1, -1):
            continue
        rest = terms.add(equal.args[0], terms.scaled(terms.atom(extreme), -c), formal=True)
        return PlaceSearch(terms.scaled(rest, -c), extreme, number)
    return None

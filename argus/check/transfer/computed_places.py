"""Elements of tensors at computed places: scales per block, rows that are looked up.

    C[m, n] = sum(A[m, k] * SA[m, k // 128] * B[n, k], k)
    H[r, n] = sum(X[token[r], k] * W[n, k], k)

A leaf of a term stands at own coordinates, or at formulas of them (`at`): SA at (own M, own K // 128), X at
(token(own R), own K). The specification is read in this form. The kernel's terms are brought into it, where that is
shown to be right:

    a load whose coordinate is an element of `token` at R = r     belongs to r instead (`looked_up`)
    SA[m, kb] · sum(A·B, k in kb*128 + 0..127), summed over kb    the scale goes into the sum, at k // 128, since that
                                                                  is kb for every k taken (`reduced`)
    SB[nb] stored at n                                            at n // 128, if that is nb in all threads (`followed`)

    B[n // 32, n % 32] loaded at [t, r], r < 32                   belongs to n = 32*t + r (`seen_from`)
    X[2*q - 1] loaded at 512*b + 2*t + 5                          is X[2*q + 1] of q = 256*b + t + 2 (`multiple`)

The formulas come from the specification (`computed_indices`); without it nothing here applies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from argus.check.domain.record_numbers import distinct_rows
from argus.check.domain.records import Tables, without_constant
from argus.check.domain.reduction_footprint import FootprintPart, ReducedFootprint
from argus.check.domain.threads import Spread
from argus.check.terms.atoms import (
    UNKNOWN,
    ZERO,
    Atom,
    Carried,
    Coordinate,
    Leaf,
    Reduce,
    Reduction,
    Where,
    axes_in,
    own,
)
from argus.check.terms.normal_form import Terms
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr

DATA = "data_"
"""An element of an integer tensor as an index: a function of this name and the tensor's, of its coordinates."""


def leaf(tables: Tables, tensor: Tensor, at: tuple[Expr, ...]) -> Leaf:
    """An element of the tensor at formulas of own coordinates."""
    numbers = tables.tensor_axes[tensor]
    if all(place is own(axis) for place, axis in zip(at, numbers, strict=True)):
        return Leaf(tensor.name, numbers)
    axes = dict.fromkeys(axis for place in at for axis in sorted(axes_in(place)))
    return Leaf(tensor.name, tuple(axes), at)


def lookup(tables: Tables, tensor: Tensor, at: tuple[Expr, ...]) -> Expr:
    """An element of an integer tensor as an index."""
    order = sorted(range(len(at)), key=lambda n: tables.tensor_axes[tensor][n])
    return E.apply(DATA + tensor.name, *(at[n] for n in order))


Steps = int | np.ndarray
"""What coordinates grow by from one element of an access to the next; or by how much each lies beyond its thread's."""
Standing = dict[int, tuple[Spread, Steps]]
"""Axis -> the coordinate in every thread, and its steps."""


def seen_from(
    tables: Tables,
    tensor: Tensor,
    coords: tuple[Expr, ...],
    moving: int,
    count: int,
    spread: Callable[[Expr], Spread],
) -> tuple[tuple[Expr, ...], Standing, dict[Expr, np.ndarray]] | None:
    """Where the elements of an access are in terms of the axes the specification uses for them: formulas of these axes'
    coordinates, one for each position, the coordinates, and variables of the formulas that stand for a number of each
    element. None: as the tensor has them, or it cannot be said."""
    hints, numbers = tables.hints, tables.tensor_axes[tensor]
    at = [own(axis) for axis in numbers]
    standing: list[tuple[int, Spread, Steps]] = []
    remainders: dict[Expr, np.ndarray] = {}
    done: set[int] = set()
    for t in hints.tilings.get(tensor.name, ()):
        low = spread(coords[t.remainder]).constant()
        last = count - 1 if moving == t.remainder else 0
        if low is not None and low.min() >= 0 and low.max() + last < t.divisor:
            whole = spread(t.divisor * coords[t.quotient] + coords[t.remainder])
            step = t.divisor if moving == t.quotient else int(moving == t.remainder)
            standing.append((t.axis, whole, step))
            at[t.quotient], at[t.remainder] = own(t.axis) // t.divisor, own(t.axis) % t.divisor
            done |= {t.quotient, t.remainder}
    for position, (axis, coordinate) in enumerate(zip(numbers, coords, strict=True)):
        if position in done:
            continue
        here = spread(coordinate)
        by = hints.strided.get((tensor.name, position))
        parted = None if by is None else multiple(here, by.step, count if position == moving else 1)
        if by is not None and parted is not None:
            variable = E.var(f"remainder_on_axis_{axis}")
            at[position], remainders[variable] = by.step * own(by.axis) + variable, parted[2]
            standing.append((by.axis, parted[0], parted[1]))
            continue
        still = count == 1 or position != moving
        fixed = here.constant() if (tensor.name, position) in hints.fixed and still else None
        if fixed is not None and bool((fixed == fixed.flat[0]).all()):
            at[position] = E.const(int(fixed.flat[0]))
            continue
        found = looked_up(tables, tensor, position, here) if still else None
        if found is None:
            standing.append((axis, here, int(position == moving)))
            continue
        at[position] = found[0]
        standing += [(a, s, 0) for a, s in found[1].items()]
    axes = [axis for axis, _, _ in standing]
    if len(set(axes)) != len(axes):
        return None
    return tuple(at), {axis: (s, step) for axis, s, step in standing}, remainders


def multiple(spread: Spread, step: int, count: int) -> tuple[Spread, np.ndarray, np.ndarray] | None:
    """A coordinate and the next `count - 1` as `step` times another and a remainder below `step`: the other in each
    thread, by how much it is more for each element, the remainders. None where its symbolic part is no multiple."""
    offsets, wholes = spread.offsets.copy(), np.empty(spread.offsets.shape, dtype=object)
    for where, _ in np.ndenumerate(offsets):
        constant, symbolic = without_constant(spread.at(*where))
        whole = _quotient(symbolic, step)
        if whole is None:
            return None
        offsets[where] += constant
        wholes[where] = whole
    there = offsets[..., None] + np.arange(count)
    quotient, remainder = there // step, there % step
    first = wholes.flat[0]
    same = all(whole is first for whole in wholes.flat)
    made = Spread(quotient[..., 0], first) if same else Spread(quotient[..., 0], None, wholes)
    return made, quotient - quotient[..., :1], remainder


@lru_cache(maxsize=4096)
def _quotient(e: Expr, by: int) -> Expr | None:
    """e / by, where that is a sum of whole multiples."""
    parts, constant = E.linear(e)
    if constant % by or any(factor % by for factor in parts.values()):
        return None
    total: Expr = E.const(constant // by)
    for part, factor in parts.items():
        total = total + part * (factor // by)
    return total


def looked_up(tables: Tables, tensor: Tensor, position: int, spread: Spread) -> tuple[Expr, dict[int, Spread]] | None:
    """Where an element is whose coordinate on an axis was loaded from another tensor, as the specification says: the
    coordinate as a formula, and the coordinates it depends on. None: it is not such a coordinate."""
    wanted = tables.hints.views.get((tensor.name, position), frozenset())
    if not wanted or spread.offsets.any():
        return None
    rests = np.full(spread.offsets.shape, spread.rest, dtype=object) if spread.rests is None else spread.rests
    first = rests.flat[0]
    if any(r.op != "apply" or r.name != first.name for r in rests.flat):
        return None
    source = next((t for t in tables.tensor_axes if t.name in wanted and first.name == DATA + t.name), None)
    if source is None or len(first.args) != len(source.axes):
        return None
    numbers = sorted(tables.tensor_axes[source])
    made: dict[int, Spread] = {}
    for n, axis in enumerate(numbers):
        offsets = np.zeros(spread.offsets.shape, dtype=np.int64)
        parts = np.empty(spread.offsets.shape, dtype=object)
        for at, rest in np.ndenumerate(rests):
            offsets[at], parts[at] = without_constant(rest.args[n])
        same = all(part is parts.flat[0] for part in parts.flat)
        made[axis] = Spread(offsets, parts.flat[0]) if same else Spread(offsets, None, parts)
    return E.apply(first.name, *(own(axis) for axis in numbers)), made


def moved(terms: Terms, term: int, formulas: Mapping[Expr, Expr]) -> int:
    """The term with own coordinates replaced by formulas of others; UNKNOWN where that cannot be said."""
    memo: dict[int, int] = {}

    def change(atom: Atom) -> int | None:
        if not any(own(a) in formulas for a in terms.atom_axes(atom)):
            return None
        match atom:
            case Leaf(tensor=tensor, axes=axes, at=at):
                places = tuple(p.subst(dict(formulas)) for p in at or (own(a) for a in axes))
                used = dict.fromkeys(axis for place in places for axis in sorted(axes_in(place)))
                return terms.atom(Leaf(tensor, tuple(used), places))
            case Where(condition=condition, yes=yes, no=no):
                inner = terms.rewritten(yes, change, memo), terms.rewritten(no, change, memo)
                return terms.where(condition.subst(dict(formulas)), *inner)
            case Reduce(axis=axis) if own(axis) in formulas or any(axis in axes_in(e) for e in formulas.values()):
                return UNKNOWN
            case Carried() | Coordinate():
                return UNKNOWN
            case _:
                return None

    return terms.rewritten(term, change, memo)


def reduced(tables: Tables, op: Reduction, axis: int, term: int, items: ReducedFootprint) -> int:
    """`op` of the term over the coordinates taken on an axis."""
    parted = None if tables.parted is None else tables.parted(op, term)
    if parted is not None:
        arrived, rest = parted
        here = [arrived] if rest is None else [arrived, reduced(tables, op, axis, rest, items)]
        return tables.terms.joined(op, here)
    if op == "sum" and axis in tables.hints.derived:
        inside = _absorbed(tables, axis, term, items)
        if inside is not None:
            return inside
    return tables.terms.reduce(op, axis, term, items)


def _absorbed(tables: Tables, axis: int, term: int, items: ReducedFootprint) -> int | None:
    """A product with sums over the axis that this one is derived from, at one coordinate: all of it inside the sums."""
    terms, formula = tables.terms, tables.hints.derived[axis]
    sources = axes_in(formula)
    if term == UNKNOWN or len(sources) != 1 or len(items) != 1:
        return None
    (source,), item = sources, items[0]
    if not isinstance(item, FootprintPart) or item.mask != 1:
        return None
    here = item.rest + item.low
    total = ZERO
    for (factors, exponent), c in terms[term]:
        sums = [(f, a) for f in factors if f[1] == 2 and _runs_over(a := terms.atoms[f[0]], source)]
        if len(sums) != 1 or axis in terms.axes(exponent):
            return None
        factor, one = sums[0]
        assert isinstance(one, Reduce)
        if not _always(formula, source, one.footprint, here):
            return None
        others = tuple(f for f in factors if f is not factor)
        inner = tuple(f for f in others if axis in terms.atom_axes(terms.atoms[f[0]]))
        outer = tuple(f for f in others if f not in inner)
        if any(source in terms.atom_axes(terms.atoms[f[0]]) for f in inner):
            return None  # it stands at a coordinate of its own there, which the sum would take for its own
        body = moved(terms, terms.multiply(terms.monomial((inner, ZERO), 1.0), one.body), {own(axis): formula})
        whole = terms.reduce("sum", source, body, one.footprint)
        total = terms.add(total, terms.multiply(terms.monomial((outer, exponent), c), whole))
    return None if total == UNKNOWN else total


def _runs_over(atom: Atom, axis: int) -> bool:
    return isinstance(atom, Reduce) and atom.op == "sum" and atom.axis == axis and atom.domain is None


def _always(formula: Expr, source: int, items: ReducedFootprint, here: Expr) -> bool:
    """The formula is `here` at every coordinate taken, as far as that can be read off."""
    for item in items:
        if not isinstance(item, FootprintPart):
            return False
        if any(formula.subst({own(source): item.rest + offset}) is not here for offset in item.offsets()):
            return False
    return True


def followed(
    tables: Tables, term: int, rests: tuple[int, ...], offsets: np.ndarray, holds: Callable[[Expr], bool]
) -> int:
    """The term with derived coordinates as formulas, where the coordinates of the elements (`offsets`, one row each)
    are what the formulas say."""
    formulas: dict[Expr, Expr] = {}
    for axis in sorted(tables.terms.axes(term) & tables.hints.derived.keys()):
        formula = tables.hints.derived[axis]
        sources = sorted(axes_in(formula))
        if rests[axis] < 0 or any(rests[s] < 0 for s in sources):
            continue
        found, _, _ = distinct_rows(offsets[:, [axis, *sources]])
        if all(holds(equation) for equation in _equations(tables, axis, sources, formula, rests, found)):
            formulas[own(axis)] = formula
    return moved(tables.terms, term, formulas) if formulas else term


def _equations(
    tables: Tables, axis: int, sources: list[int], formula: Expr, rests: tuple[int, ...], rows: np.ndarray
) -> set[Expr]:
    made = set()
    for row in rows:
        there: dict[Expr, Expr | int] = {
            own(s): tables.rests[rests[s]] + int(n) for s, n in zip(sources, row[1:], strict=True)
        }
        made.add(formula.subst(there).eq(tables.rests[rests[axis]] + int(row[0])))
    return made

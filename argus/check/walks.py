"""Which walks a kernel needs, and which rules listen to each: what a report says `proved` of rests on this choice.

    C[m, n] = …                       one walk, all rules
    O[q, d] = …; L[q] = …             one walk for both if both tie the same axes to indices, else one for each

Tags mean what one statement of a specification makes of them. Rules that know nothing of it are asked once.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.check.domain.records import Tables
from argus.check.rules.conform import Conform
from argus.check.rules.covers import Covers
from argus.check.rules.fits import Fits
from argus.check.rules.fresh import Fresh
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.placed import Placed
from argus.check.rules.race_free import RaceFree
from argus.check.rules.reduced import Reduced
from argus.check.rules.relations import Relations
from argus.check.rules.rule import Rule
from argus.check.rules.value import Valued
from argus.check.spec.coordinates import Unreadable, spec_of
from argus.ir.kernel import Kernel
from argus.ir.specified import stating
from argus.spec.tree import ResultSpec


@dataclass(frozen=True, slots=True)
class PlannedWalk:
    """A kernel with one statement, the rules that listen, and further statements that the walk serves. `results` are
    the tensors that some statement speaks of."""

    kernel: Kernel
    rules: tuple[Rule, ...]
    results: frozenset[str] = frozenset()
    more: tuple[ResultSpec, ...] = ()


def planned(kernel: Kernel) -> tuple[PlannedWalk, ...]:
    """All walks that the kernel needs."""
    every = (Conform(), RaceFree(), Fresh(), InBounds(), *of_specification(), Fits(), Relations())
    statements = () if kernel.computes is None else kernel.computes.results
    if len(statements) < 2:
        return (PlannedWalk(kernel, every),)
    results = frozenset(statement.result for statement in statements)
    first, *others = [stating(kernel, statement) for statement in statements]
    alike = [_walked_alike(first, other) for other in others]
    shared = tuple(statement for statement, same in zip(statements[1:], alike, strict=True) if same)
    own = [other for other, same in zip(others, alike, strict=True) if not same]
    return (
        PlannedWalk(first, every, results, shared),
        *(PlannedWalk(other, of_specification(), results) for other in own),
    )


def of_specification() -> tuple[Rule, ...]:
    """Rules that each statement of a specification implies."""
    return Valued(), Placed(), Reduced(), Covers()


def _walked_alike(x: Kernel, y: Kernel) -> bool:
    """Two statements tie the same axes to indices, so that one walk serves both."""
    tables = Tables(x)
    try:
        mine, other = spec_of(x, tables), spec_of(y, tables)
    except Unreadable:
        return False
    if mine is None or other is None:
        return False
    return mine.placed.keys() == other.placed.keys() and mine.hints == other.hints

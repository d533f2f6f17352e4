"""Bounds and notes of a kernel: the walk, and once more without the oracle of maxima where that is not allowed.

found = rounding(kernel)      of a kernel whose `value` is proved
found.bounds                  in the order of the specification
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.check.rounding.error_bound import ErrorBound, NoBound
from argus.check.rounding.hazards import RoundingHazard
from argus.check.rounding.maxima import multiplies, smooth
from argus.check.rounding.rounded_value import RoundedValue, Unbounded
from argus.check.rounding.rounding_walk import RoundingWalk
from argus.check.rules.isolation import internal
from argus.ir.kernel import Kernel

PRODUCT = "errors of a product along an axis grow with every factor; they are not followed"


@dataclass(frozen=True, slots=True)
class Rounding:
    """What is known of rounding in a kernel."""

    bounds: tuple[ErrorBound | NoBound, ...]
    hazards: tuple[RoundingHazard, ...]

    def of(self, result: str) -> ErrorBound | NoBound | None:
        return next((b for b in self.bounds if b.result == result), None)


def rounding(kernel: Kernel) -> Rounding:
    """Walk a kernel that states a specification. A mistake on the way is a missing bound, never an error."""
    if multiplies(kernel):
        return Rounding(tuple(NoBound(result, 0, PRODUCT) for result in _results(kernel)), ())
    try:
        return _walked(kernel)
    except Exception as error:
        missing = tuple(NoBound(result, 0, internal(error)) for result in _results(kernel))
        return Rounding(missing, ())


def _walked(kernel: Kernel) -> Rounding:
    walk = RoundingWalk(kernel, oracle=smooth(kernel))
    walk.run()
    if walk.used_oracle and not all(_free(walk.stored.get(r)) for r in _results(kernel)):
        walk = RoundingWalk(kernel, oracle=False)
        walk.run()
    made: list[ErrorBound | NoBound] = []
    types = {t.name: t.dtype for t in kernel.tensors}
    for result in _results(kernel):
        found = walk.stored.get(result)
        if types[result].kind != "float":
            continue
        if isinstance(found, RoundedValue):
            made.append(ErrorBound(result, kernel, found, walk.largest_theta, walk.shares))
        elif isinstance(found, Unbounded):
            made.append(NoBound(result, found.line, found.reason))
        else:
            made.append(NoBound(result, 0, "what is stored there was not followed"))
    return Rounding(tuple(made), tuple(sorted(walk.hazards.found)))


def _results(kernel: Kernel) -> tuple[str, ...]:
    return () if kernel.computes is None else tuple(r.result for r in kernel.computes.results)


def _free(stored: object) -> bool:
    """No running maximum is left in what is stored."""
    return not isinstance(stored, RoundedValue) or (stored.degree == 0 and stored.ups == stored.downs)

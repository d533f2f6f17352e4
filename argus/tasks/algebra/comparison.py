"""Numbers of an object against numbers of its specification, or of another object: no tolerance.

    equal           the same residues in every field that both have
    different       other residues in a field that both have and neither doubts
    not followed    anything else: a value was lost, or differs only where it is doubtful

A result is *different* if one element is, *equal* if all are, else *not followed* with the share of such elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from argus.machine.algebra import numbers
from argus.machine.algebra.numbers import AlgebraNumbers
from argus.machine.algebra.planes import LastWriter

Verdict = Literal["equal", "different", "not followed"]
FOLDED = 2.0**-6
"""How near a number that a compiler has evaluated is to the one it stands for, relative: the rounding of bf16."""


@dataclass(frozen=True, slots=True)
class AlgebraComparison:
    """`doubtful`: those not followed that differ in fields in which they are doubtful. `first`: the first different
    element; `writer` who stored it. `cause`: why the first element that is not followed is not, where that is known."""

    result: str
    elements: int
    different: int
    not_followed: int
    doubtful: int = 0
    first: tuple[int, ...] | None = None
    writer: LastWriter | None = None
    cause: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.different:
            return "different"
        return "not followed" if self.not_followed else "equal"

    @property
    def followed_share(self) -> float:
        return 1.0 - self.not_followed / self.elements if self.elements else 1.0

    def to_json(self) -> dict[str, object]:
        return {
            "result": self.result,
            "verdict": self.verdict,
            "elements": self.elements,
            "different": self.different,
            "not_followed": self.not_followed,
            "doubtful": self.doubtful,
            "first_different": None if self.first is None else list(self.first),
            "writer": None if self.writer is None else str(self.writer),
            "cause": self.cause or None,
        }

    def __str__(self) -> str:
        match self.verdict:
            case "equal":
                return f"{self.result}: equal in exact algebra, all {self.elements} elements"
            case "different":
                where = f"; {self.writer}" if self.writer is not None else "; never stored"
                return (
                    f"{self.result}: DIFFERENT in exact algebra, {self.different} of {self.elements} elements, "
                    f"first at {list(self.first or ())}{where}"
                )
            case "not followed":
                share = 100.0 * self.not_followed / self.elements
                equal = self.elements - self.not_followed
                return (
                    f"{self.result}: {equal} of {self.elements} elements equal in exact algebra, "
                    f"{share:.1f} % not followed; first: {self.cause}"
                )


def compare_numbers(
    result: str,
    got: AlgebraNumbers,
    want: AlgebraNumbers,
    causes: Callable[[int], str] | None = None,
    stored: npt.NDArray[np.bool_] | None = None,
) -> AlgebraComparison:
    """`causes`: of an element, flat, why it was lost. `stored`: which were stored; one that was not is different
    if it is not equal, even if what was there before is no number."""
    equal = numbers.same(got, want)
    different = ~equal & numbers.proved_different(got, want)
    if numbers.other_root(
        got, want
    ).any():  # the sign of a root: of all elements that have one, no difference is proved
        different &= ((got.taint | want.taint) & numbers.ROOT) == 0
    different &= ~_folded(got, want)
    if stored is not None:
        different |= ~equal & ~stored & (want.present > 0)
    open_ = ~equal & ~different
    first = tuple(int(i) for i in np.argwhere(different)[0]) if different.any() else None
    cause = ""
    if open_.any():
        at = int(np.flatnonzero(open_.reshape(-1))[0])
        cause = (causes(at) if causes is not None else "") or _doubt(got, want, at)
    doubtful = open_ & ((got.present & want.present) > 0)
    return AlgebraComparison(
        result, int(equal.size), int(different.sum()), int(open_.sum()), int(doubtful.sum()), first, cause=cause
    )


def _folded(got: AlgebraNumbers, want: AlgebraNumbers) -> npt.NDArray[np.bool_]:
    """A number of the code where the specification computes one: a compiler has evaluated a function of constants."""
    with np.errstate(invalid="ignore"):
        near = np.abs(got.real - want.real) <= FOLDED * np.abs(want.real)
    return np.asarray(near & _literal(got) & ~_literal(want))


def _literal(x: AlgebraNumbers) -> npt.NDArray[np.bool_]:
    return numbers.same(x, numbers.of_floats(np.where(np.isfinite(x.real), x.real, 0.0)))


def _doubt(got: AlgebraNumbers, want: AlgebraNumbers, at: int) -> str:
    if not got.present.reshape(-1)[at]:
        return "the object's value has no residue"
    if not want.present.reshape(-1)[at]:
        return "the specified value has no residue"
    if not (got.present & want.present).reshape(-1)[at]:
        return "no field in which both have a residue"
    return "differs, but only in fields in which a root, a choice or an approximation is doubtful"

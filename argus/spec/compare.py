"""Does a result match its specification? Tolerance: the error bound of the arithmetic plus one rounding of the output.

    bound[i] = error[i] (running f32 analysis, `argus.spec`) + half a unit in the last place of the output format

An element passes if |got - want| <= bound; who knows a smaller bound of the whole error gives it (`most`).
Where the specified value is not finite, the result must be the same infinity, or a NaN; where the specification has no
value (`definedness`, an infinite error), it may be anything. A value that is, within its
error, too large for the output format may be the infinity of its sign.
Where no element has a finite specified value, nothing was compared, and that is not correct.

An integer result holds the specified whole number modulo 2^bits of its type (docs/language.md) and is compared exactly;
of a specification that is no whole number, what lies within its error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.spec import Bounded, stored


@dataclass(frozen=True, slots=True)
class ElementComparison:
    """`worst` is the largest |got - want| / bound; above 1 an element is outside its tolerance."""

    elements: int
    wrong: int
    worst: float
    first_wrong: tuple[int, ...] | None
    got: float
    want: float
    mean_signed_error: float
    finite: int = 1
    """Elements that have a specified value, and a finite one."""

    @property
    def ok(self) -> bool:
        return self.wrong == 0 and self.told

    @property
    def told(self) -> bool:
        """Something was compared: not all of what is specified is infinite or undefined."""
        return self.finite > 0 or self.elements == 0

    def to_json(self) -> dict[str, object]:
        return {
            "elements": self.elements,
            "wrong": self.wrong,
            "finite": self.finite,
            "worst_error_over_bound": json_number(self.worst),
            "first_wrong": None
            if self.first_wrong is None
            else {"index": list(self.first_wrong), "got": json_number(self.got), "want": json_number(self.want)},
            "mean_signed_error": json_number(self.mean_signed_error),
        }


def json_number(value: float) -> float | str:
    """The value as JSON has it: what is not finite is a word, `nan` or `inf`."""
    return value if math.isfinite(value) else str(float(value))


def compare(
    got: npt.NDArray[np.generic], want: Bounded, most: npt.NDArray[np.float64] | None = None
) -> ElementComparison:
    """Compare an array in the kernel's output format with the float64 specification. `most`: another bound of the whole
    error; of both the smaller one counts."""
    if got.shape != want.value.shape:
        raise ValueError(f"the result has shape {got.shape}, its specification {want.value.shape}")
    want = stored(want, got.dtype)
    found = got.astype(np.float64)
    bound = want.error + half_ulp(got.dtype, np.abs(want.value) + want.error)
    bound = bound if most is None else np.minimum(bound, most)
    finite, told = np.isfinite(want.value) & np.isfinite(want.error), np.isfinite(want.error)
    with np.errstate(invalid="ignore"):
        difference = np.where(finite, np.abs(found - want.value), 0.0)
    same_special = np.where(np.isnan(want.value), np.isnan(found), found == want.value)
    rounded_up = np.isinf(found) & (np.sign(found) == np.sign(want.value))
    difference[rounded_up & (np.abs(want.value) + want.error >= _overflow(got.dtype))] = 0.0
    if want.residue is not None and got.dtype.kind in "iu":
        difference = np.where(got == want.residue, 0.0, np.maximum(difference, 1.0))  # f64 has not all of 64 bits
    wrong = np.where(finite, ~(difference <= bound), told & ~same_special)
    ratio = difference / np.maximum(bound, np.finfo(np.float64).tiny)
    first = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.any() else None
    where = first if first is not None else (0,) * got.ndim
    has = got.size > 0
    usable = finite & np.isfinite(found)
    return ElementComparison(
        elements=int(got.size),
        wrong=int(wrong.sum()),
        worst=float(np.nanmax(ratio)) if has and not np.isnan(ratio).all() else float("inf") if has else 0.0,
        finite=int(finite.sum()),
        first_wrong=first,
        got=float(found[where]) if has else 0.0,
        want=float(want.value[where]) if has else 0.0,
        mean_signed_error=float((found[usable] - want.value[usable]).mean()) if usable.any() else 0.0,
    )


def combined(found: Sequence[ElementComparison]) -> ElementComparison:
    """Comparisons of several results as one: the first wrong element is of the first result that has one."""
    shown = next((c for c in found if not c.ok), found[0])
    return replace(
        shown,
        elements=sum(c.elements for c in found),
        wrong=sum(c.wrong for c in found),
        finite=sum(c.finite for c in found) if all(c.told for c in found) else 0,
        worst=max(c.worst for c in found),
    )


def _overflow(dtype: np.dtype[np.generic]) -> float:
    """The least magnitude that rounds to infinity; the output format may have none."""
    if dtype.kind in "iu" or np.isnan(np.array(np.inf).astype(dtype).astype(np.float64)):
        return np.inf
    largest = float(ml_dtypes.finfo(dtype).max)
    return largest + float(half_ulp(dtype, np.array(largest)))


def half_ulp(dtype: np.dtype[np.generic], magnitude: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Half the spacing of the output format around a value of this magnitude; integers are not rounded."""
    if dtype.kind in "iu":
        return np.zeros_like(magnitude)
    info = ml_dtypes.finfo(dtype)
    mantissa, smallest = int(info.nmant), float(info.smallest_subnormal)
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(np.maximum(magnitude, smallest)))
    return np.asarray(0.5 * np.maximum(2.0 ** (exponent - mantissa), smallest), dtype=np.float64)

"""Results of a proved kernel against its specification, by the error bound of the kernel's own arithmetic.

    compare_derived(bound, spec, inputs, symbols, got)      an `ElementComparison`

The bound (docs/rounding.md) knows the types in the middle and the error of each function, and takes the place of the
specification's error, which is that of f32 arithmetic, wherever it tells something: it is finite, and small beside the
results (`telling`). A bound of 41 for a normalized row of numbers up to 4 holds, and would call every result right.
Only for kernels whose `value` is proved: the bound is about rounding, not about mistakes. Who judges somebody else's
kernel takes the smaller of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.rounding.error_bound import ErrorBound, NoBound
from argus.spec import Bounded, ResultSpec, evaluate
from argus.spec.compare import ElementComparison, compare

EXACT = 2.0**-50
"""What float64 itself rounds."""
TELLING = 2.0**-4
"""Of a result, or of the usual size of results: what a bound may be at most that is used in place of a smaller one."""


def compare_derived(
    bound: ErrorBound | NoBound | None,
    spec: ResultSpec,
    inputs: Mapping[str, NDArray[Any]],
    symbols: Mapping[str, float],
    got: NDArray[Any],
) -> ElementComparison:
    """`inputs` are the arrays as they were before the launch."""
    want = evaluate(spec, inputs, symbols)
    if not isinstance(bound, ErrorBound):
        return compare(got, want)
    most = bound.at(spec, inputs, symbols, want.value) + EXACT * np.abs(want.value)
    used = telling(most, want.error, want.value)
    error = np.where(used, most, want.error)
    return compare(got, Bounded(want.indices, want.value, error, want.residue), np.where(used, most, np.inf))


def telling(most: NDArray[np.float64], other: NDArray[np.float64], value: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where the bound `most` is used, not `other`: it is smaller, or larger and small beside the results."""
    known = value[np.isfinite(value)]
    usual = float(np.sqrt(np.mean(known**2))) if known.size else 0.0
    with np.errstate(invalid="ignore"):
        small = most <= TELLING * np.maximum(np.where(np.isfinite(value), np.abs(value), 0.0), usual)
        return np.isfinite(most) & ((most <= other) | small)

"""Results of a proved kernel against its specification, by the error bound of the kernel's own arithmetic.

    compare_derived(bound, spec, inputs, symbols, got)      an `ElementComparison`

The bound (docs/rounding.md) knows the types in the middle and the error of each function, and takes the place of the
specification's error, which is that of f32 arithmetic, wherever it is finite. Only for kernels whose `value` is proved:
the bound is about rounding, not about mistakes. Who judges somebody else's kernel takes the smaller of the two.
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
    finite = np.isfinite(most)
    error = np.where(finite, most, want.error)
    return compare(got, Bounded(want.indices, want.value, error, want.residue), np.where(finite, most, np.inf))

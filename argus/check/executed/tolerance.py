"""How far an executed result of a proved kernel may be from its specification.

    tolerance(kernel, stated, inputs, symbols, want, dtype)      one number per element

Where rounding of the kernel's own arithmetic is bounded (`argus.check.rounding`), that bound. It knows the types in the
middle, the error of each function (`argus.ir.maps`) and how conversions round. Where there is no bound, or one too wide
to tell something (`telling`), a multiple of the specification's error (`argus.spec`), which is that of f32
arithmetic in the order of the specification:

    x.to(bf16) * y              a bf16 number goes into arithmetic: 2^16 times the error of f32
    ag.mfma(p.to(bf16), v, o)   a factor of a matrix product: the specification's own bound has it
    acc.to(bf16), stored        a rounding of the output; a conversion may cut off, so a whole unit

A proved kernel may compute the same formula in another order: `REORDERED` times that error is allowed (as
counterexamples do).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.check.rounding import ErrorBound, NoBound, Rounding, rounding
from argus.check.rounding.derived_comparison import EXACT, telling
from argus.check.rounding.narrowing import narrowed, reads_as_xf32
from argus.ir import ops
from argus.ir.float_formats import FORMATS
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.types import DType
from argus.spec import Bounded, ResultSpec
from argus.spec.compare import ElementComparison, half_ulp
from argus.spec.values import LEAST_F32

REORDERED = 16.0
F32_MANTISSA = 23


def tolerance(
    kernel: Kernel,
    stated: ResultSpec,
    inputs: Mapping[str, NDArray[Any]],
    symbols: Mapping[str, float],
    want: Bounded,
    dtype: np.dtype[Any],
) -> NDArray[np.float64]:
    """The whole error that is allowed, rounding of the output included."""
    if want.residue is not None:
        return np.asarray(slack(kernel) * want.error, dtype=np.float64)
    unit = 2.0**-53 if dtype == np.float64 else 2.0**-24
    floor = LEAST_F32 + unit * np.abs(want.value)
    loose = slack(kernel) * (want.error + floor) + 2.0 * half_ulp(dtype, np.abs(want.value) + want.error)
    bound = derived(kernel).of(stated.result)
    if not isinstance(bound, ErrorBound):
        return np.asarray(loose, dtype=np.float64)
    most = bound.at(stated, inputs, symbols, want.value) + EXACT * np.abs(want.value)
    return np.where(telling(most, loose, want.value), most, loose)


def lost_digits(
    kernel: Kernel,
    stated: ResultSpec,
    inputs: Mapping[str, NDArray[Any]],
    symbols: Mapping[str, float],
    want: Bounded,
    found: ElementComparison,
) -> str:
    """Why a wrong element may be a matter of rounding alone: within a bound too wide to be used, or of no bound."""
    bound = derived(kernel).of(stated.result)
    if want.residue is not None or bound is None or found.first_wrong is None:
        return ""
    if isinstance(bound, NoBound):
        return bound.text()
    most = bound.at(stated, inputs, symbols, want.value)[found.first_wrong]
    return f"the derived bound is {most:.2g} there" if abs(found.got - found.want) <= most else ""


@lru_cache(maxsize=16)
def derived(kernel: Kernel) -> Rounding:
    """Its bounds, walked once."""
    return rounding(kernel)


@lru_cache(maxsize=16)
def slack(kernel: Kernel) -> float:
    """What the specification's error is multiplied with."""
    bits = [_mantissa(value.dtype) for value in narrowed(kernel)]
    bits += [FORMATS["xf32"].digits - 1 for op in ops.walk(kernel.body) if reads_as_xf32(op)]
    return REORDERED * 2.0 ** (F32_MANTISSA - min([F32_MANTISSA, *bits]))


def _mantissa(dtype: DType) -> int:
    return int(ml_dtypes.finfo(numpy_dtype(dtype)).nmant)

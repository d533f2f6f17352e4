"""Are the results right? Judged in float64 against the task's specification, on all elements or on those of some
workgroups.

Large launches run a few workgroups. The specification is then evaluated only for the rows and columns these wrote.

The tolerance is the task's, or the error bound derived from the candidate's own arithmetic where that is smaller
(`argus.check.rounding`): a candidate never brings a tolerance of its own.

Two more questions than "within the error bound". Is the output rounded without bias: the mean of sign(want) * (got -
want), in half units of the output format, is near 0 for round-to-nearest and near -1 for truncation. And did the
kernel leave its inputs alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.agent.judge.data import Arrays, written
from argus.agent.judge.references import Known, unknown
from argus.check.rounding import ErrorBound
from argus.spec import Bounded, ResultSpec, evaluate
from argus.spec.compare import ElementComparison, compare
from argus.spec.evaluation import Positions

LEAST_FOR_BIAS = 4096
BIAS = 0.25


@dataclass(frozen=True, slots=True)
class ResultComparison:
    """What was compared, and the bias in half units of the output format (None: too few elements, or too coarse)."""

    comparison: ElementComparison
    bias: float | None


def judged(
    spec: ResultSpec,
    inputs: Arrays,
    symbols: Mapping[str, float],
    got: npt.NDArray[np.generic],
    known: Known = unknown,
    bound: ErrorBound | None = None,
) -> ResultComparison:
    """Compare a whole output. `known`: what is remembered about these inputs; `bound`: what the candidate's arithmetic
    allows, which counts where it is smaller than what the task allows."""
    given = {spec.result: got, **inputs}
    want = known("whole", lambda: evaluate(spec, given, symbols))
    return _found(got, want, _most(bound, spec, given, symbols, want, None, known, "whole"))


def judged_part(
    spec: ResultSpec,
    inputs: Arrays,
    symbols: Mapping[str, float],
    got: npt.NDArray[np.generic],
    known: Known = unknown,
    bound: ErrorBound | None = None,
) -> ResultComparison | None:
    """Compare what was written; None if nothing was, or not a whole box of elements."""
    mask = written(got)
    if not mask.any():
        return None
    positions = {
        index: np.flatnonzero(mask.any(axis=tuple(a for a in range(mask.ndim) if a != axis)))
        for axis, index in enumerate(spec.indices)
    }
    box = np.ix_(*(positions[index] for index in spec.indices))
    if not mask[box].all():
        return None

    def wanted() -> Bounded:
        return evaluate(spec, inputs, symbols, positions)

    part = tuple(where.tobytes() for where in positions.values())
    want = known(part, wanted)
    return _found(got[box], want, _most(bound, spec, inputs, symbols, want, positions, known, part))


def _most(
    bound: ErrorBound | None,
    spec: ResultSpec,
    inputs: Arrays,
    symbols: Mapping[str, float],
    want: Bounded,
    positions: Positions | None,
    known: Known,
    part: Hashable,
) -> npt.NDArray[np.float64] | None:
    """The candidate's own error bound at these inputs."""
    if bound is None:
        return None

    def kept(form: Hashable, make: Callable[[], Bounded]) -> Bounded:
        return known((form, part), make)

    return bound.at(spec, inputs, symbols, want.value, positions, kept)


def _found(
    got: npt.NDArray[np.generic], want: Bounded, most: npt.NDArray[np.float64] | None = None
) -> ResultComparison:
    return ResultComparison(compare(got, want, most), _bias(got, want))


def _bias(got: npt.NDArray[np.generic], want: Bounded) -> float | None:
    """Mean error towards or away from zero in half units; None where the arithmetic's own error hides it.

    If it is large, values that occur often count once: a row of equal weights is one rounding, not a thousand.
    """
    if got.dtype.kind in "iu" or got.dtype.itemsize > 2:
        return None
    found = got.astype(np.float64)
    size = np.abs(want.value)
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = want.value.astype(got.dtype).astype(np.float64)
        half = np.spacing(np.abs(nearest).astype(got.dtype)).astype(np.float64) / 2
        usable = np.isfinite(found) & np.isfinite(want.value) & (want.error < 0.05 * half) & (size > 0)
    count = int(usable.sum())
    if count < LEAST_FOR_BIAS:
        return None
    signed = np.sign(want.value[usable]) * (found[usable] - want.value[usable]) / half[usable]
    if abs(signed.mean()) <= BIAS:
        return float(signed.mean())
    distinct = np.unique(want.value[usable], return_index=True)[1]
    return float(signed[distinct].mean()) if len(distinct) >= LEAST_FOR_BIAS else None


def biased(found: ResultComparison) -> bool:
    """Whether the rounding leans to one side more than chance allows."""
    if found.bias is None:
        return False
    return abs(found.bias) > BIAS + 4 / math.sqrt(3 * LEAST_FOR_BIAS)

"""Are the results right? Judged in float64 against the task's specification, on all elements or on those of some
workgroups.

Large launches run a few workgroups. The specification is then evaluated only for the rows and columns these wrote:
every tensor axis that carries an index of the output, and nothing else, is cut down to them (not those of tensors with
computed indices, or whose elements are indices, which are taken whole). An index that also
appears as a number (a causal mask) keeps its values; one that shares its axis with another (`X[m, n]` beside
`X[m, k]`) must be written whole.

Two more questions than "within the error bound". Is the output rounded without bias: the mean of sign(want) * (got -
want), in half units of the output format, is near 0 for round-to-nearest and near -1 for truncation. And did the
kernel leave its inputs alone.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.agent.judge.data import Arrays, written
from argus.agent.judge.references import Known, unknown
from argus.tasks.compare import Comparison, compare
from argus.tasks.spec import Bounded, ResultSpec, evaluate, nested

LEAST_FOR_BIAS = 4096
BIAS = 0.25


@dataclass(frozen=True, slots=True)
class ResultComparison:
    """What was compared, and the bias in half units of the output format (None: too few elements, or too coarse)."""

    comparison: Comparison
    bias: float | None


def judged(
    spec: ResultSpec, inputs: Arrays, symbols: Mapping[str, float], got: npt.NDArray[np.generic], known: Known = unknown
) -> ResultComparison:
    """Compare a whole output. `known`: what is remembered about these inputs."""
    return _found(got, known("whole", lambda: evaluate(spec, {spec.result: got, **inputs}, symbols)))


def judged_part(
    spec: ResultSpec, inputs: Arrays, symbols: Mapping[str, float], got: npt.NDArray[np.generic], known: Known = unknown
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
    if any(len(positions[index]) != mask.shape[spec.indices.index(index)] for index in _whole(spec)):
        return None

    def wanted() -> Bounded:
        cut = {name: _cut(spec, name, array, positions) for name, array in inputs.items()}
        return evaluate(spec, cut, symbols, positions)

    return _found(got[box], known(tuple(where.tobytes() for where in positions.values()), wanted))


def can_be_cut(spec: ResultSpec) -> bool:
    """Whether a part of the output can be judged from a part of the inputs: some index of it is no `_whole` one."""
    return not set(spec.indices) <= _whole(spec)


def _uses(spec: ResultSpec) -> dict[tuple[str, int], set[str]]:
    """What stands at each axis of each tensor, over the whole specification."""
    found: dict[tuple[str, int], set[str]] = {}
    for node in ast.walk(spec.expression):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for axis, item in enumerate(items):
                found.setdefault((node.value.id, axis), set()).add(ast.unparse(item))
    return found


def _whole(spec: ResultSpec) -> set[str]:
    """Indices of the output that share an axis of a tensor with something else: `X[m, n]` beside `X[m, k]`."""
    return {used for uses in _uses(spec).values() if len(uses) > 1 for used in uses if used in spec.indices}


def _cut(
    spec: ResultSpec, name: str, array: npt.NDArray[np.generic], positions: Mapping[str, npt.NDArray[np.intp]]
) -> npt.NDArray[np.generic]:
    mine = {axis: uses for (tensor, axis), uses in _uses(spec).items() if tensor == name}
    if name in nested(spec) or not all(used.isidentifier() for uses in mine.values() for used in uses):
        return array
    for axis, uses in mine.items():
        if len(uses) == 1:
            used = next(iter(uses))
            if used in positions:
                array = array.take(positions[used], axis=axis)
    return array


def _found(got: npt.NDArray[np.generic], want: Bounded) -> ResultComparison:
    comparison = compare(got, want)
    return ResultComparison(comparison, _bias(got, want))


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

"""The specified result in float64, and how far a kernel may be from it.

    evaluate(spec, {"A": a, "B": b}, {"M": 64, "scale": 0.5})       a result over all of its elements
    evaluate(spec, arrays, symbols, {"m": np.array([3, 4])})         of rows 3 and 4 only

Where the formula has no value over the real numbers (`definedness`), the error is infinite.

An index of the result runs over its positions; else over the result's axis, if an array of the result is given; else
as far as a tensor that has it as an index.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from argus.spec.definedness import DefinedEvaluator
from argus.spec.errors import SpecError
from argus.spec.evaluator import MAX_ELEMENTS
from argus.spec.tree import Arithmetic, IndexName, NumberLiteral, ResultSpec
from argus.spec.values import Bounded
from argus.spec.walk import elements, looked_up, plain_uses

Positions = Mapping[str, npt.NDArray[np.intp]]


def evaluate(
    spec: ResultSpec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    positions: Positions | None = None,
    most: int = MAX_ELEMENTS,
) -> Bounded:
    """The result and the f32 error bound of each element. Raises `SpecError` where it does not fit in memory.

    `positions`: the values of indices of the result, where only a part of it is wanted. Tensors are given whole (or as
    windows, with a specification that was cut: `argus.spec.windows`). `most`: elements that an intermediate may have.
    """
    extents = _extents(spec, tensors, positions or {})
    block = _block(spec)
    if block is not None and block[0] in extents:
        return _by_blocks(spec, tensors, symbols, positions or {}, extents, block, most)
    return _evaluated(spec, tensors, symbols, extents, positions or {}, most=most)


def _evaluated(
    spec: ResultSpec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    extents: Mapping[str, int],
    positions: Positions,
    constant: str = "",
    most: int = MAX_ELEMENTS,
) -> Bounded:
    with np.errstate(all="ignore"):
        evaluator = DefinedEvaluator(tensors, symbols, extents, positions, constant, spec.whole, most)
        found = evaluator.whole_result(spec)
    order = [found.indices.index(i) for i in spec.indices]
    residue = None if found.residue is None else found.residue.transpose(order)
    return Bounded(spec.indices, found.value.transpose(order), found.error.transpose(order), residue)


def _block(spec: ResultSpec) -> tuple[str, int] | None:
    """r and 128 where an element at r // 128 picks what the rows are computed with: `W[expert[r // 128], n, k]`."""
    names = looked_up(spec)
    for element in elements(spec.expression):
        match element.indices:
            case (Arithmetic("//", IndexName(index), NumberLiteral(int() as by)),) if element.tensor in names:
                if index in spec.indices:
                    return index, by
    return None


def _by_blocks(
    spec: ResultSpec,
    tensors: Mapping[str, npt.NDArray[np.generic]],
    symbols: Mapping[str, float],
    positions: Positions,
    extents: Mapping[str, int],
    block: tuple[str, int],
    most: int,
) -> Bounded:
    """Block by block, in each of which `r // 128` is one number: what it picks does not depend on r there."""
    index, by = block
    rows = positions.get(index, np.arange(extents[index]))
    found: list[Bounded] = []
    for number in np.unique(rows // by):
        own = rows[rows // by == number]
        here = {**extents, index: len(own)}
        found.append(_evaluated(spec, tensors, symbols, here, {**positions, index: own}, index, most))
    if not np.array_equal(rows, np.sort(rows)):
        raise SpecError(f"the positions of {index} are not in order")
    axis = spec.indices.index(index)
    residues = [part.residue for part in found if part.residue is not None]
    return Bounded(
        spec.indices,
        np.concatenate([part.value for part in found], axis=axis),
        np.concatenate([part.error for part in found], axis=axis),
        np.concatenate(residues, axis=axis) if len(residues) == len(found) else None,
    )


def _extents(spec: ResultSpec, tensors: Mapping[str, npt.NDArray[np.generic]], positions: Positions) -> dict[str, int]:
    """How far each index of the result runs."""
    result = tensors.get(spec.result)
    extents: dict[str, int] = {}
    for axis, index in enumerate(spec.indices):
        if index in positions:
            extents[index] = len(positions[index])
        elif result is not None and result.ndim == len(spec.indices):
            extents[index] = result.shape[axis]
        else:
            found = {
                tensors[e.tensor].shape[at]
                for e, at in plain_uses(spec.expression, index)
                if e.tensor in tensors and tensors[e.tensor].ndim == len(e.indices)
            }
            if len(found) > 1:
                raise SpecError(f"index {index} runs over {' and over '.join(map(str, sorted(found)))}")
            if found:
                extents[index] = found.pop()
    return extents

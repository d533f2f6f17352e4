"""Inputs a candidate does not know: several distributions, drawn from seeds that only the judge has.

    normal      standard normal values
    uniform     between 0 and 1: sums grow, cancellation does not hide a lost term
    wide        magnitudes over many powers of two, as many as the specification bears (`SPREADS`)
    zeros       mostly zeros of both signs: a kernel that guesses is far off where it is not
    specials    normal values with a few infinities and NaNs, so few that most rows have none (only for tasks that
                define them)

Scalars that the task does not require to be positive are negative beside `wide` values and zero beside `zeros`.

Outputs start as a bit pattern that no computation here gives (a NaN with a payload, or an odd integer), so that what a
kernel wrote and what it left alone can be told apart bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.device.guards import buffer_elements, element_strides, numpy_dtype, row_major, tensor_shapes
from argus.ir.index_ranges import legal_range, whole_numbers
from argus.ir.kernel import Kernel
from argus.tasks.inputs import make_scalars
from argus.tasks.routing import Kind as RoutingKind
from argus.tasks.routing import RoutingTensors, draw

Arrays = dict[str, npt.NDArray[np.generic]]
Kind = Literal["normal", "uniform", "wide", "zeros", "specials"]
KINDS: tuple[Kind, ...] = ("normal", "uniform", "wide", "zeros")

SPREADS = (12, 8, 5, 3, 1)
"""How many powers of two `wide` values go up and down; the first at which all results are within their type and most
have a bound of their error."""
SPECIAL_ROWS = 1 / 8
ZERO_SHARE = 0.9
LARGEST = 1 << 28
DRAWN = (1 << 24) + 43
ROUTINGS: dict[Kind, RoutingKind] = {
    "normal": "uniform", "uniform": "uniform", "wide": "skewed", "zeros": "one", "specials": "uniform",
}  # fmt: skip


def inputs(
    kernel: Kernel,
    sizes: Mapping[str, int],
    kind: Kind,
    seed: int,
    routing: RoutingTensors | None = None,
    spread: int = SPREADS[0],
) -> Arrays:
    """An array for every tensor the kernel reads. Index tensors hold what the kernel allows, or a routing. `spread`: of
    `wide` values.

    A strided tensor is a view of memory that is drawn whole: what lies between its elements has values too, and
    elements that overlap are one.
    """
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    found: Arrays = {}
    routed = {} if routing is None else draw(routing, sizes, shapes, ROUTINGS[kind], seed)
    for number, tensor in enumerate(kernel.tensors):
        if not tensor.read:
            continue
        if tensor.name in routed:
            found[tensor.name] = routed[tensor.name]
            continue
        dice = np.random.default_rng((seed, number))
        dtype = numpy_dtype(tensor.dtype)
        shape = _memory_shape(shapes[tensor.name], strides[tensor.name])
        if tensor.dtype.kind != "float":
            memory = whole_numbers(dice, shape, legal_range(kernel, tensor, sizes)).astype(dtype)
        else:
            memory = _floats(dice, shape, kind, dtype, spread)
        found[tensor.name] = strided(memory, shapes[tensor.name], strides[tensor.name])
    return found


def _memory_shape(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a row-major tensor, else the elements from its first to its last."""
    return shape if strides == row_major(shape) else (buffer_elements(shape, strides),)


def strided(
    memory: npt.NDArray[np.generic], shape: tuple[int, ...], strides: tuple[int, ...]
) -> npt.NDArray[np.generic]:
    """Memory from a tensor's first element to its last, seen as the tensor; strides in elements."""
    if 0 in shape:
        return np.empty(shape, memory.dtype)
    return np.lib.stride_tricks.as_strided(memory, shape, tuple(step * memory.itemsize for step in strides))


def scalars(kernel: Kernel, kind: Kind, seed: int) -> dict[str, float]:
    """A value for every scalar of the naive kernel."""
    sign = {"wide": -1, "zeros": 0}.get(kind, 1)
    drawn = make_scalars(kernel, seed)
    return {
        s.name: drawn[s.name] if s.positive or s.dtype.kind == "uint" else sign * drawn[s.name] for s in kernel.scalars
    }


def _floats(
    dice: np.random.Generator, shape: tuple[int, ...], kind: Kind, dtype: np.dtype[np.generic], spread: int
) -> npt.NDArray[np.generic]:
    """Values of a kind. Of a huge tensor (weights of many experts) `DRAWN` are drawn and repeat, an odd number."""
    count = int(np.prod(shape, dtype=np.int64))
    if count <= LARGEST:
        return _bounded(_draw(dice, shape, kind, spread), dtype).astype(dtype)
    drawn = _bounded(_draw(dice, (DRAWN,), kind, spread), dtype).astype(dtype)
    whole = np.empty(count, dtype)
    for start in range(0, count, DRAWN):
        part = whole[start : start + DRAWN]
        part[:] = drawn[: len(part)]
    return whole.reshape(shape)


def poisoned(kernel: Kernel, sizes: Mapping[str, int]) -> Arrays:
    """An array of the pattern for every tensor the kernel only writes."""
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    found: Arrays = {}
    for tensor in kernel.tensors:
        if not tensor.read:
            dtype = numpy_dtype(tensor.dtype)
            shape = _memory_shape(shapes[tensor.name], strides[tensor.name])
            plain = np.full(shape, _pattern(dtype), f"u{dtype.itemsize}").view(dtype)
            found[tensor.name] = strided(plain, shapes[tensor.name], strides[tensor.name])
    return found


def written(array: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Which elements no longer hold the pattern."""
    return np.asarray(array.view(f"u{array.dtype.itemsize}") != _pattern(array.dtype))


def _pattern(dtype: np.dtype[np.generic]) -> int:
    return (0x7FBA5A5A7FBA5A5A >> (64 - 8 * dtype.itemsize)) | 1 if dtype.itemsize > 1 else 0x80


def _draw(dice: np.random.Generator, shape: tuple[int, ...], kind: Kind, spread: int) -> npt.NDArray[np.float32]:
    if kind == "uniform":
        return dice.random(shape, np.float32)
    values = dice.standard_normal(shape, np.float32)
    if kind == "wide":
        values *= np.exp2(dice.integers(-spread, spread + 1, shape)).astype(np.float32)
    elif kind == "zeros":
        values[dice.random(shape) < ZERO_SHARE] = 0.0
        values[dice.random(shape) < ZERO_SHARE / 2] *= -0.0
    elif kind == "specials":
        rows = values.size // max(1, shape[-1]) if shape else 1
        for special in (np.inf, -np.inf, np.nan):
            places = dice.integers(0, max(1, values.size), math.ceil(SPECIAL_ROWS * rows))
            values.reshape(-1)[places[: values.size]] = special
    return values


def _bounded(values: npt.NDArray[np.generic], dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """Values that a narrow format holds without becoming infinite."""
    if values.dtype.kind != "f" or dtype.itemsize > 1:
        return values
    largest = largest_of(dtype)
    clipped: npt.NDArray[np.generic] = np.clip(values, -largest, largest)
    return clipped


def largest_of(dtype: np.dtype[np.generic]) -> float:
    """The largest finite number of a type; whole numbers wrap and have none."""
    return math.inf if dtype.kind in "iub" else float(ml_dtypes.finfo(dtype).max)

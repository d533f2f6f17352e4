"""Inputs of a launch that executes a proof, by kind.

    normal      standard normal values; integers small, of both signs
    positive    between 1/8 and 3
    negative    the same below zero
    special     normal values, a third of them zeros of both signs, a few below a millionth
    sparse      normal values among many zeros, so that sums have few terms, no exponential outweighs the others, and
                one term too many or too few shows
    rising      growing along every axis (falling: shrinking), so that every element is the greatest so far
    powers      ones of both signs, a few twos and halves: products of many are exact, one factor more or less shows,
                and the greatest stands at several places
    wide        magnitudes over many powers of two
    whole       integers over all numbers of their type, the least and the greatest among them
    half        integers with half of the bits of their type (of 8 and 16 bits all but three), so that few
                operations on them overflow

`smaller`: floats are that many times divided by eight, for launches at which something overflows. No input is subnormal
in its type, as a proof takes for granted.

Numbers that the kernel uses as indices are what it states of them, whatever the kind. A tensor that is only written
starts as NaN (or a type's least number), so that an element nobody writes is wrong.

Overlapping strides give one element two places in the array: what is drawn is what the memory then holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.check.executed.outcome import Kind, SmallLaunch
from argus.ir import interp
from argus.ir.float_formats import nearest
from argus.ir.index_ranges import legal_range, stated_ranges, whole_numbers
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.ir.origins import numbers
from argus.layout import expr as E

KINDS: tuple[Kind, ...] = ("normal", "special", "positive", "negative", "wide", "whole")
SMALL = 9
"""Integers of other kinds than `whole` lie between -SMALL and SMALL."""
WIDE = 8
"""Powers of two up and down in `wide`."""
NARROW, KEPT = 32, 3
ZEROS, TINY, MILLIONTH = 0.3, 0.03, 2.0**-20
SMALLER = 1 / 8
FEW = 1 / 16
"""Which part of `sparse` values is not zero."""


def data_of(kernel: Kernel, launch: SmallLaunch) -> tuple[dict[str, NDArray[Any]], dict[str, float | int]]:
    """The arrays and the scalars of a launch."""
    made = arrays(kernel, launch.sizes, launch.kind, launch.seed, launch.smaller)
    return made, scalars(kernel, launch.kind, launch.seed)


def arrays(
    kernel: Kernel, sizes: Mapping[str, int], kind: Kind, seed: int, smaller: int = 0
) -> dict[str, NDArray[Any]]:
    """An array for every tensor of the kernel, as its memory holds it."""
    made: dict[str, NDArray[Any]] = {}
    for number, tensor in enumerate(kernel.tensors):
        dtype, shape = np.dtype(numpy_dtype(tensor.dtype)), interp.extents(tensor, sizes)
        dice = np.random.default_rng((seed, number))
        if not tensor.read:
            made[tensor.name] = np.full(shape, _blank(tensor)).astype(dtype)
        elif tensor.dtype.kind == "float":
            made[tensor.name] = _aliased(tensor, sizes, _floats(dice, shape, kind, dtype, smaller))
        else:
            drawn = whole_numbers(dice, shape, _range(kernel, tensor, sizes, kind))
            made[tensor.name] = _aliased(tensor, sizes, drawn.astype(dtype))
    return made


def scalars(kernel: Kernel, kind: Kind, seed: int) -> dict[str, float | int]:
    """A value for every scalar argument: between a half and one, negative where the kind is and the kernel allows."""
    dice = np.random.default_rng((seed, len(kernel.tensors)))
    made: dict[str, float | int] = {}
    for s in kernel.scalars:
        sign = -1 if kind == "negative" and not s.positive and s.dtype.kind != "uint" else 1
        drawn = nearest(dice.uniform(0.5, 1.0), s.dtype) if s.dtype.kind == "float" else int(dice.integers(1, 8))
        made[s.name] = sign * drawn
    return made


def _blank(tensor: Tensor) -> float | int:
    if tensor.dtype.kind == "float":
        return float("nan")
    return 0 if tensor.dtype.kind == "bool" else numbers(tensor.dtype)[0]


def _range(kernel: Kernel, tensor: Tensor, sizes: Mapping[str, int], kind: Kind) -> tuple[int, int]:
    if tensor.dtype.kind == "bool":
        return 0, 1
    least, most = numbers(tensor.dtype)
    if kind == "whole" or stated_ranges(kernel, tensor, sizes):
        return legal_range(kernel, tensor, sizes, (least, most))
    if kind == "half":
        shift = tensor.dtype.bits // 2 if tensor.dtype.bits >= NARROW else KEPT
        return least >> shift, most >> shift
    low = 0 if kind == "positive" else max(least, -SMALL)
    return low, (min(most, SMALL) if kind != "negative" or least == 0 else 0)


def _floats(
    dice: np.random.Generator, shape: tuple[int, ...], kind: Kind, dtype: np.dtype[Any], smaller: int
) -> NDArray[Any]:
    if kind in ("positive", "negative"):
        values = dice.uniform(0.125, 3.0, shape) * (1 if kind == "positive" else -1)
    else:
        values = dice.standard_normal(shape)
    if kind == "special":
        zero = np.where(dice.random(shape) < 0.5, 0.0, -0.0)
        values = np.where(dice.random(shape) < ZEROS, zero, values)
        tiny = MILLIONTH * dice.choice([-0.75, 0.25, 0.5], shape)
        values = np.where(dice.random(shape) < TINY, tiny, values)
    elif kind == "sparse":
        values = np.where(dice.random(shape) < FEW, values, 0.0)
    elif kind in ("rising", "falling"):
        steps = sum(np.indices(shape), np.zeros(shape)) + 1
        values = steps * (1 if kind == "rising" else -1)
    elif kind == "powers":
        values = np.sign(values) * np.exp2(np.round(dice.uniform(-0.5 - FEW, 0.5 + FEW, shape)))
    elif kind == "wide":
        values = values * np.exp2(dice.integers(-WIDE, WIDE + 1, shape))
    limits = ml_dtypes.finfo(dtype)
    values = np.clip(values * SMALLER**smaller, -float(limits.max), float(limits.max))
    least = float(limits.smallest_normal)
    values = np.where((values != 0) & (np.abs(values) < least), np.copysign(least, values), values)
    return np.asarray(values).astype(dtype)


def places(tensor: Tensor, sizes: Mapping[str, int]) -> NDArray[np.int64]:
    """Where in memory each element lies, in elements, row by row."""
    found = np.zeros(1, dtype=np.int64)
    for extent, stride in zip(interp.extents(tensor, sizes), tensor.strides, strict=True):
        found = (found[:, None] + np.arange(extent) * int(E.evaluate(stride, sizes))).reshape(-1)
    return found


def _nested(tensor: Tensor, sizes: Mapping[str, int]) -> bool:
    """Every stride steps over all that the smaller ones reach, so that no two elements share a place."""
    axes = zip((int(E.evaluate(s, sizes)) for s in tensor.strides), interp.extents(tensor, sizes), strict=True)
    reached = 0
    for stride, extent in sorted(axis for axis in axes if axis[1] > 1):
        if stride <= reached:
            return False
        reached += (extent - 1) * stride
    return True


def _aliased(tensor: Tensor, sizes: Mapping[str, int], drawn: NDArray[Any]) -> NDArray[Any]:
    """The array as memory with the tensor's strides gives it back: elements of one place are one number."""
    if 0 in drawn.shape or _nested(tensor, sizes):
        return drawn
    _, first, place = np.unique(places(tensor, sizes), return_index=True, return_inverse=True)
    return drawn.reshape(-1)[first][place].reshape(drawn.shape)

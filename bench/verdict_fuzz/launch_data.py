"""The data of a launch: inputs of several sorts, in memory as the kernel's strides lay it out.

given = inputs(program, kernel, sizes, "mixed", seed=3)
memory = LaunchMemory(kernel, given, sizes, sentinel=77)
memory.views["Y"]       an output, full of the sentinel before the launch
memory.gaps(tensor)     whether a byte beside its elements has changed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.layout import expr as E
from bench.verdict_fuzz.program import Generated, Sizes

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e4, -1e4, 2.0**-126, 0.5, 3.0, -7.0)


def draw(kind: str, dice: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Inputs of one sort; integers over their whole range where the kind is `full`."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if kind == "full":
            edges = np.array([info.min, info.max, 0, 1, info.max // 2, info.min // 2], dtype=dtype)
            some = dice.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            return np.where(dice.random(shape) < 0.3, dice.choice(edges, shape), some).astype(dtype)
        low = 0 if kind == "positive" or info.min == 0 else -9
        high = 0 if kind == "negative" and info.min < 0 else 9
        return dice.integers(low, high, shape, endpoint=True).astype(dtype)
    match kind:
        case "positive":
            made = dice.uniform(0.1, 3.0, shape)
        case "negative":
            made = -dice.uniform(0.1, 3.0, shape)
        case "special":
            made = dice.choice(np.array(SPECIAL), shape)
        case _:
            made = dice.normal(0.0, 2.0, shape)
    return np.asarray(made, dtype=np.float32).astype(dtype)


def inputs(program: Generated, kernel: Kernel, sizes: Sizes, kind: str, seed: int) -> dict[str, NDArray[Any]]:
    dice = np.random.default_rng(seed)
    made = {}
    for tensor in kernel.tensors:
        if tensor.read:
            shape = extents(tensor, sizes)
            special = program.draws.get(tensor.name)
            given = special(dice, shape, sizes) if special else draw(kind, dice, shape, numpy_dtype(tensor.dtype))
            made[tensor.name] = given.astype(numpy_dtype(tensor.dtype))
    return made


class LaunchMemory:
    """The arrays of one launch as the kernel's memory: strides with gaps, outputs full of a sentinel."""

    def __init__(self, kernel: Kernel, given: Mapping[str, NDArray[Any]], sizes: Sizes, sentinel: int) -> None:
        self.flat: dict[str, NDArray[Any]] = {}
        self.views: dict[str, NDArray[Any]] = {}
        self.before: dict[str, NDArray[Any]] = {}
        for tensor in kernel.tensors:
            flat, view = _buffer(tensor, sizes, sentinel)
            if tensor.name in given:
                view[...] = given[tensor.name]
            self.flat[tensor.name], self.views[tensor.name] = flat, view
            self.before[tensor.name] = flat.copy()

    def gaps(self, tensor: Tensor) -> bool:
        """A byte between the rows of an output, or of a tensor that is only read, has changed."""
        now, then, view = self.flat[tensor.name], self.before[tensor.name], self.views[tensor.name]
        if not tensor.written:
            return bool((_bytes(now) != _bytes(then)).any())
        inside = np.zeros(len(now), dtype=np.bool_)
        steps = tuple(s // now.itemsize for s in view.strides)
        np.lib.stride_tricks.as_strided(inside, view.shape, steps)[...] = True
        return bool((_bytes(now[~inside]) != _bytes(then[~inside])).any())


def _bytes(a: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(a).view(np.uint8)


def _buffer(tensor: Tensor, sizes: Sizes, sentinel: int) -> tuple[NDArray[Any], NDArray[Any]]:
    shape = extents(tensor, sizes)
    dtype = numpy_dtype(tensor.dtype)
    steps = tuple(int(E.evaluate(s, sizes)) for s in tensor.strides)
    count = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    flat = np.full(max(count, 1), sentinel).astype(dtype)
    if 0 in shape:
        return flat[:0], np.empty(shape, dtype)
    return flat, np.lib.stride_tricks.as_strided(flat, shape, tuple(s * dtype.itemsize for s in steps))

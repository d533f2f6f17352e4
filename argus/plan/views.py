"""Where a value lies: a buffer, an offset and strides in elements. Views of views, without moving anything.

    x = whole("x", (8, 64))                   View("x", (8, 64), (64, 1), 0)
    permuted(x, (1, 0))                       View("x", (64, 8), (1, 64), 0)
    reshaped(x, (8, 4, 16))                   View("x", (8, 4, 16), (64, 16, 1), 0)
    reshaped(permuted(x, (1, 0)), (512,))     None: it has to be copied first

A broadcast axis has the stride 0. Axes of extent 1 have any stride; `row_major` passes over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from argus.plan.graph import Shape


@dataclass(frozen=True, slots=True)
class View:
    """Elements of a buffer: those at offset + sum of index * stride."""

    buffer: str
    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def row_major(self) -> bool:
        """Whether the elements follow each other in the order of the indices."""
        return all(s == w for e, s, w in zip(self.shape, self.strides, steps_of(self.shape), strict=True) if e > 1)

    def to_json(self) -> dict[str, Any]:
        return {"buffer": self.buffer, "offset": self.offset, "shape": [*self.shape], "strides": [*self.strides]}

    def text(self) -> str:
        shape = "x".join(map(str, self.shape)) or "1"
        at = f"+{self.offset}" if self.offset else ""
        return f"{self.buffer}{at}[{shape}]" + ("" if self.row_major else f" strides {list(self.strides)}")


def steps_of(shape: Shape) -> tuple[int, ...]:
    """The strides of a row-major array."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def whole(buffer: str, shape: Shape) -> View:
    return View(buffer, shape, steps_of(shape))


def permuted(view: View, dims: Sequence[int]) -> View:
    return replace(view, shape=tuple(view.shape[d] for d in dims), strides=tuple(view.strides[d] for d in dims))


def expanded(view: View, shape: Shape) -> View:
    """Broadcast: new axes in front, and axes of extent 1 stretched."""
    missing = len(shape) - len(view.shape)
    old = (1,) * missing + view.shape
    strides = (0,) * missing + view.strides
    return replace(
        view, shape=shape, strides=tuple(s if o == n else 0 for o, n, s in zip(old, shape, strides, strict=True))
    )


def sliced(view: View, dim: int, start: int, stop: int, step: int) -> View:
    extent = len(range(start, stop, step))
    shape = (*view.shape[:dim], extent, *view.shape[dim + 1 :])
    strides = (*view.strides[:dim], view.strides[dim] * step, *view.strides[dim + 1 :])
    return replace(view, shape=shape, strides=strides, offset=view.offset + start * view.strides[dim])


def reshaped(view: View, shape: Shape) -> View | None:
    """The same elements in the same order with other axes; None where no strides say so."""
    axes = merged([(e, s) for e, s in zip(view.shape, view.strides, strict=True) if e > 1])
    strides: list[int] = []
    for extent in reversed(shape):
        if extent == 1:
            strides.append(1)
            continue
        if not axes or axes[-1][0] % extent:
            return None
        have, step = axes.pop()
        strides.append(step)
        if have > extent:
            axes.append((have // extent, step * extent))
    return None if axes else replace(view, shape=shape, strides=tuple(reversed(strides)))


def merged(axes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring axes (extent, stride) as one where the outer one steps over the whole inner one."""
    found: list[tuple[int, int]] = []
    for extent, step in axes:
        if found and found[-1][1] == extent * step:
            found[-1] = (found[-1][0] * extent, step)
        else:
            found.append((extent, step))
    return found

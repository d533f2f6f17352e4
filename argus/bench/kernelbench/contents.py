"""What an argument of a launch holds before it: by place in its buffer, whatever wrote it.

    contents_of(plan, number, "X", kernel, seed, "structured")(places)      values in the buffer's type

Inputs, parameters and what an earlier launch writes are drawn (`drawn`); the rest of a filled buffer (the border of a
padded array, a constant) holds its number, and what nobody has written is NaN: a plan that reads it is wrong. Arguments
that share a buffer have the same contents: the first of them says how long rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from argus.bench.kernelbench.drawn import DrawKind, DrawnBuffer
from argus.device.guards import numpy_dtype
from argus.ir.index_ranges import legal_range
from argus.ir.kernel import Kernel
from argus.ir.types import DTYPES
from argus.plan.plan import Plan
from argus.plan.views import View

Places = npt.NDArray[np.int64]
Contents = Callable[[Places], npt.NDArray[np.generic]]
ROW = 1000
"""Elements with one offset in an argument that has one axis."""


def contents_of(plan: Plan, number: int, name: str, kernel: Kernel, seed: int, kind: DrawKind) -> Contents:
    """The contents of the buffer of argument `name` of launch `number`."""
    launch = plan.launches[number]
    buffer = plan.buffers[launch.arguments[name].buffer]
    dtype = numpy_dtype(DTYPES[buffer.dtype])
    tensor = next(t for t in kernel.tensors if launch.arguments[t.name].buffer == buffer.name)
    extents = [extent for extent in launch.arguments[tensor.name].shape if extent > 1]
    drawn = DrawnBuffer(buffer.name, seed, kind, extents[-1] if len(extents) > 1 else ROW)
    between = legal_range(kernel, tensor, launch.sizes, (0, 1)) if dtype.kind in "iub" else None
    given = buffer.kind in ("input", "parameter")
    writers = [w.arguments[n] for w in plan.launches[:number] for n in w.writes if w.arguments[n].buffer == buffer.name]
    rest = np.nan if buffer.fill is None else buffer.fill

    def at(places: Places) -> npt.NDArray[np.generic]:
        has = np.ones(places.shape, np.bool_) if given else covered(writers, places, buffer.elements)
        if between is not None:
            return np.where(has, drawn.whole(places, *between), -1 if buffer.fill is None else int(rest)).astype(dtype)
        if not has.any():
            return np.full(places.shape, rest, dtype)
        values = drawn.real(places)
        return (values if has.all() else np.where(has, values, rest)).astype(dtype)

    return at


def covered(views: Sequence[View], places: Places, elements: int) -> npt.NDArray[np.bool_]:
    """Which places of a buffer are elements of one of the views."""
    found = np.zeros(places.shape, np.bool_)
    for view in views:
        if view.row_major and view.offset == 0 and view.elements == elements:
            return np.ones(places.shape, np.bool_)
        found |= inside(view, places)
    return found


def inside(view: View, places: Places) -> npt.NDArray[np.bool_]:
    """Which places are elements of a view whose elements do not overlap."""
    rest = places - view.offset
    right = (rest >= 0) & (view.elements > 0)
    axes = sorted((s, e) for s, e in zip(view.strides, view.shape, strict=True) if e > 1)
    for step, extent in reversed(axes):
        index = rest // step
        right &= index < extent
        rest = rest - index * step
    return np.asarray(right & (rest == 0), np.bool_)

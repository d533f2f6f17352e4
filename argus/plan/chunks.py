"""A launch whose arrays are too large for 32-bit offsets, as several launches of a part each.

    parts(kernel, {"M": 100000, "N": 8192}, views, limit)      M = 65535, then M = 34465 with views further on

An axis can be cut if it is the outermost one of every array that has it, every array that is too large has it, and each
element of the result depends on it only through elements at the same place: `Y[m] = sum(X[m, n], n)` along M. The tree
of the specification says so (`cuttable`): a mean over the axis is not cut, nor one that uses the index as a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from argus.device.guards import buffer_elements, tensor_shapes
from argus.ir.kernel import Kernel
from argus.plan.choices import Choices, ShapeClass
from argus.plan.graph import PlanError
from argus.plan.views import View
from argus.spec.tree import IndexName, SizeName, TensorElement
from argus.spec.walk import walk

ROUND = 1024
"""What parts are multiples of, as far as they are that long: accesses and tiles stay whole."""

Part = tuple[dict[str, int], dict[str, View]]


def parts(
    kernel: Kernel, sizes: Mapping[str, int], views: Mapping[str, View], limit: int, choices: Choices | None = None
) -> Iterator[Part]:
    """Sizes and views of every launch; one where everything is within the limit (bytes)."""
    spans = {t.name: _bytes(kernel, t.name, views[t.name]) for t in kernel.tensors}
    large = {name for name, count in spans.items() if count >= limit}
    if not large:
        yield dict(sizes), dict(views)
        return
    for symbol in kernel.shapes:
        axes = cuttable(kernel, symbol.name, sizes)
        if axes is None or not large <= set(axes):
            continue
        extent = sizes[symbol.name]
        each = max(-(-spans[name] // extent) for name in axes)
        length = (limit - 1) // each
        length -= length % (ROUND if length >= ROUND else 1)
        if length < 1:
            continue
        if choices is not None:
            length = _chosen(kernel, sizes, extent, length, choices)
        for start in range(0, extent, length):
            here = min(length, extent - start)
            moved = {
                name: replace(
                    view,
                    shape=tuple(here if axis == axes.get(name) else e for axis, e in enumerate(view.shape)),
                    offset=view.offset + (start * view.strides[axes[name]] if name in axes else 0),
                )
                for name, view in views.items()
            }
            yield {**sizes, symbol.name: here}, moved
        return
    count = max(spans.values())
    raise PlanError("ARG-G103", f"{kernel.name} would reach {count} bytes, and no axis of it can be cut: not yet")


def _chosen(kernel: Kernel, sizes: Mapping[str, int], extent: int, length: int, choices: Choices) -> int:
    """The length of a part, by rule the longest (`parts` is 0); even parts are multiples of ROUND, too, if they are
    that long."""
    least = -(-extent // length)
    able = tuple({"parts": count} for count in dict.fromkeys((0, least, 1 << (least - 1).bit_length())))
    shape: ShapeClass = {"kernel": kernel.name, **{name.lower(): size for name, size in sizes.items()}}
    count = choices.take("launch-parts", shape, able[0], lambda: able)["parts"]
    if not count:
        return length
    each = -(-extent // max(least, int(count)))
    return min(length, each + -each % ROUND) if length >= ROUND else each


def _bytes(kernel: Kernel, name: str, view: View) -> int:
    dtype = next(t.dtype for t in kernel.tensors if t.name == name)
    return buffer_elements(view.shape, view.strides) * dtype.bytes


def cuttable(kernel: Kernel, size: str, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """The axis that a size is of every tensor that has it, if the launch can be cut along it."""
    shapes = tensor_shapes(kernel, sizes)
    axes: dict[str, int] = {}
    for tensor in kernel.tensors:
        found = [axis for axis, extent in enumerate(tensor.shape) if str(extent) == size]
        if len(found) > 1 or (found and any(e > 1 for e in shapes[tensor.name][: found[0]])):
            return None
        if found:
            axes[tensor.name] = found[0]
    assert kernel.computes is not None
    for result in kernel.computes.results:
        if result.result not in axes:
            return None
        index = result.indices[axes[result.result]]
        used = [node for node in walk(result.expression) if node == IndexName(index) or node == SizeName(size)]
        plain = [
            element.indices[axes[element.tensor]]
            for element in walk(result.expression)
            if isinstance(element, TensorElement) and element.tensor in axes
        ]
        if any(item != IndexName(index) for item in plain) or len(used) != len(plain):
            return None
    return axes

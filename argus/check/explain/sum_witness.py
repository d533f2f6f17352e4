"""Counterexamples of `reduced`: a launch with ones at one index, whose result counts how often that was accumulated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.check.explain.search_budget import may_search
from argus.check.explain.small_executions import launches, overlaps
from argus.check.report import Counterexample, Party
from argus.check.spec.spec_terms import extent_of
from argus.check.walk import KernelWalk
from argus.ir import interp
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.ir.types import Span
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError


def miscounted_index(flow: KernelWalk, axis: int, span: Span, op: int) -> Counterexample | None:
    """Launch small sizes with ones at chosen indices; a sum that counts wrong is narrowed down to one index."""
    kernel, name = flow.kernel, flow.tables.axis_names[axis]
    outputs = [t for t in kernel.tensors if t.written and not t.read]
    extent = extent_of(flow.tables, axis)
    if extent is None or len(outputs) != 1:
        return None
    for sizes in _by_length(kernel, extent):
        if any(overlaps(t, sizes) for t in kernel.tensors if t.read):  # ones at one index would be ones at others
            continue
        sets = _subsets(int(E.evaluate(extent, sizes)))
        indices = next((s for s in sets if _count(flow, axis, s, sizes, outputs[0]) is not None), [])
        while len(indices) > 1:
            half = indices[: len(indices) // 2]
            rest = indices[len(indices) // 2 :]
            indices = half if _count(flow, axis, half, sizes, outputs[0]) is not None else rest
        last = _count(flow, axis, indices, sizes, outputs[0]) if indices else None
        if last is None:
            continue
        at, times = last
        coords = dict(zip(outputs[0].axes, at, strict=True))
        where = ", ".join(f"{a}={c}" for a, c in coords.items())
        how = "is never accumulated" if times == 0 else f"is accumulated {times:g} times"
        text = f"for {outputs[0].name}[{where}] the index {name}={indices[0]} {how}"
        operand = Party("sum", 0, 0, text, outputs[0].name, coords, span=span)
        message = f"{name}={indices[0]} {how}"
        hint = f"let the loop and its fragments visit every {name} exactly once"
        return Counterexample("reduced", span, op, message, sizes, (0, 0, 0), {}, 0, (operand,), hint)
    return None


def _subsets(extent: int) -> list[list[int]]:
    """All indices, then sets that tell permuted operands apart: halves, every other one, every other group of eight."""
    every = list(range(extent))
    return [s for s in (every, every[: extent // 2], every[::2], [k for k in every if k // 8 % 2 == 0]) if s]


def _by_length(kernel: Kernel, extent: Expr) -> list[dict[str, int]]:
    """Small launches with different lengths of the sum, shortest first."""
    by_extent: dict[int, dict[str, int]] = {}
    for sizes in launches(kernel):
        by_extent.setdefault(int(E.evaluate(extent, sizes)), sizes)
    return [by_extent[n] for n in sorted(by_extent)][:6]


def _count(
    flow: KernelWalk, axis: int, indices: list[int], sizes: Mapping[str, int], output: Tensor
) -> tuple[tuple[int, ...], float] | None:
    """The first output element of block 0 whose sum over ones at `computed_indices` is not their number."""
    arrays: dict[str, np.ndarray] = {}
    for tensor, numbers in flow.tables.tensor_axes.items():
        if not tensor.read:
            continue
        array = np.ones(interp.extents(tensor, sizes))
        if axis in numbers:
            position = numbers.index(axis)
            keep = np.zeros(array.shape[position])
            keep[indices] = 1
            array = array * keep.reshape([-1 if a == position else 1 for a in range(array.ndim)])
        arrays[tensor.name] = array
    if not may_search(1):
        return None
    try:
        outcome = interp.run(flow.kernel, arrays, sizes, blocks=[(0, 0, 0)])
    except (interp.InterpError, ExprError):
        return None
    shape = interp.extents(output, sizes)
    strides = tuple(4 * int(E.evaluate(s, sizes)) for s in output.strides)
    written = np.lib.stride_tricks.as_strided(outcome.writes[output.name], shape, strides) > 0
    got = outcome.arrays[output.name].astype(np.float64)
    wrong = written & (got != len(indices))
    if not wrong.any():
        return None
    at = tuple(int(v) for v in np.argwhere(wrong)[0])
    return at, float(got[at])

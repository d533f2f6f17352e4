"""Counterexamples of `value`: a small launch with random inputs whose result is far from the specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.explain.small_executions import index_limit, larger, launches, ragged, varied
from argus.check.report import Counterexample, Party
from argus.check.solve.limits import may_search
from argus.check.walk import KernelWalk
from argus.ir import interp, ops
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.types import Span
from argus.layout.expr import ExprError
from argus.spec import SpecError, evaluate, stored

FAR = {8: 0.25, 16: 0.1, 32: 0.01, 64: 0.01}
"""Bits of the narrowest floating type in the kernel -> which part of a value is far."""


WIDE = 8.0


MOST = 1 << 18
"""Elements of all tensors in a launch that is tried."""


def counterexample(flow: KernelWalk, span: Span, op: int) -> Counterexample | None:
    """The first small launch whose result is far from the specification."""
    assert flow.spec is not None
    output = flow.spec.output
    for sizes, spread in _trials(flow.kernel):
        found = _far(flow.kernel, output.name, sizes, spread)
        if found is not None:
            at, got, want = found
            coords = dict(zip(output.axes, at, strict=True))
            named = ", ".join(f"{axis}={c}" for axis, c in coords.items())
            text = f"{output.name}[{named}] is {got:.6g}, the specification gives {want:.6g}"
            operand = Party("value", 0, 0, text, output.name, coords, span=span)
            hint = "compare what is computed with the specification, operand by operand"
            message = "the kernel computes something else than it says"
            return Counterexample("value", span, op, message, sizes, (0, 0, 0), {}, 0, (operand,), hint)
    return None


def _trials(kernel: Kernel) -> list[tuple[dict[str, int], float]]:
    """Small launches, with sizes that divide evenly and such that do not; the largest of them, with loops of several
    iterations, also with inputs of wide spread."""
    small = varied(kernel)
    more = [*ragged(kernel), *larger(kernel)]
    small += [sizes for sizes in more if sizes not in small and _elements(kernel, sizes) <= MOST]
    found = [sizes for sizes in launches(kernel, 400) if _elements(kernel, sizes) <= MOST]
    largest = found[-1:] if found[-1:] != small[-1:] else []
    return [(sizes, spread) for spread in (1.0, WIDE) for sizes in (*(small if spread == 1.0 else ()), *largest)]


def _elements(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    return sum(int(np.prod(interp.extents(t, sizes))) for t in kernel.tensors)


def _part(kernel: Kernel) -> float:
    types = [t.dtype for t in kernel.tensors] + [v.dtype for op in ops.walk(kernel.body) for v in op.results]
    return FAR[min((t.bits for t in types if t.kind == "float"), default=32)]


def _far(
    kernel: Kernel, output: str, sizes: Mapping[str, int], spread: float
) -> tuple[tuple[int, ...], float, float] | None:
    assert kernel.computes is not None
    (stated,) = kernel.computes.results
    dice = np.random.default_rng(1)
    arrays: dict[str, NDArray[Any]] = {}
    for tensor in kernel.tensors:
        shape = interp.extents(tensor, sizes)
        if tensor.read and tensor.dtype.kind == "float":
            arrays[tensor.name] = (spread * dice.standard_normal(shape)).astype(numpy_dtype(tensor.dtype))
        elif tensor.read:
            below = index_limit(kernel, tensor, sizes)
            arrays[tensor.name] = dice.integers(0, below, shape).astype(numpy_dtype(tensor.dtype))
    scalars = {s.name: 0.75 if s.dtype.kind == "float" else 3 for s in kernel.scalars}
    if not may_search(1):
        return None
    try:
        outcome = interp.run(kernel, arrays, sizes, scalars=scalars)
        with np.errstate(all="ignore"):
            extents = {output: outcome.arrays[output]}  # of indices that no input has plainly
            wanted = evaluate(stated, {**extents, **arrays}, {**sizes, **scalars})
    except (interp.InterpError, ExprError, SpecError):
        return None
    wanted = stored(wanted, outcome.arrays[output].dtype)
    got = np.asarray(outcome.arrays[output]).astype(np.float64)
    usable = np.isfinite(wanted.value) & np.isfinite(wanted.error)
    if got.shape != wanted.value.shape or not usable.any():
        return None
    typical = float(np.sqrt(np.mean(wanted.value[usable] ** 2)))
    with np.errstate(invalid="ignore"):
        part = 0.0 if wanted.residue is not None else _part(kernel)
        limit = part * (np.abs(wanted.value) + typical) + 16 * wanted.error
        wrong = usable & ~(np.abs(got - wanted.value) <= limit)
    if not wrong.any():
        return None
    at = tuple(int(n) for n in np.argwhere(wrong)[0])
    return at, float(got[at]), float(wanted.value[at])

"""Arguments for a launch: seeded inputs, and outputs filled with a pattern no kernel writes by accident.

Inputs are standard normal values rounded to the element type; integers are small ones, and where a kernel uses them as
indices, any that it allows (`ag.as_index`), the least and the greatest among them. Outputs start as NaN
(or the type's most negative integer): an element the kernel forgets to write is then wrong, not zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from argus.device.guards import buffer_elements, element_strides, numpy_dtype, tensor_shapes
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.layout.expr import Expr, evaluate
from argus.tasks.origins import Origins, numbers

MANY = 100


def make_arrays(kernel: Kernel, sizes: Mapping[str, int], seed: int) -> dict[str, npt.NDArray[np.generic]]:
    """One array per tensor argument, in the order of the signature."""
    rng = np.random.default_rng(seed)
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for tensor in kernel.tensors:
        dtype = numpy_dtype(tensor.dtype)
        shape = shapes[tensor.name]
        if tensor.read:
            if tensor.dtype.kind == "float":
                arrays[tensor.name] = rng.standard_normal(shape).astype(dtype)
            else:
                arrays[tensor.name] = whole_numbers(rng, shape, legal_range(kernel, tensor, sizes)).astype(dtype)
        else:
            blank: float | int = np.nan if tensor.dtype.kind == "float" else -(2 ** (tensor.dtype.bits - 1))
            arrays[tensor.name] = np.full(shape, blank).astype(dtype)
        arrays[tensor.name] = _spread(arrays[tensor.name], strides[tensor.name])
    return arrays


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...], between: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Numbers of a range, all as likely; both of its ends are among them where there is room."""
    drawn = rng.integers(*between, shape, endpoint=True)
    ends = between[: drawn.size]
    drawn.reshape(-1)[rng.choice(drawn.size, len(ends), replace=False)] = ends
    return drawn


def legal_range(kernel: Kernel, tensor: ops.Tensor, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Least and greatest number an integer input may hold: small ones, or as indices those the kernel states."""
    stated = stated_ranges(kernel, tensor, sizes)
    if not stated:
        return 0, MANY - 1
    least, most = numbers(tensor.dtype)
    low, high = max(least, *(low for low, _ in stated)), min(most, *(high for _, high in stated))
    return (low, high) if low <= high else (0, 0)


def stated_ranges(kernel: Kernel, tensor: ops.Tensor, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """What the kernel states about elements of a tensor, in numbers."""
    origins = Origins(kernel)
    symbols = [op for op in ops.walk(kernel.body) if isinstance(op, ops.Symbol)]
    return [stated_range(op, sizes) for op in symbols if tensor in origins.tensors(op.value)]


def stated_range(op: ops.Symbol, sizes: Mapping[str, int]) -> tuple[int, int]:
    """What `ag.as_index` states in numbers at these sizes; bounds that depend on anything else are left out."""
    least, most = numbers(op.value.dtype)
    low, high = op.symbol.bounds()
    low, high = least if low is None else low, most if high is None else high
    for fact in op.facts:
        limit = limit_of(op, fact)
        if limit is not None and {v.name for v in limit.free()} <= sizes.keys():
            value = int(evaluate(limit, sizes))
            low, high = (low, min(high, value)) if fact.args[0] is op.symbol else (max(low, value), high)
    return low, high


def limit_of(op: ops.Symbol, fact: Expr) -> Expr | None:
    """The other side of `symbol <= limit` or `limit <= symbol`."""
    sides = [side for side in fact.args if side is not op.symbol]
    return sides[0] if fact.op == "le" and len(fact.args) == len(sides) + 1 else None


def _spread(array: npt.NDArray[np.generic], strides: tuple[int, ...]) -> npt.NDArray[np.generic]:
    """The array in memory with the kernel's strides; between its elements lies the same pattern everywhere."""
    if 0 in array.shape or strides == tuple(step // array.itemsize for step in array.strides):
        return array
    memory = np.zeros(buffer_elements(array.shape, strides), array.dtype)
    view = np.lib.stride_tricks.as_strided(memory, array.shape, tuple(step * array.itemsize for step in strides))
    view[...] = array
    return view


def make_scalars(kernel: Kernel, seed: int) -> dict[str, float]:
    """A value for every scalar argument: between a half and one, so that neither a lost nor a doubled use hides."""
    rng = np.random.default_rng(seed + 1)
    return {
        s.name: float(np.float32(rng.uniform(0.5, 1.0))) if s.dtype.kind == "float" else int(rng.integers(1, 8))
        for s in kernel.scalars
    }

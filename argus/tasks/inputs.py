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
from argus.ir.float_formats import nearest
from argus.ir.index_ranges import legal_range, whole_numbers
from argus.ir.kernel import Kernel


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


def in_memory(
    kernel: Kernel, sizes: Mapping[str, int], arrays: Mapping[str, npt.NDArray[np.generic]]
) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays with the strides that the kernel takes."""
    strides = element_strides(kernel, sizes)
    return {name: _spread(array.copy(), strides[name]) for name, array in arrays.items()}


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
        s.name: nearest(rng.uniform(0.5, 1.0), s.dtype) if s.dtype.kind == "float" else int(rng.integers(1, 8))
        for s in kernel.scalars
    }

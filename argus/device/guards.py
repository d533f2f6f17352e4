"""What must hold before a kernel may be launched, because everything proved about it assumes it.

`requires` of the kernel, at the sizes of this launch; no lane's offset beyond 2^32 and no workgroup's base beyond 2^62
(`argus.ir.semantics.addresses`), and with a tensor of 2^31 bytes or more, none beyond 2^31 from its workgroup's base
and every number within 32 bits (`argus.compile.large_tensors`); arrays of the stated shape and type; outputs that do
not overlap any other argument. Arguments that are only read may overlap: they are views of one tensor. Each refusal
names the condition and the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from argus.compile.large_tensors import obstacle
from argus.ir.kernel import Kernel
from argus.ir.semantics import base_limits, grid_limits, reach
from argus.ir.types import DTYPES, DType
from argus.layout.expr import Expr, evaluate

KEPT_KERNELS = 256
"""Kernels whose conditions on sizes are remembered."""

_NUMPY: dict[str, np.dtype[np.generic]] = {
    "f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16), "fp8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "bf8": np.dtype(ml_dtypes.float8_e5m2fnuz), "i64": np.dtype(np.int64), "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16), "i8": np.dtype(np.int8), "u32": np.dtype(np.uint32), "u16": np.dtype(np.uint16),
    "u8": np.dtype(np.uint8), "bool": np.dtype(np.bool_),
}  # fmt: skip


TORCH_TYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fnuz": "fp8",
    "float8_e5m2fnuz": "bf8", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint32": "u32",
    "uint16": "u16", "uint8": "u8", "bool": "bool",
}  # fmt: skip
"""Element types by the names that torch has for them."""


class LaunchRefused(ValueError):
    """The launch is refused; the message says which condition fails and with what values, `code` is one of `CODES`."""

    def __init__(self, message: str, code: str = "ARG-D101") -> None:
        super().__init__(message)
        self.code = code


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The numpy (or ml_dtypes) type that stores elements of this IR type."""
    return _NUMPY[dtype.name]


def tensor_shapes(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Concrete shape of every tensor argument at these sizes."""
    env = dict(sizes)
    return {t.name: tuple(int(evaluate(extent, env)) for extent in t.shape) for t in kernel.tensors}


def element_strides(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Strides in elements of every tensor argument at these sizes."""
    env = dict(sizes)
    return {t.name: tuple(int(evaluate(stride, env)) for stride in t.strides) for t in kernel.tensors}


def buffer_elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first of a tensor to past its last."""
    return 0 if 0 in shape else 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))


def launch_grid(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """Number of workgroups in x, y and z."""
    x, y, z = (int(evaluate(extent, dict(sizes))) for extent in kernel.grid)
    return x, y, z


def check_sizes(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """Refuse sizes outside the kernel's `requires` or too large for 32-bit offsets."""
    for symbol in kernel.shapes:
        name = symbol.name
        if name not in sizes:
            raise LaunchRefused(f"size {name} is not given; say --shape {name}=…", "ARG-D102")
        low, high = symbol.bounds()
        if (low is not None and sizes[name] < low) or (high is not None and sizes[name] > high):
            raise LaunchRefused(f"{name} = {sizes[name]} is outside the kernel's range {low} … {high}", "ARG-D102")
    known = {s.name for s in kernel.shapes}
    for name in sizes:
        if name not in known:
            told = ", ".join(sorted(known)) or "none"
            raise LaunchRefused(f"{kernel.name} has no size {name}; its sizes are {told}", "ARG-D102")
    for condition in kernel.requires:
        if not evaluate(condition, dict(sizes)):
            names = sorted(v.name for v in condition.free())
            values = ", ".join(f"{name} = {sizes[name]}" for name in names)
            raise LaunchRefused(f"{kernel.name} requires {condition}, but {values}", "ARG-D102")
    for what, bits, limits in _limits(kernel):
        for condition in limits:
            if not evaluate(condition, dict(sizes)):
                names = sorted(v.name for v in condition.free())
                values = ", ".join(f"{name} = {sizes[name]}" for name in names)
                why = f"{condition} does not hold with {values}" if names else "whatever the sizes are"
                raise LaunchRefused(f"{what} of {kernel.name} leave {bits} bits: {why}", "ARG-D103")
    why_not = obstacle(kernel, sizes)
    if why_not is not None:
        raise LaunchRefused(f"tensors of {kernel.name} have 2 GiB or more: {why_not}", "ARG-D103")


@lru_cache(maxsize=KEPT_KERNELS)
def _limits(kernel: Kernel) -> tuple[tuple[str, int, tuple[Expr, ...]], ...]:
    """What numbers of a launch, of how many bits, are within them under which conditions; formulas of sizes only."""
    return (
        ("offsets", 32, reach(kernel)),
        ("work-items", 32, grid_limits(kernel)),
        ("bases", 64, base_limits(kernel)),
    )


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array argument wherever it lies: host arrays and tensors on a device answer the same questions."""

    shape: tuple[int, ...]
    dtype: str
    start: int
    bytes: int
    strides: tuple[int, ...]


def element_name(name: str, array: Any) -> str:
    """The element type of an array or tensor in the words of the kernels (bf16, f32, ...), else its own name.

    Nothing but its type is asked of it, so that tensors without data answer too.
    """
    if isinstance(array, np.ndarray):
        known = {dtype: ours for ours, dtype in _NUMPY.items()}
        return known.get(array.dtype, str(array.dtype))
    if hasattr(array, "data_ptr") and hasattr(array, "shape") and hasattr(array, "dtype"):
        return TORCH_TYPES.get(str(array.dtype).removeprefix("torch."), str(array.dtype))
    kind = type(array).__name__
    raise LaunchRefused(f"{name} is a {kind}; pass a numpy array or a tensor of torch", "ARG-D106")


def placed(name: str, array: Any) -> ArrayArgument:
    """Shape, element type and place of a numpy array or of a tensor with `data_ptr()` (torch's)."""
    ours = element_name(name, array)
    if isinstance(array, np.ndarray):
        if any(step % array.itemsize for n, step in zip(array.shape, array.strides, strict=True) if n > 1):
            told = f"{list(array.strides)} bytes, no multiples of its {array.itemsize}-byte elements"
            raise LaunchRefused(f"{name} is strided by {told}", "ARG-D104")
        strides = tuple(step // array.itemsize for step in array.strides)
        size = buffer_elements(array.shape, strides) * array.itemsize
        return ArrayArgument(array.shape, ours, array.ctypes.data, size, strides)
    shape = tuple(int(n) for n in array.shape)
    if hasattr(array, "stride"):
        strides = tuple(int(n) for n in array.stride())
    else:
        strides = row_major(shape) if array.is_contiguous() else (0,) * len(shape)
    size = buffer_elements(shape, strides) * (DTYPES[ours].bytes if ours in DTYPES else 1)
    return ArrayArgument(shape, ours, int(array.data_ptr()), size, strides)


def check_arrays(kernel: Kernel, sizes: Mapping[str, int], arrays: Mapping[str, Any]) -> None:
    """Refuse arrays of another shape, type or memory order than the kernel's arguments, or outputs that overlap."""
    shapes, strides = tensor_shapes(kernel, sizes), element_strides(kernel, sizes)
    found: dict[str, ArrayArgument] = {}
    for tensor in kernel.tensors:
        if tensor.name not in arrays:
            raise LaunchRefused(f"no array is given for {tensor.name}")
        here = found[tensor.name] = placed(tensor.name, arrays[tensor.name])
        if tensor.written and not getattr(getattr(arrays[tensor.name], "flags", None), "writeable", True):
            raise LaunchRefused(f"output {tensor.name} is read-only", "ARG-D105")
        if here.shape != shapes[tensor.name] or here.dtype != tensor.dtype.name:
            raise LaunchRefused(
                f"{tensor.name} must be {tensor.dtype}{list(shapes[tensor.name])}, "
                f"the given array is {here.dtype}{list(here.shape)}"
            )
        if here.start % tensor.dtype.bytes and here.bytes:
            told = f"starts at byte {here.start}, no multiple of the {tensor.dtype.bytes} bytes of a {tensor.dtype}"
            raise LaunchRefused(f"{tensor.name} {told}; pass an aligned copy", "ARG-D104")
        pairs = zip(here.shape, here.strides, strides[tensor.name], strict=True)
        if 0 not in here.shape and any(n > 1 and have != want for n, have, want in pairs):
            order = "contiguous in row-major order"
            if strides[tensor.name] != row_major(here.shape):
                order = f"strided by {list(strides[tensor.name])} elements, not by {list(here.strides)}"
            raise LaunchRefused(f"{tensor.name} must be {order}", "ARG-D104")
    for tensor in kernel.tensors:
        if not tensor.written:
            continue
        out = found[tensor.name]
        for name, other in found.items():
            if name != tensor.name and out.start < other.start + other.bytes and other.start < out.start + out.bytes:
                raise LaunchRefused(f"output {tensor.name} overlaps {name}", "ARG-D105")


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a tensor without gaps, its last axis running fastest."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return tuple(strides) if shape else ()

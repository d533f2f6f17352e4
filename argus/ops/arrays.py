"""What callers hand over: numpy arrays, or tensors of torch, on the host or on a GPU.

    given(tensor, "hip")      a tensor on the GPU stays where it is
    given(tensor, "machine")  a tensor on the host is seen as a numpy array over the same memory

A result has the kind of its operands: `blank_like` makes it. bf16 of torch has no numpy type of its own; its bits are
seen as ml_dtypes' bfloat16. Nothing is converted and nothing copied silently: another element type or a strided array
is refused.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from argus.device.guards import LaunchError, numpy_dtype, placed
from argus.ir.types import DTYPES

HOST = 1


def element(array: Any, name: str = "the operand") -> str:
    """Its element type in the words of the kernels: bf16, f16, f32, ..."""
    return placed(name, array).dtype


def shape(array: Any) -> tuple[int, ...]:
    """Its extents; what is no array is refused here."""
    return placed("the operand", array).shape


def is_tensor(array: Any) -> bool:
    """A tensor in torch's manner, not a numpy array."""
    return hasattr(array, "data_ptr")


def on_host(array: Any) -> bool:
    return not is_tensor(array) or int(array.__dlpack_device__()[0]) == HOST


def given(array: Any, name: str) -> Any:
    """The operand as a launch takes it: numpy arrays and GPU tensors as they are, host tensors as a numpy view."""
    here = placed(name, array)
    step = 1
    for extent, stride in zip(reversed(here.shape), reversed(here.strides), strict=True):
        if extent > 1 and stride != step:
            raise LaunchError(f"{name} is not contiguous in row-major order; pass a contiguous copy")
        step *= extent
    if not is_tensor(array) or not on_host(array):
        return array
    if here.dtype == "bf16":
        return array.view(_torch().int16).numpy().view(numpy_dtype(DTYPES["bf16"]))
    return array.numpy()


def _torch() -> Any:
    """torch, which is there if somebody passed one of its tensors."""
    return import_module("torch")


def blank_like(array: Any, extents: tuple[int, ...], dtype: str) -> Any:
    """An unwritten result of the kind and place of `array`."""
    if not is_tensor(array):
        return np.empty(extents, numpy_dtype(DTYPES[dtype]))
    torch = _torch()
    kinds = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    return torch.empty(extents, dtype=kinds[dtype], device=array.device)

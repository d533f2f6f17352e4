"""What callers hand over: numpy arrays, or tensors of torch, on the host or on a GPU.

    given(tensor, "hip")      a tensor on the GPU stays where it is
    given(tensor, "jit")  a tensor on the host is seen as a numpy array over the same memory

A result has the kind of its operands: `blank_like` makes it. numpy has no type of its own for torch's bf16 and fp8, and
torch gives no such array away; their bits are seen as ml_dtypes' types. Nothing is converted and nothing copied
silently: another element type is refused, and a strided array where the kernel has no strides. An array without
elements has no order in memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.device.guards import TORCH_TYPES, LaunchRefused, element_name, numpy_dtype, placed
from argus.ir.types import DTYPES
from argus.ops.choice import NoKernel

HOST = 1
TORCH = {ours: theirs for theirs, ours in TORCH_TYPES.items()}
"""What torch calls the types of results."""
BITS = {"bf16": "int16", "fp8": "uint8", "bf8": "uint8"}
"""Types that torch does not hand over to numpy, and one of the same size that it does."""


def element(array: Any, name: str = "the operand") -> str:
    """Its element type in the words of the kernels: bf16, f16, f32, ..."""
    return element_name(name, array)


def shape(array: Any) -> tuple[int, ...]:
    """Its extents, as they are: those of a tensor that torch traces stay symbols. What is no array is refused here."""
    element_name("the operand", array)
    return tuple(array.shape)


def strides(array: Any) -> tuple[int, ...]:
    """The steps of its axes in elements, as they are."""
    if is_tensor(array):
        return tuple(array.stride())
    return tuple(step // array.itemsize for step in array.strides)


def is_tensor(array: Any) -> bool:
    """A tensor in torch's manner, not a numpy array."""
    return hasattr(array, "data_ptr")


def on_host(array: Any) -> bool:
    return not is_tensor(array) or int(array.__dlpack_device__()[0]) == HOST


def given(array: Any, name: str, strided: bool = False) -> Any:
    """The operand as a launch takes it: numpy arrays and GPU tensors as they are, host tensors as a numpy view.

    `strided`: the kernel states strides of its own, which the launch checks.
    """
    if is_tensor(array):
        _usable(name, array)
    here = placed(name, array)
    step = 1
    for extent, stride in zip(reversed(here.shape), reversed(here.strides), strict=True):
        if not strided and extent > 1 and stride != step and 0 not in here.shape:
            raise LaunchRefused(f"{name} is not contiguous in row-major order; pass a contiguous copy", "ARG-D104")
        step *= extent
    if not is_tensor(array) or not on_host(array):
        return array
    if here.dtype in BITS:
        bits = array.detach().view(getattr(_torch(), BITS[here.dtype])).numpy()
        return bits.view(numpy_dtype(DTYPES[here.dtype]))
    return array.detach().numpy()


def _usable(name: str, array: Any) -> None:
    """Refuse a tensor without plain data, and one that torch would differentiate by: nothing here has a gradient."""
    if str(getattr(array, "device", "cpu")) == "meta" or type(array).__name__ == "FakeTensor":
        raise LaunchRefused(f"{name} is a tensor without data; argus.torch gives the shapes of results", "ARG-D106")
    strided = str(getattr(array, "layout", "torch.strided")) == "torch.strided"
    if not strided or (hasattr(array, "is_neg") and array.is_neg()):
        raise LaunchRefused(f"{name} has no plain data in memory (sparse, or negated when it is read)", "ARG-D106")
    if getattr(array, "requires_grad", False) and _torch().is_grad_enabled():
        raise LaunchRefused(
            f"{name} requires a gradient, which argus.ops would lose; use the function of the same name in "
            "argus.torch, or torch.no_grad()",
            "ARG-O103",
        )


def _torch() -> Any:
    """torch, which is there if somebody passed one of its tensors."""
    return import_module("torch")


def blank_like(array: Any, extents: tuple[int, ...], dtype: str) -> Any:
    """An unwritten result of the kind and place of `array`."""
    if not is_tensor(array):
        return np.empty(extents, numpy_dtype(DTYPES[dtype]))
    torch = _torch()
    return torch.empty(extents, dtype=getattr(torch, TORCH[dtype]), device=array.device)


def filled_like(array: Any, extents: tuple[int, ...], dtype: str, value: float) -> Any:
    """A result that has one value everywhere: what an operation without terms gives."""
    made = blank_like(array, extents, dtype)
    made[...] = value
    return made


def whole_numbers(array: Any, name: str) -> npt.NDArray[Any]:
    """Numbers that are needed on the host, as they are; anything but integers is refused."""
    found: npt.NDArray[Any] = array.cpu().numpy() if is_tensor(array) else np.asarray(array)
    if not np.issubdtype(found.dtype, np.integer):
        raise NoKernel(f"{name} holds whole numbers, not {found.dtype}")
    return found

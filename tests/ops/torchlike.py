"""A stand-in for torch, which is not installed here: tensors over numpy arrays that refuse what torch's refuse.

    monkeypatch.setitem(sys.modules, "torch", torchlike)        then `import torch` is this module

Names, refusals and the meaning of calls are torch's, as far as the operations use them: dtypes print as
`torch.float32`, bf16 and fp8 are not handed to numpy, `view` changes the type over the same memory, `empty` is full of
rubbish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class DType:
    """A torch dtype and the numpy type that has its bits."""

    name: str
    stored: Any

    def __repr__(self) -> str:
        return f"torch.{self.name}"


float32, float16 = DType("float32", np.float32), DType("float16", np.float16)
bfloat16, float8_e4m3fnuz = (
    DType("bfloat16", ml_dtypes.bfloat16),
    DType("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
)
int64, int32, int16, uint8 = (DType(n, getattr(np, n)) for n in ("int64", "int32", "int16", "uint8"))
DTYPES = {np.dtype(d.stored): d for d in (float32, float16, bfloat16, float8_e4m3fnuz, int64, int32, int16, uint8)}


class Tensor:
    """A tensor on the host."""

    device = "cpu"

    def __init__(self, data: Any) -> None:
        self._data = data

    @property
    def dtype(self) -> DType:
        return DTYPES[self._data.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._data.shape
        return shape

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self._data.itemsize for step in self._data.strides)

    def data_ptr(self) -> int:
        return int(self._data.ctypes.data)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        if self.dtype in (bfloat16, float8_e4m3fnuz):
            raise TypeError(f"Got unsupported ScalarType {self.dtype.name}")
        return self._data

    def view(self, dtype: DType) -> Tensor:
        return Tensor(self._data.view(dtype.stored))

    def reshape(self, *shape: int) -> Tensor:
        return Tensor(self._data.reshape(*shape))

    def swapaxes(self, first: int, second: int) -> Tensor:
        return Tensor(self._data.swapaxes(first, second))

    def contiguous(self) -> Tensor:
        return Tensor(np.ascontiguousarray(self._data))

    def __setitem__(self, where: Any, value: float) -> None:
        self._data[where] = value

    def __array__(self, *_: Any) -> Any:
        raise AssertionError("a conversion that torch would refuse on a GPU")


def empty(extents: tuple[int, ...], *, dtype: DType, device: str) -> Tensor:
    """Memory that nobody has written."""
    assert device == "cpu"
    data = np.empty(extents, dtype.stored)
    data.view(np.uint8)[...] = 0xA5
    return Tensor(data)


def tensor(array: Any) -> Tensor:
    return Tensor(np.array(array))


def values(made: Tensor) -> Any:
    """What a tensor holds, whatever its type."""
    return made._data

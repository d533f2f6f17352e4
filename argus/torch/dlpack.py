"""Operands from any library as tensors of torch, over the same memory.

    tensor(array, "a")      a tensor as it is; numpy, cupy, jax, … through DLPack

numpy does not hand over the types of `ml_dtypes` (bf16, fp8), so they go as whole numbers of the same size. Nothing is
copied or converted; what cannot be handed over is refused with a code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argus.device.guards import LaunchRefused, element_name

STORED = {
    "bf16": (np.int16, torch.bfloat16),
    "fp8": (np.uint8, torch.float8_e4m3fnuz),
    "bf8": (np.uint8, torch.float8_e5m2fnuz),
}
"""Types of `ml_dtypes`: an integer of the same size, and what torch calls them."""


def tensor(given: Any, name: str) -> torch.Tensor:
    """The operand `name` as a tensor."""
    if isinstance(given, torch.Tensor):
        return given
    if isinstance(given, np.ndarray):
        return _from_numpy(given, name)
    if not hasattr(given, "__dlpack__"):
        raise LaunchRefused(
            f"{name} is a {type(given).__name__}; pass a tensor of torch or an array that speaks DLPack", "ARG-D106"
        )
    return _taken(given, name)


def _from_numpy(array: np.ndarray[Any, Any], name: str) -> torch.Tensor:
    if any(step < 0 for step in array.strides):
        raise LaunchRefused(f"{name} runs backward in memory, which torch has no tensor for; pass a copy", "ARG-D104")
    if any(step % array.itemsize for step in array.strides):
        raise LaunchRefused(f"{name} has strides that are no multiple of its element; pass a copy", "ARG-D104")
    ours = element_name(name, array)
    if ours not in STORED:
        return _taken(array, name)
    bits, dtype = STORED[ours]
    return _taken(array.view(bits), name).view(dtype)


def _taken(producer: Any, name: str) -> torch.Tensor:
    try:
        made: torch.Tensor = torch.from_dlpack(producer)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        said = str(error).strip().splitlines()[0]
        raise LaunchRefused(f"{name} cannot be handed over by DLPack: {said}", "ARG-D106") from error
    return made


def optional(given: Any | None, name: str) -> torch.Tensor | None:
    """The operand `name` as a tensor, if it is given."""
    return None if given is None else tensor(given, name)

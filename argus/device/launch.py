"""One way to launch a compiled kernel, whatever executes it.

    outcome = CheckingDevice().launch(kernel, compiled.object, sizes, arrays)

The guards run first (`argus.device.guards`), then the arguments are put in the order of the signature (tensors,
scalars, shape symbols), then the device runs the code object. Output arrays are written in place; the device names
itself in every outcome: the simulated chip (`argus.device.simulated`) or a GPU (`argus.device.hip`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from argus.device.guards import LaunchRefused, buffer_elements, numpy_dtype
from argus.ir.kernel import Kernel
from argus.machine.errors import MachineReport
from argus.machine.record import ExecutionRecord

Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """`device` says what executed the launch; `checked` whether it watched for faults, `reports` which it found.

    `seconds` is None for a launch that was put on a stream and not waited for.
    """

    device: str
    seconds: float | None
    grid: tuple[int, int, int]
    workgroups: int
    instructions: int
    reports: Sequence[MachineReport]
    record: ExecutionRecord | None
    checked: bool = False


class Device(Protocol):
    """Anything that can execute a code object."""

    name: str

    def launch(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Arrays,
        scalars: Mapping[str, float] | None = None,
    ) -> LaunchOutcome: ...


def flat(array: npt.NDArray[np.generic], written: bool = True) -> npt.NDArray[np.generic]:
    """The memory from an array's first element to its last, in one piece: what a strided argument points into.

    What the kernel does not write is handed over as read-only: such arguments may be views of one tensor.
    """
    whole = array.view()
    if not array.flags.c_contiguous and 0 not in array.shape:
        count = buffer_elements(array.shape, tuple(step // array.itemsize for step in array.strides))
        whole = np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))
    if not written:
        whole.flags.writeable = False
    return whole


def scalar_values(kernel: Kernel, sizes: Mapping[str, int], scalars: Mapping[str, float]) -> list[np.generic]:
    """What follows the tensors in the machine-code signature: scalar arguments, then shape symbols."""
    for scalar in kernel.scalars:
        if scalar.name not in scalars:
            raise LaunchRefused(f"scalar argument {scalar.name} of {kernel.name} is not given", "ARG-D107")
        if scalar.positive and not np.asarray(scalars[scalar.name], numpy_dtype(scalar.dtype)).astype(np.float64) > 0:
            told = f"{scalar.name} = {scalars[scalar.name]}"
            raise LaunchRefused(f"{kernel.name} requires {scalar.name} > 0, but {told}", "ARG-D107")
    values: list[np.generic] = [numpy_dtype(s.dtype).type(scalars[s.name]) for s in kernel.scalars]
    return [*values, *(np.int32(sizes[s.name]) for s in kernel.shapes)]

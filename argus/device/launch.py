"""One way to launch a compiled kernel, whatever executes it.

    outcome = MachineDevice().launch(kernel, compiled.object, sizes, arrays)

The guards run first (`argus.device.guards`), then the arguments are put in the order of the signature (tensors,
scalars, shape symbols), then the device runs the code object. Output arrays are written in place; the device names
itself in every outcome: the simulated machine here, a GPU in `argus.device.hip`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from argus import machine
from argus.device.guards import LaunchRefused, buffer_elements, check_arrays, check_sizes, launch_grid, numpy_dtype
from argus.ir.kernel import Kernel
from argus.machine.errors import MachineReport
from argus.machine.record import ExecutionRecord

Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """`device` says what executed the launch; `checked` whether it watched for faults, `reports` which it found."""

    device: str
    seconds: float
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


class MachineDevice:
    """The simulated gfx942. `checks`: races, waits, bounds, uninitialised values; `workgroups` samples a grid."""

    def __init__(self, checks: bool = True, record: bool = False, workgroups: Sequence[int] | None = None) -> None:
        self._checks, self._record, self._workgroups = checks, record, workgroups
        self.name = "simulated gfx942, " + ("checking interpreter" if checks else "interpreter")

    def launch(
        self,
        kernel: Kernel,
        code: bytes,
        sizes: Mapping[str, int],
        arrays: Arrays,
        scalars: Mapping[str, float] | None = None,
    ) -> LaunchOutcome:
        check_sizes(kernel, sizes)
        check_arrays(kernel, sizes, arrays)
        grid = launch_grid(kernel, sizes)
        if 0 in grid:
            return LaunchOutcome(self.name, 0.0, grid, 0, 0, [], None)
        started = time.perf_counter()
        result = machine.load(code).kernel(kernel.name)(
            grid,
            kernel.threads,
            *(flat(arrays[t.name]) for t in kernel.tensors),
            *scalar_values(kernel, sizes, scalars or {}),
            options=machine.Options(
                checks="all" if self._checks else (), record=self._record, workgroups=self._workgroups
            ),
        )
        seconds = time.perf_counter() - started
        return LaunchOutcome(
            self.name,
            seconds,
            grid,
            result.workgroups,
            result.instructions,
            result.reports,
            result.record,
            checked=self._checks,
        )


def flat(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The memory from an array's first element to its last, in one piece: what a strided argument points into."""
    if array.flags.c_contiguous or 0 in array.shape:
        return array
    count = buffer_elements(array.shape, tuple(step // array.itemsize for step in array.strides))
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))


def scalar_values(kernel: Kernel, sizes: Mapping[str, int], scalars: Mapping[str, float]) -> list[np.generic]:
    """What follows the tensors in the machine-code signature: scalar arguments, then shape symbols."""
    for scalar in kernel.scalars:
        if scalar.name not in scalars:
            raise LaunchRefused(f"scalar argument {scalar.name} of {kernel.name} is not given")
        if scalar.positive and not np.asarray(scalars[scalar.name], numpy_dtype(scalar.dtype)).astype(np.float64) > 0:
            raise LaunchRefused(f"{kernel.name} requires {scalar.name} > 0, but {scalar.name} = {scalars[scalar.name]}")
    values: list[np.generic] = [numpy_dtype(s.dtype).type(scalars[s.name]) for s in kernel.scalars]
    return [*values, *(np.int32(sizes[s.name]) for s in kernel.shapes)]

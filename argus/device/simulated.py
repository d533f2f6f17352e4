"""The simulated gfx942 as a device: under the checking interpreter, or compiled to this computer's code.

CheckingDevice().launch(…)      slow; races, missing waits, bad accesses and uninitialised values are reports
JitDevice().launch(…)           fast; results only
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from argus import machine
from argus.device.guards import LaunchRefused, check_arrays, check_sizes, launch_grid
from argus.device.launch import Arrays, LaunchOutcome, flat, scalar_values
from argus.ir.kernel import Kernel


class _Simulated:
    """What both executors share: guards, order of arguments, the outcome."""

    name: str
    executor: Literal["checking", "jit"]
    checks = False

    def __init__(self, record: bool = False, workgroups: Sequence[int] | None = None) -> None:
        self._record, self._workgroups = record, workgroups

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
        _refuse_tensors(arrays)
        grid = launch_grid(kernel, sizes)
        if 0 in grid:
            return LaunchOutcome(self.name, 0.0, grid, 0, 0, [], None)
        options = machine.Options(checks="all" if self.checks else (), record=self._record, workgroups=self._workgroups)
        started = time.perf_counter()
        result = machine.load(code).kernel(kernel.name)(
            grid,
            kernel.threads,
            *(flat(arrays[t.name], t.written) for t in kernel.tensors),
            *scalar_values(kernel, sizes, scalars or {}),
            options=options,
            executor=self.executor,
        )
        seconds = time.perf_counter() - started
        return LaunchOutcome(
            self.name, seconds, grid, result.workgroups, result.instructions, result.reports, result.record,
            checked=self.checks,
        )  # fmt: skip


def _refuse_tensors(arrays: Mapping[str, object]) -> None:
    """The simulated chip reads and writes memory of this process."""
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            told = f"{name} is a {type(array).__name__}; the simulated gfx942 takes numpy arrays"
            raise LaunchRefused(f"{told}, a tensor on the GPU needs device='hip'", "ARG-D106")


class CheckingDevice(_Simulated):
    """The interpreter with every check; `workgroups` samples a grid."""

    name = "simulated gfx942, checking interpreter"
    executor: Literal["checking", "jit"] = "checking"
    checks = True


class JitDevice(_Simulated):
    """Compiled workgroups: results without the checks of the interpreter."""

    name = "simulated gfx942, JIT"
    executor: Literal["checking", "jit"] = "jit"

"""What the clock gives a kernel that does nothing but what a task needs: its roof on this chip as it is modelled.

    clock_roof(load_task(TASKS / "grouped_gemm.py"), sizes)  ->  ClockRoof(microseconds=…, low=…, high=…, …)

The judge's roof (`argus.agent.judge.floor`) counts products at the peak rate of 2100 MHz and bytes at the peak of HBM,
without a launch floor. No kernel can reach it: matrix instructions take more power than the chip has at 2100 MHz. Here
the same work is a profile of the clock's own model (`argus.clock.profile`): the clocks of the matrix instructions that
the products need, every byte that a launch reads or writes once, and nothing else. Power leaves a clock for that,
memory gives its achievable rate, and the launch floor is added. The interval is that of the profile's regime.

Of tensors that data place (`K[slot[b], k]`) only what the timed indices name is counted: the judge's roof has all of
them. What it leaves out makes it too low, never too high: loads of operands, arithmetic, waiting, blocks that do not
divide the chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.agent.judge import Problem
from argus.agent.judge.examine import examined
from argus.agent.judge.floor import MATRIX, multiplications
from argus.clock.parameters import PARAMETERS
from argus.clock.profile import Profile
from argus.clock.protocol import floor
from argus.clock.uncertainty import regime_of_profile, residuals
from argus.compile.cache import compile_cached
from argus.device.guards import numpy_dtype, tensor_shapes
from argus.gfx942 import chip
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.tasks.task import Task
from argus.tasks.work import work_of

DATA_SEED = 0
"""Of the indices that the judge times, unless `--data-seed` says otherwise."""
Indices = Mapping[str, NDArray[np.generic]]


def _rows_of_slots(given: Indices, sizes: Mapping[str, int]) -> dict[str, float]:
    """Of each slot the keys of its longest request."""
    slots, lengths = (np.asarray(given[name], np.int64) for name in ("slot", "length"))
    longest = np.zeros(sizes["P"], np.int64)
    np.maximum.at(longest, slots, lengths)
    share = float(longest.sum()) / (sizes["P"] * sizes["S"])
    return {"K": share, "V": share}


def _pages(given: Indices, sizes: Mapping[str, int]) -> dict[str, float]:
    return {"K": len(np.unique(given["table"])) / sizes["P"]}


def _groups(given: Indices, sizes: Mapping[str, int]) -> dict[str, float]:
    return {"W": len(np.unique(given["group"])) / sizes["E"]}


READ: Mapping[str, Callable[[Indices, Mapping[str, int]], dict[str, float]]] = {
    "slot_decode": _rows_of_slots,
    "paged_scores": _pages,
    "grouped_gemm": _groups,
}
"""Task -> the share of each tensor that its timed indices name."""


@dataclass(frozen=True, slots=True)
class ClockRoof:
    """`by`: what sets it; `bytes` and `products` are the work; `clock_mhz` is what power leaves."""

    microseconds: float
    low: float
    high: float
    by: str
    clock_mhz: float
    bytes: float
    products: int

    def text(self) -> str:
        return f"{self.microseconds:.1f} µs ({self.low:.1f} to {self.high:.1f})"


def clock_roof(task: Task, sizes: Mapping[str, int]) -> ClockRoof:
    """The least time of a launch by the clock."""
    kernel, spec = examined(Problem.of(task))
    read, written = _bytes(task, sizes)
    products = multiplications(kernel, sizes, spec)
    found = Profile(
        compute=((float(chip.CLOCK_MAX_MHZ), _clocks(kernel, products)),),
        matrix={_element(kernel): _clocks(kernel, products)} if products else {},
        l2_bytes=read,
        fabric_bytes=read + written,
        written=written,
        hbm_bytes=read + written,
        hbm_written=written,
        footprint=read + written,
    )
    gap = floor("stream", PARAMETERS)
    clock = found.sustained(PARAMETERS, gap)
    parts = found.parts(clock, PARAMETERS)
    took = max(parts.values()) + gap
    limits = residuals()[regime_of_profile(found)]
    by = max(parts, key=lambda name: parts[name])
    return ClockRoof(took, took * limits.low, took * limits.high, by, clock, read + written, products)


def _element(kernel: Kernel) -> str:
    """The input type with the fastest matrix instructions."""
    kinds = [t.dtype.name for t in kernel.tensors if t.read and t.dtype.name in MATRIX]
    return max(kinds, key=chip.matrix_peak_tflops, default="fp8")


def _clocks(kernel: Kernel, products: int) -> float:
    """Of the matrix cores, all of them busy."""
    return 2e-6 * products * chip.CLOCK_MAX_MHZ / chip.matrix_peak_tflops(_element(kernel))


def _bytes(task: Task, sizes: Mapping[str, int]) -> tuple[float, float]:
    """Read and written, each element once."""
    kernel = task.kernel
    shapes = tensor_shapes(kernel, sizes)
    share = _shares(task, sizes)
    total = {t.name: float(numpy_dtype(t.dtype).itemsize * np.prod(shapes[t.name])) for t in kernel.tensors}
    read = sum(share.get(t.name, 1.0) * total[t.name] for t in kernel.tensors if t.read)
    return read, sum(total[t.name] for t in kernel.tensors if not t.read)


def _shares(task: Task, sizes: Mapping[str, int]) -> dict[str, float]:
    named = READ.get(task.name)
    if named is None:
        return {}
    code = compile_cached(scheduled(task.kernel)).object
    arguments = work_of(task.kernel, code, sizes, DATA_SEED, task.routing, task.kernel).args
    tensors = zip(task.kernel.tensors, arguments, strict=False)
    return named({t.name: given for t, given in tensors if isinstance(given, np.ndarray)}, sizes)

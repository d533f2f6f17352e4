"""Running a kernel of the library on the simulated machine, under the checking interpreter or compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from argus import machine
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.device.launch import scalar_values
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.spec import Specification, evaluate
from argus.spec.compare import ElementComparison, compare
from tests.spec.stated import stated

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
PRODUCT = "C[m, n] = sum(A[m, k] * B[n, k], k)"


def kernel_of(file: str, name: str, knobs: Mapping[str, Any]) -> Kernel:
    return read(KERNELS / f"{file}.py", settings=dict(knobs), kernel=name)


def judged(
    got: Any, means: str | Specification, inputs: Mapping[str, Any], symbols: Mapping[str, float] | None = None
) -> ElementComparison:
    """A result against its specification in float64, with the bound that follows from the arithmetic and the data."""
    spec = stated(str(means), inputs, symbols)
    return compare(got, evaluate(spec, inputs, symbols or {}))


def run(
    kernel: Kernel,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Any],
    scalars: Mapping[str, float] | None = None,
    checked: bool = True,
) -> None:
    """One launch; a report of the checking interpreter fails the test."""
    code = machine.load(compile_cached(scheduled(kernel)).object).kernel(kernel.name)
    values = [*(arrays[t.name] for t in kernel.tensors), *scalar_values(kernel, sizes, scalars or {})]
    if checked:
        options = machine.Options(checks="all")
        result = code(launch_grid(kernel, sizes), kernel.threads, *values, options=options)
    else:
        result = code(launch_grid(kernel, sizes), kernel.threads, *values, executor="jit")
    assert not result.reports, result.reports[0]

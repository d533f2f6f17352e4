"""The third court: the mutant's code object, executed instruction by instruction with the machine's checks on.

    differs               the result is another one than numpy's
    hazard                a race, a register used before its data, a barrier not met
    same                  nothing to see at this launch
    does not compile      the compiler refuses it; the code says why

Machine code is not the IR: LLVM inserts every wait a register needs, so a dropped wait of that kind cannot survive;
waits that make data visible to other waves (direct copies to LDS before a barrier) are the kernel's own and do. Outputs
start as NaN, so that an element nobody writes differs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus import machine
from argus.compile import CompileError, compile_kernel
from argus.ir.interp import extents
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.passes.schedule import scheduled
from argus.layout import expr as E
from argus.machine.checks import CheckName
from tests.check.programs import Program
from tests.check.truth import make_inputs

CHECKS: tuple[CheckName, ...] = ("waits", "lds-races", "global-races", "wait-states", "barriers")
MOST_STEPS = 20_000_000


def run_object(program: Program, kernel: Kernel, sizes: Mapping[str, int]) -> str:
    """What the object does at this launch, in the words above."""
    try:
        compiled = compile_kernel(scheduled(kernel))
    except CompileError as error:
        return f"does not compile: {error.code}"
    inputs = (program.inputs or make_inputs)(kernel, sizes)
    arrays = {t.name: _array(t.name, inputs, numpy_dtype(t.dtype), extents(t, sizes)) for t in kernel.tensors}
    scalars = [np.float32(program.scalars[s.name]) for s in kernel.scalars]
    grid = tuple(int(E.evaluate(extent, sizes)) for extent in kernel.grid)
    shapes = [sizes[size.name] for size in kernel.shapes]
    try:
        result = machine.load(compiled.object).kernel(kernel.name)(
            grid, (kernel.threads, 1, 1), *arrays.values(), *scalars, *shapes,
            options=machine.Options(checks=CHECKS, max_steps=MOST_STEPS),
        )  # fmt: skip
    except machine.MachineError as error:
        return f"hazard: {error}"
    if result.reports:
        return f"hazard: {result.reports[0]}"
    got, wanted = arrays[program.output].astype(np.float64), program.reference(inputs).astype(np.float64)
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    close = np.allclose(got, wanted, rtol=program.tolerance, atol=program.tolerance * scale)
    return "same" if close else "differs"


def _array(
    name: str, inputs: Mapping[str, np.ndarray], dtype: np.dtype[np.generic], shape: tuple[int, ...]
) -> np.ndarray:
    if name in inputs:
        return inputs[name].copy()
    return np.full(shape, np.nan).astype(dtype)

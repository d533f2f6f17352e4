"""Ground truth without the checker: execute and compare with numpy; hazards and double writes count as wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.ir.interp import InterpError, Schedule, extents, run
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.layout.expr import ExprError
from tests.check.programs import Program


def make_inputs(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    dice = np.random.default_rng(3)
    return {
        t.name: dice.integers(-4, 5, extents(t, sizes)).astype(np.float32).astype(numpy_dtype(t.dtype))
        for t in kernel.tensors
        if t.read
    }


def execute(program: Program, kernel: Kernel, sizes: Mapping[str, int], schedule: Schedule | None = None) -> str:
    """Empty when the launch is right, else what is wrong with it."""
    inputs = make_inputs(kernel, sizes)
    try:
        outcome = run(kernel, inputs, sizes, schedule=schedule)
    except InterpError as error:
        return "" if "requires" in str(error) else f"error: {error}"
    except ExprError as error:
        return f"error: {error}"
    if outcome.hazards:
        return f"hazard: {outcome.hazards[0]}"
    got = outcome.arrays[program.output].astype(np.float32)
    if not np.array_equal(got, program.reference(inputs).astype(np.float32)):
        return "wrong result"
    if (outcome.writes[program.output] != 1).any():
        return "not every element is written exactly once"
    return ""

"""Ground truth without the checker: execute and compare with numpy; hazards and double writes count as wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.ir.interp import InterpError, InterpSchedule, extents, run
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.layout import expr as E
from argus.layout.expr import ExprError
from tests.check.programs import Program


def make_inputs(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    dice = np.random.default_rng(3)
    return {
        t.name: dice.integers(-4, 5, extents(t, sizes)).astype(np.float32).astype(numpy_dtype(t.dtype))
        for t in kernel.tensors
        if t.read
    }


def execute(program: Program, kernel: Kernel, sizes: Mapping[str, int], schedule: InterpSchedule | None = None) -> str:
    """Empty when the launch is right, else what is wrong with it."""
    try:
        if not all(E.evaluate(condition, sizes) for condition in kernel.requires):
            return ""
        inputs = (program.inputs or make_inputs)(kernel, sizes)
        outcome = run(kernel, inputs, sizes, schedule=schedule, scalars=program.scalars, provenance=True)
    except (InterpError, ExprError) as error:
        return f"error: {error}"
    if outcome.hazards:
        return f"hazard: {outcome.hazards[0]}"
    got = outcome.arrays[program.output].astype(np.float64)
    wanted = program.reference(inputs).astype(np.float64)
    scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)))
    if not np.allclose(got, wanted, rtol=program.tolerance, atol=program.tolerance * scale):
        return "wrong result"
    if not program.atomic and (outcome.writes[program.output] != 1).any():
        return "not every element is written exactly once"
    return ""

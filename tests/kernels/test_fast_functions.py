"""FAST: functions by single instructions of the chip, for results of two bytes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from argus.check import check
from argus.ir.printer import print_kernel
from argus.plan.evaluate import FUNCTIONS
from argus.plan.maps import QUICKER
from bench.templates.template import step
from tests.kernels.running import kernel_of, run

PARAMETER, PARAMETERS = 1.25, [f"p{number}" for number in range(8)]
FEWER_DIGITS = dict.fromkeys(("tanh", "elu", "selu", "softplus", "logsigmoid"), 2.0 ** (-21))
"""What a function may be off by beside its rounding, where f32 numbers near 1 are subtracted or under a logarithm; of
all but tanh that is so without FAST, too."""


def knobs(name: str, fast: bool, dtype: str = "bf16") -> dict[str, str | bool | int]:
    return {"S0": name, "DTYPE": dtype, "RESULT": dtype, **({"FAST": True} if fast else {})}


@pytest.mark.parametrize("name", [*FUNCTIONS])
def test_it_changes_the_functions_that_the_planner_says_and_no_other(name: str) -> None:
    kernels = [kernel_of("fused_map", "fused_map", knobs(name, fast)) for fast in (False, True)]
    plain, fast = (print_kernel(kernel).replace('"FAST" true', '"FAST" false') for kernel in kernels)
    assert (plain != fast) == (name in QUICKER)


@pytest.mark.parametrize("name", QUICKER)
def test_they_are_proved(name: str) -> None:
    verdicts = check(step("fused_map", "fused_map", knobs(name, True)).program).verdicts
    assert {verdict.status for verdict in verdicts} == {"proved"}
    assert any(verdict.rule == "value" for verdict in verdicts)


@pytest.mark.parametrize("name", QUICKER)
def test_every_finite_number_of_bf16(name: str) -> None:
    """Against float64: half a place of bf16 for the rounding, and a little for what f32 rounds before it;
    88 times the least f32 for an exponential that vanishes."""
    every = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    wide = every.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](wide, PARAMETER)
        usual = np.isfinite(wide) & (np.abs(exact) < 3e38) & ((np.abs(wide) >= 2.0**-126) | (wide == 0))
    x, exact = every[usual][: usual.sum() // 4 * 4], exact[usual][: usual.sum() // 4 * 4]
    y = np.zeros_like(x)
    arrays = {"X": x.reshape(1, 1, -1), "Y": y.reshape(1, 1, -1), **{one: x[:1].copy() for one in "UVW"}}
    kernel = kernel_of("fused_map", "fused_map", knobs(name, True))
    run(kernel, {"A": 1, "B": 1, "C": len(x)}, arrays, dict.fromkeys(PARAMETERS, PARAMETER), checked=False)
    allowed = np.abs(exact) * (2.0**-8 + 2.0**-13) + 2.0**-119 + FEWER_DIGITS.get(name, 0.0)
    allowed += np.abs(x.astype(np.float64)) * 2.0**-21 if name == "mish" else 0.0  # a factor that is off by so much
    wrong = np.abs(y.astype(np.float64) - exact) > allowed
    assert not wrong.any(), [
        (float(a), float(b), float(c)) for a, b, c in zip(x[wrong], y[wrong], exact[wrong], strict=True)
    ][:5]

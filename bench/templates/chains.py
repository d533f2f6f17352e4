"""The chain of steps after a convolution, a pooling or a product, by its definition in float64.

chained(total, given, symbols, knobs, {"go": (1, G, O, 1, 1)})       `shapes`: how operands of each kind are broadcast
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.maps import FUNCTIONS
from bench.templates.template import Floats

Array = npt.NDArray[np.float64]
Knobs = dict[str, KnobValue]

OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "rsub": lambda x, y: y - x,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rdiv": lambda x, y: y / x,
    "min": np.minimum,
    "max": np.maximum,
}
BIAS: Knobs = {"S0": "add_U"}
"""U added; HAS_U says along which axes."""


def gated(channel: str) -> Knobs:
    """x = sum + bias; (x * sigmoid(x) + residual) * a number: operands of three kinds and a value that is kept."""
    steps = ("add_U", "save", "sigmoid", "mul_saved", "add_V", "mul_W")
    named: Knobs = {f"S{number}": step for number, step in enumerate(steps)}
    return {**named, "HAS_U": channel, "HAS_V": "all", "HAS_W": "one"}


def chained(
    x: Array,
    given: Floats,
    symbols: Mapping[str, float],
    knobs: Mapping[str, KnobValue],
    shapes: Mapping[str, tuple[int, ...]],
) -> Array:
    """All eight steps, one after the other."""
    values = {name: _operand(given[name], str(knobs[f"HAS_{name}"]), x, shapes) for name in ("U", "V", "W")}
    values["saved"] = x
    for number in range(8):
        step = str(knobs[f"S{number}"])
        operation, _, operand = step.partition("_")
        if step == "save":
            values["saved"] = x
        elif operand in values and operation in OPERATIONS:
            x = OPERATIONS[operation](x, values[operand])
        else:
            x = FUNCTIONS[step](x, symbols[f"p{number}"])
    return np.asarray(x)


def _operand(values: Array, kind: str, x: Array, shapes: Mapping[str, tuple[int, ...]]) -> Array:
    known = {"none": (1,) * x.ndim, "one": (1,) * x.ndim, "all": x.shape, **shapes}
    return values.reshape(known[kind])

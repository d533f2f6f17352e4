"""Parameter sets of the elementwise templates, and their definitions as PyTorch's documentation states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, sqrt

import numpy as np
import numpy.typing as npt

from argus.ir.kernel import KnobValue
from bench.templates.template import Case, Floats, Template, one

Array = npt.NDArray[np.float64]

FUNCTIONS: dict[str, Callable[[Array, float], Array]] = {
    "none": lambda x, p: x,
    "relu": lambda x, p: np.where(x > 0, x, 0),
    "relu6": lambda x, p: np.clip(x, 0, 6),
    "leaky": lambda x, p: np.where(x >= 0, x, p * x),
    "elu": lambda x, p: np.where(x > 0, x, p * np.expm1(x)),
    "selu": lambda x, p: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "gelu": lambda x, p: x * 0.5 * (1 + np.vectorize(erf)(x / sqrt(2))),
    "gelu_tanh": lambda x, p: 0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x, p: x / (1 + np.exp(-x)),
    "sigmoid": lambda x, p: 1 / (1 + np.exp(-x)),
    "logsigmoid": lambda x, p: -np.log1p(np.exp(-x)),
    "tanh": lambda x, p: np.tanh(x),
    "mish": lambda x, p: x * np.tanh(np.log1p(np.exp(x))),
    "softplus": lambda x, p: np.log1p(np.exp(x)),
    "softsign": lambda x, p: x / (1 + np.abs(x)),
    "hardtanh": lambda x, p: np.clip(x, -1, 1),
    "hardsigmoid": lambda x, p: np.where(x <= -3, 0, np.where(x >= 3, 1, x / 6 + 0.5)),
    "hardswish": lambda x, p: np.where(x <= -3, 0, np.where(x >= 3, x, x * (x + 3) / 6)),
    "abs": lambda x, p: np.abs(x),
    "square": lambda x, p: x**2,
    "exp": lambda x, p: np.exp(x),
    "scale": lambda x, p: p * x,
    "shift": lambda x, p: p + x,
}
SPAN = 256 * 4 * 4
"""Elements of a workgroup of `map_chain` in f32 with four chunks."""


def map_chain(given: Floats, symbols: Mapping[str, float], knobs: Mapping[str, KnobValue]) -> Array:
    x = FUNCTIONS[str(knobs["FIRST"])](given["X"], symbols["p"])
    shape = (1, -1, 1) if knobs["ALONG"] == "B" else (1, 1, -1)
    if knobs["SCALE"]:
        x = x * given["scale"].reshape(shape)
    if knobs["BIAS"]:
        x = x + given["bias"].reshape(shape)
    return np.asarray(FUNCTIONS[str(knobs["SECOND"])](x, symbols["q"]))


def _cases() -> tuple[Case, ...]:
    """Every function alone; chains along both axes at rows of one piece, more and one element beside either."""
    alone = [
        one("map_chain", {"FIRST": name, "WIDTH": 4}, A=1, B=1, C=SPAN + 37 * number)
        for number, name in enumerate(FUNCTIONS)
    ]
    lengths = [1, 2, 3, 63, 64, 65, 1023, 1024, 1025, SPAN - 1, SPAN, SPAN + 1]
    channels = {"FIRST": "silu", "SECOND": "hardtanh", "SCALE": True, "BIAS": True, "WIDTH": 4}
    along = [one("map_chain", {**channels, "ALONG": axis}, A=2, B=3, C=n) for n in lengths for axis in ("B", "C")]
    narrow = [
        one("map_chain", {"FIRST": "gelu", "BIAS": True, "DTYPE": dtype, "WIDTH": width}, A=2, B=2, C=width * count)
        for dtype in ("bf16", "f16")
        for width, count in ((2, 333), (16, 65))
    ]
    return (*alone, *along, *narrow)


MAPS = (
    Template(
        "map chain",
        _cases(),
        one("map_chain", {"FIRST": "gelu", "SCALE": True, "BIAS": True}, A=16, B=64, C=256 * 256),
        map_chain,
        moved=2 * 4 * 16 * 64 * 256 * 256,
    ),
)

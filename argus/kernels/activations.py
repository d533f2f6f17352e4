"""Elementwise functions by name: what a kernel computes, and the same in index notation for its `computes`.

    from argus.kernels.activations import NAMES, applied, stated

    applied("silu", x, p)         a tile
    stated("silu", "X[i]", "p")   "X[i] / (1 + exp(-(X[i])))"

`p` is the parameter of the functions that have one: the slope of `leaky`, alpha of `elu`, the factor of `scale`, what
`shift` adds. Selections are written as sums of `relu` and a minimum, which checker and specification see alike. `relu`
is a choice by sign, so that a NaN stays one through it and through all that is built on it (`leaky`, `elu`, `selu`,
`softplus`, `mish`); `hardtanh` and what is built on it take the number, as the chip's maximum does.

`softplus` is max(x, 0) + log(1 + exp(-|x|)), which no x makes overflow. There is no kernel here; the file is imported,
read as data.

The knob FAST is for results of two bytes: exponentials and logarithms are single instructions of the chip instead of
programs that are right to the last bits of f32. What is computed is the same, but for two functions that
are stated otherwise then: `tanh` is 1 - 2 / (1 + exp(2 x)) and `mish` is x (1 - 2 / (v^2 + 1)) with v = 1 + exp(x), the
same numbers by another way, off by 2^-22 at most, so that results below 2^-14 keep fewer digits.
"""

import argus as ag
from argus import LOG2E

FAST = ag.knob(False, legal=(False, True), why="functions by single instructions, for results of two bytes")
LN2 = 0.6931471805599453
SIXTH = 0.16666666666666666
FLAT = 20.0  # from where on mish(x) is x in f32
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
GELU_TANH = 1.5957691216057308  # 2 * sqrt(2 / pi): tanh written with an exponential
INV_SQRT2 = 0.7071067811865476

NAMES = (
    "none",
    "relu",
    "relu6",
    "leaky",
    "elu",
    "selu",
    "gelu",
    "gelu_tanh",
    "silu",
    "sigmoid",
    "logsigmoid",
    "tanh",
    "mish",
    "softplus",
    "softsign",
    "hardtanh",
    "hardsigmoid",
    "hardswish",
    "abs",
    "square",
    "exp",
    "scale",
    "shift",
)


def relu(x):
    return ag.where(x < 0.0, 0.0, x)  # a NaN stays, which ag.max would drop


def exponential(x):
    return ag.exp2(x * LOG2E) if FAST else ag.exp(x)


def logarithm(x):
    return ag.log2(x) * LN2 if FAST else ag.log(x)


def softplus(x):
    return relu(x) + logarithm(1.0 + exponential(-ag.abs(x)))


def hyperbolic(x):
    """tanh."""
    return 1.0 - 2.0 * ag.rcp(1.0 + ag.exp2(x * (2.0 * LOG2E))) if FAST else ag.tanh(x)


def gate(x):
    """tanh(softplus(x)) by the square of 1 + exp(x)."""
    v = 1.0 + exponential(ag.min(x, FLAT))
    return 1.0 - 2.0 * ag.rcp(v * v + 1.0)


def slope(x):
    return x * SIXTH + 0.5 if FAST else x / 6.0 + 0.5


def clamped(x, low, high):
    return ag.min(ag.max(x, low), high)


def applied(name, x, p):
    """The function of a tile."""
    return {
        "none": lambda: x,
        "relu": lambda: relu(x),
        "relu6": lambda: ag.min(relu(x), 6.0),
        "leaky": lambda: relu(x) + ag.min(x, 0.0) * p,
        "elu": lambda: relu(x) + (exponential(ag.min(x, 0.0)) - 1.0) * p,
        "selu": lambda: (relu(x) + (exponential(ag.min(x, 0.0)) - 1.0) * SELU_ALPHA) * SELU_SCALE,
        "gelu": lambda: x * 0.5 * (1.0 + ag.erf(x * INV_SQRT2)),
        "gelu_tanh": lambda: x * ag.rcp(1.0 + ag.exp2((x + x * x * x * 0.044715) * (-GELU_TANH * LOG2E))),
        "silu": lambda: x * ag.rcp(1.0 + ag.exp2(x * -LOG2E)),
        "sigmoid": lambda: ag.rcp(1.0 + ag.exp2(x * -LOG2E)),
        "logsigmoid": lambda: ag.min(x, 0.0) - logarithm(1.0 + exponential(-ag.abs(x))),
        "tanh": lambda: hyperbolic(x),
        "mish": lambda: x * (gate(x) if FAST else ag.tanh(softplus(x))),
        "softplus": lambda: softplus(x),
        "softsign": lambda: x / (1.0 + ag.abs(x)),
        "hardtanh": lambda: clamped(x, -1.0, 1.0),
        "hardsigmoid": lambda: clamped(slope(x), 0.0, 1.0),
        "hardswish": lambda: x * clamped(slope(x), 0.0, 1.0),
        "abs": lambda: ag.abs(x),
        "square": lambda: x * x,
        "exp": lambda: exponential(x),
        "scale": lambda: x * p,
        "shift": lambda: x + p,
    }[name]()


def stated(name, x, p):
    """The same in index notation, where numbers with a fraction stand as they are."""
    x = f"({x})"
    soft = f"(maximum({x}, 0) + log(1 + exp(-abs({x}))))"
    v = f"(1 + exp(minimum({x}, 20)))"
    return {
        "none": x,
        "relu": f"maximum({x}, 0)",
        "relu6": f"minimum(maximum({x}, 0), 6)",
        "leaky": f"maximum({x}, 0) + minimum({x}, 0) * {p}",
        "elu": f"maximum({x}, 0) + (exp(minimum({x}, 0)) - 1) * {p}",
        "selu": f"(maximum({x}, 0) + (exp(minimum({x}, 0)) - 1) * 1.6732632423543772) * 1.0507009873554805",
        "gelu": f"{x} * 0.5 * (1 + erf({x} * 0.7071067811865476))",
        "gelu_tanh": f"{x} / (1 + exp(-1.5957691216057308 * ({x} + 0.044715 * {x} * {x} * {x})))",
        "silu": f"{x} / (1 + exp(-{x}))",
        "sigmoid": f"1 / (1 + exp(-{x}))",
        "logsigmoid": f"minimum({x}, 0) - log(1 + exp(-abs({x})))",
        "tanh": f"1 - 2 / (1 + exp(2 * {x}))" if FAST else f"tanh({x})",
        "mish": f"{x} * (1 - 2 / ({v} * {v} + 1))" if FAST else f"{x} * tanh({soft})",
        "softplus": soft,
        "softsign": f"{x} / (1 + abs({x}))",
        "hardtanh": f"minimum(maximum({x}, -1), 1)",
        "hardsigmoid": f"minimum(maximum({x} / 6 + 0.5, 0), 1)",
        "hardswish": f"{x} * minimum(maximum({x} / 6 + 0.5, 0), 1)",
        "abs": f"abs({x})",
        "square": f"{x} * {x}",
        "exp": f"exp({x})",
        "scale": f"{x} * {p}",
        "shift": f"{x} + {p}",
    }[name]

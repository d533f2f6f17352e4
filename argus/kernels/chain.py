"""A chain of up to eight elementwise steps, for the kernels that read or write a tensor through one.

    S0="mul_U" S1="add_V" S2="gelu"          y = gelu(x * u + v)
    S0="save" S1="sigmoid" S2="mul_saved"    y = sigmoid(x) * x

A step is a function by name (`argus.kernels.activations`, or one of `MORE`), an operation with an operand (`add_U`) or
with the value that `save` kept (`mul_saved`). Step number i has the parameter p{i}: what `scale` multiplies by, `shift`
adds, `atleast` and `atmost` compare with; `from` is p minus x, `over` p divided by x, `huber` the smooth L1 loss of a
difference, `log_or_zero` the logarithm, with 0 for 0. U, V and W are tensors of the kernel that has the chain; knobs of
it say along which axes they have elements. Steps that are not used are "none".

`after` makes a tile of a tile, `told` the same in index notation. Minima and maxima are choices, so that a NaN stays
one; `rsub` is the operand minus x, `rdiv` the operand divided by x. There is no kernel here.
"""

import argus as ag
from argus.kernels.activations import NAMES, applied, stated

OPERANDS = ("U", "V", "W", "saved")
OPERATIONS = ("add", "sub", "rsub", "mul", "div", "rdiv", "min", "max")
MORE = ("log", "log_or_zero", "sqrt", "rsqrt", "reciprocal", "atleast", "atmost", "from", "over", "huber")
STEPS = (*NAMES, *MORE, "save", *[f"{op}_{name}" for op in OPERATIONS for name in OPERANDS])

S0 = ag.knob("none", legal=STEPS, why="the first step")
S1 = ag.knob("none", legal=STEPS, why="the second step")
S2 = ag.knob("none", legal=STEPS, why="the third step")
S3 = ag.knob("none", legal=STEPS, why="the fourth step")
S4 = ag.knob("none", legal=STEPS, why="the fifth step")
S5 = ag.knob("none", legal=STEPS, why="the sixth step")
S6 = ag.knob("none", legal=STEPS, why="the seventh step")
S7 = ag.knob("none", legal=STEPS, why="the eighth step")
CHAIN = [S0, S1, S2, S3, S4, S5, S6, S7]


def uses(name):
    """Whether a step of the chain has the operand."""
    return max([step == f"{op}_{name}" for step in CHAIN for op in OPERATIONS])


def smaller(x, y):
    return ag.where(y < x, y, x)


def larger(x, y):
    return ag.where(x < y, y, x)


def huber(d):
    """Half the square up to 1, then a line: m * (d - m / 2) with m = min(d, 1)."""
    m = smaller(d, 1.0)
    return m * (d - 0.5 * m)


def operation(op, x, y):
    return {
        "add": lambda: x + y,
        "sub": lambda: x - y,
        "rsub": lambda: y - x,
        "mul": lambda: x * y,
        "div": lambda: x / y,
        "rdiv": lambda: y / x,
        "min": lambda: smaller(x, y),
        "max": lambda: larger(x, y),
    }[op]()


def operation_told(op, x, y):
    return {
        "add": f"({x} + {y})",
        "sub": f"({x} - {y})",
        "rsub": f"({y} - {x})",
        "mul": f"({x} * {y})",
        "div": f"({x} / {y})",
        "rdiv": f"({y} / {x})",
        "min": f"minimum({x}, {y})",
        "max": f"maximum({x}, {y})",
    }[op]


def one_step(step, x, saved, given, p):
    """A step of a tile; `given`: the operands' tiles by name."""
    if step in NAMES:
        return applied(step, x, p)
    if step in MORE:
        return {
            "log": lambda: ag.log(x),
            "log_or_zero": lambda: ag.where(x == 0.0, 0.0, ag.log(x)),
            "sqrt": lambda: ag.sqrt(x),
            "rsqrt": lambda: ag.rsqrt(x),
            "reciprocal": lambda: 1.0 / x,
            "atleast": lambda: larger(x, p),
            "atmost": lambda: smaller(x, p),
            "from": lambda: p - x,
            "over": lambda: p / x,
            "huber": lambda: huber(ag.abs(x)),
        }[step]()
    for op in OPERATIONS:
        for name in OPERANDS:
            if step == f"{op}_{name}":
                x = operation(op, x, saved if name == "saved" else given[name])
    return x


def one_step_told(step, x, saved, given, p):
    """The same in index notation."""
    if step in NAMES:
        return stated(step, x, p)
    if step in MORE:
        return {
            "log": f"log({x})",
            "log_or_zero": f"where({x} == 0, 0, log({x}))",
            "sqrt": f"sqrt({x})",
            "rsqrt": f"rsqrt({x})",
            "reciprocal": f"1 / ({x})",
            "atleast": f"maximum({x}, {p})",
            "atmost": f"minimum({x}, {p})",
            "from": f"{p} - ({x})",
            "over": f"{p} / ({x})",
            "huber": f"minimum(abs({x}), 1) * (abs({x}) - 0.5 * minimum(abs({x}), 1))",
        }[step]
    for op in OPERATIONS:
        for name in OPERANDS:
            if step == f"{op}_{name}":
                x = operation_told(op, f"({x})", f"({saved})" if name == "saved" else given[name])
    return x


def after(x, given, parameters):
    """The tile after the whole chain."""
    saved = x
    for number, step in enumerate(CHAIN):
        if step == "save":
            saved = x
        x = x if step in ("none", "save") else one_step(step, x, saved, given, parameters[number])
    return x


def told(x, given):
    """The chain in index notation."""
    saved = x
    for number, step in enumerate(CHAIN):
        if step == "save":
            saved = x
        x = x if step in ("none", "save") else one_step_told(step, x, saved, given, f"p{number}")
    return x

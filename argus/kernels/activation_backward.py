"""Gradients of activations: dx[i] = g[i] * ACT'(x[i]) on arrays of N elements. f32, bf16 or f16, f32 arithmetic.

    relu   g above 0, else 0
    silu   g * s * (1 + x * (1 - s))         s = 1 / (1 + exp(-x))
    gelu   g * s * (1 + x * (1 - s) * u')    s = 1 / (1 + exp(-u)), u = 1.5957691 (x + 0.044715 x^3): the tanh form

A thread moves CHUNKS times 16 bytes per operand; a workgroup's last chunk may reach past N.
"""

import argus as ag
from argus import LOG2E, bf16, f16, f32

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type")
ACT = ag.knob("silu", legal=("relu", "silu", "gelu"), why="the activation")
CHUNKS = ag.knob(2, legal=(1, 2, 4, 8), why="16-byte accesses of a thread per operand")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; N must be a multiple of it")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SPAN = 256 * E * CHUNKS
PART = ag.Owner(p=CHUNKS, t=256, e=E, i=f"p*{256 * E} + t*{E} + e")
GELU_TANH = 1.5957691216057308  # 2 * sqrt(2 / pi): tanh written with an exponential


def derived(x, g):
    """g * ACT'(x)."""
    if ACT == "relu":
        return ag.where(x > 0.0, g, 0.0)
    if ACT == "silu":
        s = ag.rcp(1.0 + ag.exp2(x * -LOG2E))
        return g * (s * (1.0 + x * (1.0 - s)))
    s = ag.rcp(1.0 + ag.exp2((x + x * x * x * 0.044715) * (-GELU_TANH * LOG2E)))
    return g * (s * (1.0 + x * (1.0 - s) * ((1.0 + x * x * 0.134145) * GELU_TANH)))


def stated(x, g):
    """The same in index notation."""
    if ACT == "relu":
        return f"where({x} > 0, {g}, 0)"
    if ACT == "silu":
        s = f"(1 / (1 + exp(-{x})))"
        return f"{g} * ({s} * (1 + {x} * (1 - {s})))"
    s = f"(1 / (1 + exp(-1.5957691216057308 * ({x} + 0.044715 * {x} * {x} * {x}))))"
    return f"{g} * ({s} * (1 + {x} * (1 - {s}) * (1.5957691216057308 * (1 + 0.134145 * {x} * {x}))))"


@ag.kernel(
    threads=256,
    requires=f"N >= 1 and N % {WIDTH // SIZE} == 0",
    computes=f"dx[i] = {stated('x[i]', 'g[i]')}",
    example=dict(N=5000),
)
def activation_backward(x: ag.In["N", T], g: ag.In["N", T], dx: ag.Out["N", T]):
    start = SPAN * ag.grid(ag.cdiv(N, SPAN))
    a, b = x[start].load(PART, width=WIDTH).to(f32), g[start].load(PART, width=WIDTH).to(f32)
    dx[start].store(derived(a, b).to(T), width=WIDTH)

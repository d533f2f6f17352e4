"""Elementwise operations on arrays of N elements (any shape, seen flat): f32, bf16 or f16, f32 arithmetic.

`binary` adds or multiplies; `unary` is an activation (gelu in its tanh form). A thread moves CHUNKS times 16 bytes per
operand; a workgroup's last chunk may reach past N, where loads give zeros and stores do nothing. `combine` adds up the
parts of a split matrix product, with an optional bias per column and an activation.
"""

import argus as ag
from argus import LOG2E, bf16, f16, f32

DTYPE = ag.knob("bf16", legal=("f32", "bf16", "f16"), why="element type")
OP = ag.knob("add", legal=("add", "mul"), why="binary: the operation")
ACT = ag.knob("silu", legal=("none", "relu", "silu", "gelu"), why="unary and combine: the activation")
CHUNKS = ag.knob(2, legal=(1, 2, 4, 8), why="16-byte accesses of a thread per operand")
WIDTH = ag.knob(16, legal=(2, 4, 8, 16), why="bytes per access; N must be a multiple of it")
SPLITS = ag.knob(4, legal=(2, 3, 4, 5, 6, 7, 8, 16), why="combine: parts of the sum")
BIAS = ag.knob(False, legal=(False, True), why="combine: add bias[n]")

T = {"f32": f32, "bf16": bf16, "f16": f16}[DTYPE]
SIZE = 4 if DTYPE == "f32" else 2
E = 16 // SIZE
SPAN = 256 * E * CHUNKS
PART = ag.Owner(p=CHUNKS, t=256, e=E, i=f"p*{256 * E} + t*{E} + e")
FLAT = ag.Owner(t=256, e=4, n="t*4 + e")


def applied(x):
    """The activation named by ACT."""
    if ACT == "relu":
        return ag.where(x < 0.0, 0.0, x)  # NaN stays, which ag.max would drop
    if ACT == "silu":
        return x * ag.rcp(1.0 + ag.exp2(x * -LOG2E))
    if ACT == "gelu":
        return x * ag.rcp(1.0 + ag.exp2((x + x * x * x * 0.044715) * (-1.5957691216057308 * LOG2E)))
    return x


def stated(x):
    """The same in index notation."""
    return {
        "none": x,
        "relu": f"maximum({x}, 0)",
        "silu": f"{x} / (1 + exp(-{x}))",
        "gelu": f"{x} / (1 + exp(-1.5957691216057308 * ({x} + 0.044715 * {x} * {x} * {x})))",
    }[ACT]


MEANS = f"z[i] = {stated('x[i]')}"
WHOLE = "(sum(W[s, m, n], s) + bias[n])" if BIAS else "sum(W[s, m, n], s)"
NEEDS = f"N >= 1 and N % {WIDTH // SIZE} == 0"


@ag.kernel(
    threads=256, requires=NEEDS, computes=f"z[i] = x[i] {'*' if OP == 'mul' else '+'} y[i]", example=dict(N=5000)
)
def binary(x: ag.In["N", T], y: ag.In["N", T], z: ag.Out["N", T]):
    start = SPAN * ag.grid(ag.cdiv(N, SPAN))
    a = x[start].load(PART, width=WIDTH).to(f32)
    b = y[start].load(PART, width=WIDTH).to(f32)
    z[start].store((a * b if OP == "mul" else a + b).to(T), width=WIDTH)


@ag.kernel(threads=256, requires=NEEDS, computes=MEANS, example=dict(N=5000))
def unary(x: ag.In["N", T], z: ag.Out["N", T]):
    start = SPAN * ag.grid(ag.cdiv(N, SPAN))
    z[start].store(applied(x[start].load(PART, width=WIDTH).to(f32)).to(T), width=WIDTH)


@ag.kernel(
    threads=256,
    requires=f"M >= 1 and N >= 1 and N % {min(4, WIDTH // SIZE)} == 0",
    computes=f"C[m, n] = {stated(WHOLE)}",
    example=dict(M=8, N=200),
)
def combine(W: ag.In[f"S={SPLITS} M N", f32], bias: ag.In["N", T], C: ag.Out["M N", T]):
    m, bn = ag.grid(M, ag.cdiv(N, 1024))
    n0 = bn * 1024
    total = W[0, m, n0].load(FLAT, width=min(16, 2 * WIDTH), guard="shape")
    for s in range(1, SPLITS):
        total = total + W[s, m, n0].load(FLAT, width=min(16, 2 * WIDTH), guard="shape")
    if BIAS:
        total = total + bias[n0].load(FLAT, width=min(4 * SIZE, WIDTH), guard="shape").to(f32)
    C[m, n0].store(applied(total).to(T), width=min(4 * SIZE, WIDTH), guard="shape")

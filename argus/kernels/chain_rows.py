"""Reduction of rows after a chain of elementwise steps: Y[m] = sum, mean, maximum or minimum of chain(X[m, :]).

    S0="sub_U" S1="square" HAS_U="mn" OP="mean"      Y[m] = sum((X[m, n] - U[m, n])^2, n) / N

The chain is `argus.kernels.chain`: nothing of it is stored. HAS_U says which axes its operand U has: `mn` all, `n` one
number per column, `m` one per row, `one` a single number. Operands have the type of X; sums are f32.

A row belongs to WAVES waves (with one, four rows to a workgroup) and is walked in pieces of SPAN elements. What lies
past its end is masked after the chain.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.chain import after, told
from argus.kernels.rowreduce import OP, START, finished, joined
from argus.kernels.rows import LANES, ONE, ROW, ROWS, SIZE, SPAN, WAVES, WIDTH, T

HAS_U = ag.knob("none", legal=("none", "one", "m", "n", "mn"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "m", "n", "mn"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "m", "n", "mn"), why="the axes of W")

RESULT = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of Y")

R = {"f32": f32, "bf16": bf16, "f16": f16}[RESULT]
AXES = {"none": "one=1", "one": "one=1", "m": "M", "n": "N", "mn": "M N"}
AT = {"none": "[0]", "one": "[0]", "m": "[m]", "n": "[n]", "mn": "[m, n]"}
NEEDS = f"M >= 1 and N >= 1 and N % {max(1, WIDTH // SIZE)} == 0"
CHAINED = told("X[m, n]", {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"})
MEANS = {
    "sum": f"Y[m] = sum({CHAINED}, n)",
    "mean": f"Y[m] = sum({CHAINED}, n) / N",
    "max": f"Y[m] = max({CHAINED}, n)",
    "min": f"Y[m] = min({CHAINED}, n)",
}[OP]


@ag.kernel(threads=LANES * ROWS, requires=NEEDS, computes=MEANS, example=dict(M=6, N=3000))
def chain_rows(
    X: ag.In["M N", T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["M", R],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    row = ROWS * ag.grid(ag.cdiv(M, ROWS)) + ag.wave() if WAVES == 1 else ag.grid(M)

    def once(values, kind):
        """An operand's number for the whole row."""
        return (
            {
                "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
                "m": lambda: values[row].load(ONE, width=SIZE, guard="shape").without().to(f32),
            }[kind]()
            if kind in ("one", "m")
            else 0.0
        )

    def piece(values, kind, known, at):
        """An operand's part of a piece of the row."""
        return (
            {
                "n": lambda: values[at].load(ROW, width=WIDTH, guard="shape").to(f32),
                "mn": lambda: values[row, at].load(ROW, width=WIDTH, guard="shape").to(f32),
            }[kind]()
            if kind in ("n", "mn")
            else known
        )

    u, v, w = once(U, HAS_U), once(V, HAS_V), once(W, HAS_W)
    kept = ag.full(ONE, f32, START).without()
    for i in ag.range(ag.cdiv(N, SPAN)):
        at = i * SPAN
        x = X[row, at].load(ROW, width=WIDTH, guard="shape").to(f32)
        given = {"U": piece(U, HAS_U, u, at), "V": piece(V, HAS_V, v, at), "W": piece(W, HAS_W, w, at)}
        y = after(x, given, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept = joined(kept, ag.where(at + x.n < N, y, START))
    first = ag.lane() == 0 if WAVES == 1 else ag.thread() == 0
    Y[row].store(finished(kept, N).to(R), width=4 if RESULT == "f32" else 2, guard=first)

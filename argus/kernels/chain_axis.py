"""Reduction over the middle axis after a chain of elementwise steps: sum, mean, maximum or minimum. Columns are A = 1.

    S0="sub_U" S1="square" HAS_U="c" OP="mean"      Y[a, c] = sum((X[a, k, c] - U[c])^2, k) / K

The chain is `argus.kernels.chain`: nothing of it is stored. HAS_U says which axes its operand U has: `akc` all, `c` one
number per column, `ac` one per result, `one` a single number. Operands have the type of X; sums are f32.

Tiles, waves and parts are those of `argus.kernels.reduce_axis`. What lies past K is masked after the chain.
"""

import argus as ag
from argus import bf16, f16, f32
from argus.kernels.chain import after, told
from argus.kernels.reduce_axis import (
    COLUMNS,
    EACH,
    OP,
    PARTS,
    SHARE,
    SIZE,
    START,
    STEP,
    TILE,
    WAVES,
    WIDTH,
    T,
    joined,
    over,
)

HAS_U = ag.knob("none", legal=("none", "one", "c", "ac", "akc"), why="the axes of U")
HAS_V = ag.knob("none", legal=("none", "one", "c", "ac", "akc"), why="the axes of V")
HAS_W = ag.knob("none", legal=("none", "one", "c", "ac", "akc"), why="the axes of W")

RESULT = ag.knob("f32", legal=("f32", "bf16", "f16"), why="element type of Y")

R = {"f32": f32, "bf16": bf16, "f16": f16}[RESULT]
AXES = {"none": "one=1", "one": "one=1", "c": "C", "ac": "A C", "akc": "A K C"}
AT = {"none": "[0]", "one": "[0]", "c": "[c]", "ac": "[a, c]", "akc": "[a, k, c]"}
CHAINED = told("X[a, k, c]", {"U": f"U{AT[HAS_U]}", "V": f"V{AT[HAS_V]}", "W": f"W{AT[HAS_W]}"})
MEANS = {
    "sum": f"Y[a, c] = sum({CHAINED}, k)",
    "mean": f"Y[a, c] = sum({CHAINED}, k) / K",
    "max": f"Y[a, c] = max({CHAINED}, k)",
    "min": f"Y[a, c] = min({CHAINED}, k)",
}[OP]
BYTES = min(WIDTH, 4 * SIZE)
ONE = ag.Owner(t=64 * WAVES, z="t*0")


@ag.kernel(
    threads=64 * WAVES,
    requires=f"A >= 1 and K >= 1 and C >= 1 and C % {max(1, WIDTH // SIZE)} == 0",
    computes=MEANS,
    example=dict(A=3, K=37, C=500),
)
def chain_axis(
    X: ag.In["A K C", T],
    U: ag.In[AXES[HAS_U], T],
    V: ag.In[AXES[HAS_V], T],
    W: ag.In[AXES[HAS_W], T],
    Y: ag.Out["A C", R],
    p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32,
):  # fmt: skip
    a, bc = ag.grid(A, ag.cdiv(C, 256))
    at = bc * 256

    def once(values, kind):
        """An operand's numbers for all rows."""
        return (
            {
                "one": lambda: values[0].load(ONE, width=SIZE).without().to(f32),
                "c": lambda: values[at].load(COLUMNS, width=BYTES, guard="shape").to(f32),
                "ac": lambda: values[a, at].load(COLUMNS, width=BYTES, guard="shape").to(f32),
            }[kind]()
            if kind in ("one", "c", "ac")
            else 0.0
        )

    def rows(values, kind, known, k):
        """An operand's part of some rows."""
        return values[a, k, at].load(TILE, width=BYTES, guard="shape").to(f32) if kind == "akc" else known

    u, v, w = once(U, HAS_U), once(V, HAS_V), once(W, HAS_W)
    kept = ag.full(COLUMNS, f32, START)
    for i in ag.range(ag.cdiv(K, STEP)):
        k = i * STEP
        x = X[a, k, at].load(TILE, width=BYTES, guard="shape").to(f32)
        given = {"U": rows(U, HAS_U, u, k), "V": rows(V, HAS_V, v, k), "W": rows(W, HAS_W, w, k)}
        y = after(x, given, [p0, p1, p2, p3, p4, p5, p6, p7])
        kept = joined(kept, over(ag.where(k + x.k < K, y, START), "k"))
    parts = ag.shared(PARTS, f32)
    parts.store(kept, w=ag.wave(), width=16)
    ag.barrier()
    total = over(parts.load(EACH, width=4 * SHARE), "w")
    total = total / f32(K) if OP == "mean" else total
    Y[a, at].store(total.to(R), width=4 if RESULT == "f32" else 2, guard="shape")

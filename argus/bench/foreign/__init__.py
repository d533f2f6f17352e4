"""Harnesses that run AITER's hand-written gfx942 assembly on the machine and judge the results with NumPy.

    python -m argus.bench.foreign AITER_DIR                       every family, JIT
    python -m argus.bench.foreign AITER_DIR --executor checking     the checking interpreter, all checks on
    python -m argus.bench.foreign AITER_DIR --family fmha --large larger shapes, for the rates

AITER_DIR is a checkout of ROCm/aiter, or its `hsa/gfx942` folder; no binary is kept here. One module per family knows
the argument layout, prepares inputs, and computes the reference in float64 with an element-wise bound on what
rounding may do (`case.py`). `docs/foreign.md` tells where the layouts come from and what was found.

What they cannot do: say anything about the bits a real chip produces. A result is right here if it lies within the
rounding bounds of the formats the kernel passes through.
"""

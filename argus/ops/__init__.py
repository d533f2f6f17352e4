"""Operations on arrays, computed by the kernels of the library: numpy or torch in, the same kind out, on either device.

    import numpy as np, ml_dtypes
    from argus import ops

    a = np.ones((100, 200), ml_dtypes.bfloat16)
    c = ops.matmul(a, np.ones((300, 200), ml_dtypes.bfloat16))     # a @ b.T, [100, 300]
    y = ops.softmax(c)

Every kernel is proved before it is first used (kept on disk afterwards) and runs on `device`: `auto`, `hip`, `machine`
or `checking` (`argus.ops.launch`). Proved includes its specification, except for the first launch of a split matrix
product, of which the part of K and everything but the formula is proved (docs/kernels.md). What no kernel computes
raises `NoKernel`; nothing else computes it instead. Empty operands need no kernel.
"""

from __future__ import annotations

from argus.ops.attention import attention, attention_lengths
from argus.ops.backward import (
    activation_backward,
    columnsum,
    layernorm_backward,
    rmsnorm_backward,
    softmax_backward,
)
from argus.ops.choice import Choice, NoKernel, choose_matmul, choose_rows
from argus.ops.fp8 import arranged, fp8_matmul, quantise
from argus.ops.matmul import matmul
from argus.ops.moe import moe
from argus.ops.rows import add, gelu, layernorm, mul, relu, rmsnorm, rowmax, rowmean, rowsum, silu, softmax, transpose
from argus.pipeline import Unproved

__all__ = [
    "Choice",
    "NoKernel",
    "Unproved",
    "activation_backward",
    "add",
    "arranged",
    "attention",
    "attention_lengths",
    "choose_matmul",
    "choose_rows",
    "columnsum",
    "fp8_matmul",
    "gelu",
    "layernorm",
    "layernorm_backward",
    "matmul",
    "moe",
    "mul",
    "quantise",
    "relu",
    "rmsnorm",
    "rmsnorm_backward",
    "rowmax",
    "rowmean",
    "rowsum",
    "silu",
    "softmax",
    "softmax_backward",
    "transpose",
]

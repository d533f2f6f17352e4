"""Argus in PyTorch: every operation of `argus.ops` and every kernel file as a custom op of `torch.library`.

    import torch
    from argus import torch as at

    c = at.matmul(a, b)                                  a @ b.T, with gradients
    scaled = at.op("scale.py", kernel="scale")           any kernel file; outputs are returned
    model = at.compile(module, (x,))                     a module as a plan of proved launches
    step = torch.compile(lambda a, b: at.softmax(at.matmul(a, b)), fullgraph=True)

Each op has shapes for tensors without data (meta and fake tensors), and a gradient where kernels compute one; elsewhere
`backward` ends in the error ARG-O102, so that no gradient is lost in silence. Operands may come from any library that
speaks DLPack. What a kernel cannot do raises `NoKernel` or `LaunchRefused`, each with its code. docs/pytorch.md.

Needs torch (`pip install 'argus-kernels[torch]'`). A module here never shadows torch: imports are absolute.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "argus.torch needs torch, which is not installed: pip install 'argus-kernels[torch]'", name="torch"
    ) from error

from argus.torch import backend as _backend  # noqa: F401 - registers itself
from argus.torch.attention import attention, attention_lengths
from argus.torch.backward import (
    activation_backward,
    columnsum,
    layernorm_backward,
    rmsnorm_backward,
    softmax_backward,
)
from argus.torch.compiled import CompiledModule, compile
from argus.torch.experts import arranged, fp8_matmul, moe, quantise
from argus.torch.gradients import NoGradient
from argus.torch.kernel_op import op
from argus.torch.matmul import matmul
from argus.torch.rows import add, gelu, layernorm, mul, relu, rmsnorm, rowmax, rowmean, rowsum, silu, softmax, transpose

__all__ = [
    "CompiledModule",
    "NoGradient",
    "activation_backward",
    "add",
    "arranged",
    "attention",
    "attention_lengths",
    "columnsum",
    "compile",
    "fp8_matmul",
    "gelu",
    "layernorm",
    "layernorm_backward",
    "matmul",
    "moe",
    "mul",
    "op",
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

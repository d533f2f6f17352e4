"""One small call of every operation, as tensors or as arrays: `CASES[name](f)` with f from an array to an operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from argus.ops.moe_reference import blocks

BF16 = ml_dtypes.bfloat16
Call = tuple[tuple[Any, ...], dict[str, Any]]


def normal(*shape: int, dtype: Any = BF16, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def call(*args: Any, **named: Any) -> Call:
    return args, named


def fp8_product(f: Callable[[Any], Any]) -> Call:
    a, b = blocks(normal(3, 128, dtype=np.float32), 1), blocks(normal(128, 128, dtype=np.float32, seed=1), 128)
    return call(f(a.values), f(a.scales), f(b.values), f(b.scales))


def experts(f: Callable[[Any], Any]) -> Call:
    up, down = (blocks(normal(2, 256, k, dtype=np.float32, seed=k), 128) for k in (256, 128))
    ids, share = np.array([[0, 1], [1, 0], [1, 1]]), np.ones((3, 2), np.float32)
    given = (normal(3, 256), up.values, down.values, up.scales, down.scales, ids, share)
    return call(*(f(array) for array in given))


def lengths(f: Callable[[Any], Any]) -> Call:
    q, k, starts = normal(5, 2, 64), normal(7, 1, 64, seed=1), (np.array([0, 2, 5]), np.array([0, 3, 7]))
    return call(f(q), f(k), f(k), f(starts[0].astype(np.int32)), f(starts[1].astype(np.int32)), causal=True)


def same(*shape: int, dtype: Any = BF16) -> Callable[[Callable[[Any], Any]], Call]:
    """Two operands of one shape."""
    return lambda f: call(f(normal(*shape, dtype=dtype)), f(normal(*shape, dtype=dtype, seed=1)))


CASES: dict[str, Callable[[Callable[[Any], Any]], Call]] = {
    "activation_backward": lambda f: call(f(normal(3, 5)), f(normal(3, 5, seed=1)), "gelu"),
    "add": same(3, 5),
    "arranged": lambda f: call(f(blocks(normal(128, 256, dtype=np.float32), 128).values)),
    "attention": lambda f: call(*(f(normal(1, 2, 40, 64, seed=s)) for s in range(3)), causal=True),
    "attention_lengths": lengths,
    "columnsum": lambda f: call(f(normal(2, 3, 96))),
    "fp8_matmul": fp8_product,
    "gelu": lambda f: call(f(normal(3, 5))),
    "layernorm": lambda f: call(f(normal(3, 96)), f(normal(96)), f(normal(96, seed=1))),
    "layernorm_backward": lambda f: call(f(normal(3, 96)), f(normal(96)), f(normal(3, 96, seed=1))),
    "matmul": lambda f: call(f(normal(64, 64)), f(normal(64, 64, seed=1))),
    "moe": experts,
    "mul": same(3, 5),
    "quantise": lambda f: call(f(normal(3, 256))),
    "relu": lambda f: call(f(normal(3, 5))),
    "rmsnorm": lambda f: call(f(normal(3, 96)), f(normal(96, seed=1))),
    "rmsnorm_backward": lambda f: call(f(normal(3, 96)), f(normal(96)), f(normal(3, 96, seed=1))),
    "rowmax": lambda f: call(f(normal(3, 96))),
    "rowmean": lambda f: call(f(normal(3, 96))),
    "rowsum": lambda f: call(f(normal(3, 96))),
    "silu": lambda f: call(f(normal(3, 5))),
    "softmax": lambda f: call(f(normal(2, 3, 96))),
    "softmax_backward": same(3, 96),
    "transpose": lambda f: call(f(normal(8, 24))),
}

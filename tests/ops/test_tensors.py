"""Every operation on tensors in torch's manner: tensors come back, with the numbers that arrays give."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import ops
from argus.device.guards import LaunchRefused
from argus.ops.moe_reference import blocks
from tests.ops import torchlike

BF16 = ml_dtypes.bfloat16


def normal(*shape: int, dtype: Any = BF16, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def fp8_product(f: Callable[[Any], Any]) -> Any:
    a, b = blocks(normal(3, 256, dtype=np.float32), 1), blocks(normal(128, 256, dtype=np.float32, seed=1), 128)
    return ops.fp8_matmul(f(a.values), f(a.scales), f(b.values), f(b.scales), device="jit")


def experts(f: Callable[[Any], Any]) -> Any:
    up, down = (blocks(normal(2, 256, k, dtype=np.float32, seed=k), 128) for k in (256, 128))
    ids, share = np.array([[0, 1], [1, 0], [1, 1]]), np.ones((3, 2), np.float32)
    given = (normal(3, 256), up.values, down.values, up.scales, down.scales, ids, share)
    return ops.moe(*(f(array) for array in given), device="jit")


def lengths(f: Callable[[Any], Any]) -> Any:
    q, k, starts = normal(5, 2, 64), normal(7, 1, 64, seed=1), (np.array([0, 2, 5]), np.array([0, 3, 7]))
    return ops.attention_lengths(f(q), f(k), f(k), f(starts[0]), f(starts[1]), causal=True, device="jit")


OPERATIONS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "matmul": lambda f: ops.matmul(f(normal(5, 64)), f(normal(24, 64, seed=1)), device="jit"),
    "bias": lambda f: ops.matmul(
        f(normal(5, 64)), f(normal(24, 64, seed=1)), bias=f(normal(24, seed=2)), activation="relu", device="jit"
    ),
    "softmax": lambda f: ops.softmax(f(normal(2, 3, 96, dtype=np.float16)), device="jit"),
    "rmsnorm": lambda f: ops.rmsnorm(f(normal(3, 96)), f(normal(96, seed=1)), device="jit"),
    "layernorm": lambda f: ops.layernorm(f(normal(3, 96)), f(normal(96)), f(normal(96, seed=1)), device="jit"),
    "rowsum": lambda f: ops.rowsum(f(normal(3, 96)), device="jit"),
    "add": lambda f: ops.add(f(normal(3, 5)), f(normal(3, 5, seed=1)), device="jit"),
    "silu": lambda f: ops.silu(f(normal(3, 5, dtype=np.float32)), device="jit"),
    "transpose": lambda f: ops.transpose(f(normal(8, 24)), device="jit"),
    "quantise": lambda f: ops.quantise(f(normal(3, 256)), device="jit"),
    "fp8_matmul": fp8_product,
    "moe": experts,
    "attention": lambda f: ops.attention(
        *(f(normal(1, 2, 40, 64, seed=s)) for s in range(3)), causal=True, device="jit"
    ),
    "attention_lengths": lengths,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_tensors_give_tensors_of_the_same_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torchlike)
    made, wanted = OPERATIONS[name](torchlike.tensor), OPERATIONS[name](np.array)
    several = isinstance(made, tuple)
    for got, want in zip(made if several else [made], wanted if several else [wanted], strict=True):
        assert isinstance(got, torchlike.Tensor)
        held = torchlike.values(got)
        assert held.dtype == want.dtype
        assert held.tobytes() == want.tobytes()


def test_a_strided_tensor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torchlike)
    with pytest.raises(LaunchRefused, match="contiguous"):
        ops.softmax(torchlike.Tensor(normal(4, 8)[:, ::2]))

"""Gradients beside those of torch in float64, and none that is lost in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from torch.nn import functional as F  # noqa: E402

from argus import ops  # noqa: E402
from argus import torch as at  # noqa: E402
from argus.device.guards import LaunchRefused  # noqa: E402

BF16, F32 = torch.bfloat16, torch.float32
TOLERANCE = {BF16: 2.0**-7, F32: 2.0**-21}
"""Of the largest gradient: a few roundings to the type, and to f32 in sums of fewer than 128 terms."""


def normal(*shape: int, dtype: Any = F32, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def tanh_gelu(x: Any) -> Any:
    return F.gelu(x, approximate="tanh")


def linear(activation: str, wanted: Callable[[Any], Any]) -> tuple[Any, Any, list[Any]]:
    operands = [*(normal(64, 64, dtype=BF16, seed=s) for s in range(2)), normal(64, dtype=BF16, seed=2)]
    return (
        lambda a, b, bias: at.matmul(a, b, bias=bias, activation=activation),
        lambda a, b, bias: wanted(a @ b.T + bias),
        operands,
    )


def product(a_by_k: bool, b_by_k: bool) -> tuple[Any, Any, list[Any]]:
    a, b = (normal(64, 64, dtype=BF16, seed=s) for s in range(2))
    return (
        lambda a, b: at.matmul(a, b, a_by_k=a_by_k, b_by_k=b_by_k),
        lambda a, b: (a.T if a_by_k else a) @ (b if b_by_k else b.T),
        [a.T.contiguous() if a_by_k else a, b.T.contiguous() if b_by_k else b],
    )


CASES: dict[str, tuple[Any, Any, list[Any]]] = {
    "matmul": product(False, False),
    "matmul both by k": product(True, True),
    "linear relu": linear("relu", torch.relu),
    "linear gelu": linear("gelu", tanh_gelu),
    "softmax": (at.softmax, lambda x: x.softmax(-1), [normal(5, 96)]),
    "rmsnorm": (at.rmsnorm, lambda x, w: F.rms_norm(x, (96,), w, 1e-6), [normal(2, 3, 96), normal(96, seed=1)]),
    "layernorm": (
        at.layernorm,
        lambda x, w, b: F.layer_norm(x, (96,), w, b, 1e-5),
        [normal(5, 96), normal(96, seed=1), normal(96, seed=2)],
    ),
    "layernorm in bf16": (
        at.layernorm,
        lambda x, w, b: F.layer_norm(x, (96,), w, b, 1e-5),
        [normal(5, 96, dtype=BF16), normal(96, dtype=BF16, seed=1), normal(96, dtype=BF16, seed=2)],
    ),
    "rowsum": (at.rowsum, lambda x: x.sum(-1), [normal(3, 96, dtype=BF16)]),
    "rowmean": (at.rowmean, lambda x: x.mean(-1), [normal(3, 96)]),
    "add": (at.add, torch.add, [normal(3, 8), normal(3, 8, seed=1)]),
    "mul": (at.mul, torch.mul, [normal(3, 8), normal(3, 8, seed=1)]),
    "relu": (at.relu, torch.relu, [normal(3, 7)]),
    "silu": (at.silu, F.silu, [normal(3, 7)]),
    "gelu": (at.gelu, tanh_gelu, [normal(3, 7)]),
    "transpose": (at.transpose, lambda x: x.T, [normal(8, 24)]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    operation, reference, values = CASES[name]
    operands = [value.clone().requires_grad_() for value in values]
    exact = [value.double().requires_grad_() for value in values]
    made, wanted = operation(*operands), reference(*exact)
    g = normal(*wanted.shape, dtype=made.dtype, seed=9)
    made.backward(g)
    wanted.backward(g.double())
    for got, want in zip(operands, exact, strict=True):
        assert got.grad.dtype == got.dtype
        error = (got.grad.double() - want.grad).abs().max() / want.grad.abs().max()
        assert error < TOLERANCE[got.dtype]


def test_rows_that_several_waves_walk() -> None:
    y, g = normal(2, 2100, dtype=BF16).softmax(-1), normal(2, 2100, dtype=BF16, seed=1)
    wanted = y.double() * (g.double() - (g.double() * y.double()).sum(-1, keepdim=True))
    error = (at.softmax_backward(y, g).double() - wanted).abs().max() / wanted.abs().max()
    assert error < TOLERANCE[BF16]


def test_a_gradient_that_is_not_wanted_is_not_computed() -> None:
    a, b = normal(64, 64, dtype=BF16).requires_grad_(), normal(64, 64, dtype=BF16, seed=1)
    at.matmul(a, b).sum().backward()
    assert a.grad is not None
    assert b.grad is None


def test_a_gradient_is_differentiated_again() -> None:
    a, b = (normal(64, 64, dtype=BF16, seed=s).requires_grad_() for s in range(2))
    (first,) = torch.autograd.grad(at.matmul(a, b).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), b)
    assert torch.equal(second, torch.full_like(b, 64.0))


WITHOUT: dict[str, Callable[[], Any]] = {
    "rowmax": lambda: at.rowmax(normal(3, 96).requires_grad_()),
    "attention": lambda: at.attention(
        *(normal(1, 2, 40, 64, dtype=BF16, seed=s).requires_grad_() for s in range(3)), causal=True
    )[0],
    "quantise": lambda: at.quantise(normal(3, 256, dtype=BF16).requires_grad_())[1],
    "softmax_backward": lambda: torch.autograd.grad(
        at.softmax(x := normal(3, 96).requires_grad_()).square().sum(), x, create_graph=True
    )[0],
}


@pytest.mark.parametrize("name", WITHOUT)
def test_what_no_kernel_differentiates_is_an_error(name: str) -> None:
    """Forward works; backward says which operation has no gradient."""
    with pytest.raises(at.NoGradient, match=f"ARG-O102: {name} has no gradient"):
        WITHOUT[name]().sum().backward()


def test_without_gradients_nothing_is_kept() -> None:
    x = normal(3, 96).requires_grad_()
    with torch.no_grad():
        assert not at.rowmax(x).requires_grad


@pytest.mark.parametrize("dtype", [BF16, F32])
def test_plain_operations_lose_no_gradient(dtype: Any) -> None:
    """`argus.ops` refuses a tensor that requires a gradient, in every type, and takes it where none is recorded."""
    x = normal(3, 96, dtype=dtype).requires_grad_()
    with pytest.raises(LaunchRefused, match=r"x requires a gradient.*argus\.torch"):
        ops.softmax(x)
    with torch.no_grad():
        assert torch.equal(ops.softmax(x), at.softmax(x))

"""Under torch.compile: whole graphs, forward and backward, sizes as symbols."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from argus import torch as at  # noqa: E402

BF16 = torch.bfloat16
COMPILER = next((name for name in ("g++", "clang++") if shutil.which(name)), None)


def layer(x: Any, weight: Any, w: Any) -> Any:
    return at.softmax(at.matmul(at.rmsnorm(x, weight), w)) * 2


def operands(rows: int = 64) -> list[Any]:
    make = torch.Generator().manual_seed(rows)
    shapes = ((rows, 64), (64,), (64, 64))
    return [torch.randn(shape, generator=make).to(BF16).requires_grad_() for shape in shapes]


@pytest.mark.parametrize(
    "backend",
    [
        "aot_eager",
        pytest.param("inductor", marks=pytest.mark.skipif(COMPILER is None, reason="inductor needs a C++ compiler")),
    ],
)
def test_a_graph_without_breaks_has_the_same_results_and_gradients(backend: str) -> None:
    plain, traced = operands(), operands()
    wanted = layer(*plain)
    made = torch.compile(layer, fullgraph=True, backend=backend)(*traced)
    wanted.float().square().sum().backward()
    made.float().square().sum().backward()
    assert torch.equal(made, wanted)
    for got, want in zip(traced, plain, strict=True):
        assert torch.equal(got.grad, want.grad)


def test_one_graph_serves_all_sizes() -> None:
    graphs = 0

    def counting(graph: Any, example: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return graph.forward

    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=counting)
    for rows in (60, 50, 33):
        values = [value.detach() for value in operands(rows)]
        assert torch.equal(compiled(*values), layer(*values))
    assert graphs == 1


def test_a_graph_whose_backward_is_never_run() -> None:
    """Parameters require gradients, the operation has none: forward works in a graph, and backward says so."""
    x = torch.randn(3, 96, requires_grad=True)
    made = torch.compile(lambda x: at.rowmax(x) + 1, fullgraph=True, backend="aot_eager")(x)
    assert torch.equal(made, x.amax(-1) + 1)
    with pytest.raises(at.NoGradient, match="ARG-O102: rowmax"):
        made.sum().backward()


def test_operands_that_do_not_fit_are_refused_when_traced() -> None:
    compiled = torch.compile(lambda a, b: at.matmul(a, b), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="a has K = 64 and b has K = 32"):
        compiled(torch.ones(8, 64, dtype=BF16), torch.ones(8, 32, dtype=BF16))

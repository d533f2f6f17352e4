"""Convolutions, scans, dropout and running statistics of PyTorch modules, as plans."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from argus import torch as at  # noqa: E402
from argus.plan.evaluate import values  # noqa: E402
from argus.plan.meaning import meaning  # noqa: E402
from argus.plan.planner import planned  # noqa: E402
from argus.torch.export import graph_of  # noqa: E402


class Applied(nn.Module):
    """A module and a function after it."""

    def __init__(self, inner: Any, then: Callable[[Any], Any]) -> None:
        super().__init__()
        self.inner, self.then = inner, then

    def forward(self, *x: Any) -> Any:
        return self.then(self.inner(*x))


class Called(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *x: Any) -> Any:
        return self.function(*x)


def exclusive(x: Any) -> Any:
    return torch.cat((torch.zeros_like(x[:, :1]), torch.cumsum(x[:, :-1], 1)), 1)


PLANS: dict[str, tuple[Callable[[], Any], list[tuple[int, ...]], int]] = {
    "conv1d": (lambda: Applied(nn.Conv1d(4, 6, 3, 2, dilation=2), torch.relu), [(2, 4, 19)], 2),
    "conv2d": (
        lambda: Applied(nn.Conv2d(4, 6, (3, 5), padding=1, groups=2), lambda y: F.mish(y) * 2),
        [(2, 4, 9, 8)],
        2,
    ),
    "conv3d": (lambda: Applied(nn.Conv3d(3, 5, 2, stride=2), torch.tanh), [(1, 3, 5, 6, 7)], 2),
    "residual": (lambda: Applied(nn.Conv2d(4, 4, 3, padding=1), lambda y: y.clamp(0.1) + y), [(2, 4, 5, 8)], 2),
    "up": (lambda: Applied(nn.ConvTranspose2d(4, 3, 3, 2, 1, 1), torch.sigmoid), [(2, 4, 5, 6)], 5),
    "line up": (lambda: nn.ConvTranspose1d(4, 3, 5, dilation=3), [(2, 4, 9)], 2),
    "volume up": (lambda: nn.ConvTranspose3d(4, 3, 3, (1, 2, 1), 1, groups=1), [(1, 4, 3, 4, 5)], 3),
    "volume up, one phase": (lambda: nn.ConvTranspose3d(4, 6, (2, 3, 3), 1, 1, groups=2), [(1, 4, 3, 4, 5)], 2),
    "pool and scale": (lambda: Applied(nn.AvgPool2d(2), lambda y: F.gelu(y) - 1), [(2, 3, 8, 8)], 1),
    "scan": (lambda: Called(lambda x: torch.cumsum(x, 1)), [(4, 9)], 1),
    "product": (lambda: Called(lambda x: torch.cumprod(x, 0)), [(8, 5)], 1),
    "from the end": (lambda: Called(lambda x: torch.cumsum(x.flip(1), 1).flip(1)), [(4, 9)], 1),
    "exclusive": (lambda: Called(exclusive), [(4, 9)], 1),
    "place": (lambda: Called(lambda x: torch.argmax(x, 1)), [(4, 9)], 1),
    "places": (lambda: Called(lambda x: torch.min(x, 0)), [(8, 5)], 2),
    "place in all": (lambda: Called(torch.argmin), [(4, 9)], 1),
}


@pytest.mark.parametrize("name", sorted(PLANS))
def test_graph_and_plan_are_the_module(name: str) -> None:
    """In float64: the module by torch, its graph by numpy, its plan by the kernels' specifications."""
    torch.manual_seed(2)
    make, shapes, launches = PLANS[name]
    module, inputs = make(), tuple(torch.randn(shape) for shape in shapes)
    with torch.no_grad():
        found = copy.deepcopy(module).double()(*(x.double() for x in inputs))
    wanted = list(found) if isinstance(found, tuple) else [found]
    exported = graph_of(module, inputs)
    graph, plan = exported.graph, planned(exported.graph)
    assert len(plan.launches) == launches
    state = {name: tensor.detach().double().numpy() for name, tensor in exported.state.items()}
    given = {**state, **{name: x.double().numpy() for name, x in zip(graph.inputs, inputs, strict=True)}}
    by_graph, by_plan = values(graph, given), meaning(plan, given)
    for output, want in zip(graph.outputs, wanted, strict=True):
        np.testing.assert_allclose(by_graph[output], want.numpy(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(by_plan[output], want.numpy(), rtol=1e-9, atol=1e-9)


class Trained(nn.Module):
    """A module in training: statistics of the batch, and a mask that is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = nn.BatchNorm2d(3, momentum=0.3), nn.Dropout(0.25)

    def forward(self, x: Any) -> Any:
        return self.drop(self.norm(x))


def test_a_module_in_training() -> None:
    """Masks are those torch would draw; running statistics and the count of batches are the module's own after it."""
    torch.manual_seed(4)
    module, x = Trained(), torch.randn(4, 3, 5, 6)
    own = copy.deepcopy(module)
    compiled = at.compile(module, (x,))
    assert list(compiled.exported.drawn.values()) == [0.75]
    for seed in (1, 2):
        torch.manual_seed(seed)
        with torch.no_grad():
            want = own(x)
        torch.manual_seed(seed)
        torch.testing.assert_close(compiled(x), want, rtol=1e-5, atol=1e-5)
    for name, buffer in own.named_buffers():
        torch.testing.assert_close(dict(module.named_buffers())[name], buffer, rtol=1e-5, atol=1e-5)


def test_a_masked_scan_and_cross_entropy() -> None:
    """Truth values and classes are inputs as torch has them."""

    def both(x: Any, mask: Any, target: Any) -> Any:
        return torch.cumsum(x * mask, 1), F.cross_entropy(x, target)

    x, mask, target = torch.randn(5, 12), torch.rand(5, 12) < 0.5, torch.arange(5) * 2
    found = at.compile(Called(both), (x, mask, target))(x, mask, target)
    for ours, theirs in zip(found, both(x, mask, target), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)

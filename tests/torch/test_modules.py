"""PyTorch modules as plans: exported, planned, and compared with the module in float64."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` runs these tests")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from argus import torch as at  # noqa: E402
from argus.device.guards import LaunchRefused  # noqa: E402
from argus.plan.evaluate import values  # noqa: E402
from argus.plan.graph import PlanError  # noqa: E402
from argus.plan.meaning import meaning  # noqa: E402
from argus.plan.planner import planned  # noqa: E402
from argus.torch.compiled import array_of  # noqa: E402
from argus.torch.export import graph_of  # noqa: E402


class Chain(nn.Module):
    """A product, activations, an operand used twice, a reduction."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(24, 18)
        self.scale = nn.Parameter(torch.randn(18))

    def forward(self, x: Any) -> Any:
        y = F.mish(self.linear(x) * self.scale) + 0.5
        y = torch.clamp(y * torch.sigmoid(y), max=2.0)
        return torch.logsumexp(y, dim=1, keepdim=True) / 3 - y


class Images(nn.Module):
    """Windows, normalizations and softmax of channels."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.groups = nn.BatchNorm2d(6), nn.GroupNorm(3, 6)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, x: Any) -> Any:
        y = self.groups(self.pool(F.hardswish(self.norm(x))))
        return torch.softmax(y, dim=1).mean(dim=(2, 3))


class Stored(nn.Module):
    """A batch norm in evaluation, in a module in training, and an operand broadcast along axes between others."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(6).eval()
        self.bias = nn.Parameter(torch.randn(6, 1, 5, 1))

    def forward(self, x: Any) -> Any:
        return (self.norm(x)[:, :, :, None] - self.bias).transpose(1, 3).flatten(1)


class Losses(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        kl = F.kl_div(torch.log_softmax(x, 1), torch.softmax(y, 1), reduction="batchmean")
        return F.smooth_l1_loss(x, y) + F.mse_loss(x, y), kl


class Attention(nn.Module):
    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)


CASES = {
    "chain": (Chain, [(13, 24)]),
    "images": (Images, [(2, 6, 11, 9)]),
    "stored": (Stored, [(2, 6, 5, 9)]),
    "losses": (Losses, [(7, 12), (7, 12)]),
    "attention": (Attention, [(1, 2, 9, 8), (1, 2, 9, 8), (1, 2, 9, 8)]),
}


def made(name: str) -> tuple[Any, tuple[Any, ...]]:
    torch.manual_seed(3)
    kind, shapes = CASES[name]
    return kind(), tuple(torch.randn(shape) for shape in shapes)


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", sorted(CASES))
def test_graph_and_plan_are_the_module(name: str) -> None:
    """In float64: the module by torch, its graph by numpy, its plan by the kernels' specifications."""
    module, inputs = made(name)
    with torch.no_grad():
        wanted = listed(copy.deepcopy(module).double()(*(x.double() for x in inputs)))
    exported = graph_of(module, inputs)
    graph = exported.graph
    state = {name: tensor.detach().double().numpy() for name, tensor in exported.state.items()}
    given = {**state, **{name: x.double().numpy() for name, x in zip(graph.inputs, inputs, strict=True)}}
    by_graph, by_plan = values(graph, given), meaning(planned(graph), given)
    for output, want in zip(exported.results, wanted, strict=True):
        np.testing.assert_allclose(by_graph[output], want.numpy(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(by_plan[output], want.numpy(), rtol=1e-9, atol=1e-9)


def test_a_compiled_module_gives_the_module_s_result() -> None:
    module, inputs = made("chain")
    compiled = at.compile(module, inputs)
    assert [launch.file for launch in compiled.plan.launches] == ["gemm_f32", "logsumexp", "fused_map", "fused_map"]
    with torch.no_grad():
        torch.testing.assert_close(compiled(*inputs), module(*inputs), rtol=1e-4, atol=1e-4)


class Divergence(nn.Module):
    def forward(self, x: Any, target: Any) -> Any:
        return F.kl_div(x, target, reduction="none"), F.kl_div(x, target, reduction="batchmean")


@pytest.mark.parametrize("odd", [0.0, -0.5, float("nan")])
def test_targets_of_zero_are_no_terms(odd: float) -> None:
    """As PyTorch has it, where 0 * log 0 is NaN; a negative target still has no logarithm."""
    x, target = torch.log_softmax(torch.randn(7, 12), 1), torch.softmax(torch.randn(7, 12), 1)
    target[0, 3] = target[2] = 0.0
    target[5, 1] = odd
    compiled = at.compile(Divergence(), (x, target))
    terms, mean = Divergence()(x, target)
    assert not terms[2].any()
    found = compiled(x, target)
    torch.testing.assert_close(found, (terms, mean), rtol=1e-5, atol=1e-6, equal_nan=True)
    assert bool(found[1].isnan()) == (odd != 0)


class Block(nn.Module):
    """A transformer block without dropout."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Any) -> Any:
        b, s, c = x.shape
        q, k, v = self.qkv(self.first(x)).view(b, s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, c)
        x = x + self.out(y)
        return x + self.mlp(self.second(x))


def test_torch_compile_of_a_transformer_block() -> None:
    """One graph, no break, no operator left to torch; a gradient is refused."""
    torch.manual_seed(5)
    module, x = Block(), torch.randn(2, 9, 16)
    compiled = torch.compile(module, backend="argus", fullgraph=True, dynamic=False)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(LaunchRefused, match="requires a gradient"):
        compiled(x)


class Residual(nn.Module):
    """Two convolutions with batch norm beside a shortcut."""

    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(given, made, 3, stride, 1, bias=False), nn.BatchNorm2d(made)
        self.second, self.norm2 = nn.Conv2d(made, made, 3, 1, 1, bias=False), nn.BatchNorm2d(made)
        self.shortcut = nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.norm1(self.first(x)))
        return torch.relu(self.norm2(self.second(y)) + self.shortcut(x))


def small_resnet() -> nn.Module:
    stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return nn.Sequential(
        stem, Residual(8, 8, 1), Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    )


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 7), nn.LogSoftmax(1))


@pytest.mark.parametrize(
    ("made_module", "shape"), [(perceptron, (13, 20)), (small_resnet, (2, 3, 33, 33))], ids=["perceptron", "resnet"]
)
def test_torch_compile_of_whole_networks(made_module: Any, shape: tuple[int, ...]) -> None:
    """One graph, no break, no operator left to torch; batch norm has stored statistics."""
    torch.manual_seed(6)
    module, x = made_module().eval(), torch.randn(shape)
    compiled = torch.compile(module, backend="argus", fullgraph=True, dynamic=False)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)


class Sorted(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.sort(x * 2, dim=1)[0]


class Shifted(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.max(x, dim=1)[1] + 1


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Sorted, "ARG-G101: aten.sort.default has no template (node sort, test"),
        (Shifted, "ARG-G102: shift of i64 has no template; nearest is f32 (node add, test"),
    ],
)
def test_what_has_no_template_is_refused(module: Any, words: str) -> None:
    """The error names the operator, the node and the line of the module."""
    with pytest.raises(PlanError) as found:
        planned(graph_of(module(), (torch.randn(4, 5),)).graph)
    assert words in str(found.value)
    assert "test_modules.py:" in str(found.value)


FILE = """
import torch
from torch import nn

rows = 3000
print("executed")

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, 70)

    def forward(self, x):
        return torch.relu(self.linear(x))

def get_init_inputs():
    return [50]

def get_inputs():
    return [torch.rand(rows, 50)]
"""


def said(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "argus.cli.main", *words], capture_output=True, text=True)


def test_the_command_line(tmp_path: Path) -> None:
    """A module's file is executed only after a flag says so."""
    file = tmp_path / "model.py"
    file.write_text(FILE)
    refused = said("plan", str(file))
    assert refused.returncode == 2
    assert "say --run-python if it may" in refused.stderr
    found = json.loads(said("plan", str(file), "--run-python", "--json").stdout)
    assert [launch["sizes"] for launch in found["launches"]] == [{"Z": 1, "M": 3000, "N": 70, "K": 50}]


def test_arrays_keep_their_bits() -> None:
    x = torch.randn(3, 4).to(torch.bfloat16)
    assert (array_of(x, "x").astype(np.float32) == x.float().numpy()).all()

"""Reductions with maps before them, over any axis, and norms of an axis: the plan is its graph, in few launches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from argus.plan import product_tiles, rows
from argus.plan.graph import Graph
from argus.plan.planner import planned
from tests.plan.graphs import Builder
from tests.plan.test_meaning import same


def kernels(graph: Graph) -> list[str]:
    return [launch.kernel for launch in planned(graph).launches]


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize(
    ("operand", "dims", "kernel"),
    [
        ((6, 5, 8), (2,), "chain_rows"),
        ((8,), (2,), "chain_rows"),
        ((6, 5, 1), (2,), "chain_rows"),
        ((1,), (1, 2), "chain_rows"),
        ((6, 5, 8), (1,), "chain_axis"),
        ((8,), (1,), "chain_axis"),
        ((6, 1, 8), (1,), "chain_axis"),
        ((8,), (0, 1), "chain_axis"),
    ],
)
def test_maps_before_a_reduction_are_in_its_launch(
    kind: str, operand: tuple[int, ...], dims: tuple[int, ...], kernel: str
) -> None:
    made = Builder()
    x = made.input(6, 5, 8)
    graph = made.graph(made.reduce(made.add("square", made.add("sub", x, made.input(*operand))), kind, dims))
    assert kernels(graph) == [kernel]
    assert same(graph) == 1


@pytest.mark.parametrize("operand", [(6, 40), (40,), (6, 1), (1,)])
def test_one_number_of_everything(operand: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss: pieces of the whole, or the rows that operands have, then one number of these."""
    monkeypatch.setattr(rows, "LONGEST", 64)
    made = Builder()
    term = made.add("atleast", made.add("mul", made.input(6, 40), made.input(*operand)), p=0.0)
    graph = made.graph(made.reduce(term, "mean", (0, 1)))
    assert set(kernels(graph)) <= {"chain_rows", "rowreduce"}
    assert same(graph) >= 2


@pytest.mark.parametrize(
    ("operand", "other_use"), [((5, 1), False), ((6, 5, 8), True)], ids=["axes that do not fit", "a value used again"]
)
def test_maps_that_stay_outside(operand: tuple[int, ...], other_use: bool) -> None:
    made = Builder()
    y = made.add("sub", made.input(6, 5, 8), made.input(*operand))
    total = made.reduce(y, "sum", (1,))
    graph = made.graph(total, y) if other_use else made.graph(total)
    assert kernels(graph)[0] == "fused_map"
    assert same(graph) == 2


def test_few_long_columns_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LONG", 64)
    made = Builder()
    x = made.input(128, 12)
    middle = made.reduce(x, "mean", (0,), keepdim=True)
    spread = made.reduce(made.add("square", made.add("sub", x, middle)), "mean", (0,))
    graph = made.graph(spread)
    assert kernels(graph) == ["reduce_axis", "reduce_axis", "chain_axis", "reduce_axis"]
    assert same(graph) == 4


@pytest.mark.parametrize("shape", [(3, 7, 4, 5), (2, 128, 6), (3, 130, 2)])
def test_softmax_and_logsumexp_over_channels(shape: tuple[int, ...]) -> None:
    made = Builder()
    x = made.input(*shape)
    graph = made.graph(made.add("softmax", x, dim=1), made.reduce(x, "logsumexp", (1,), keepdim=True))
    same(graph)
    held = shape[1] <= rows.HELD
    assert ("softmax_axis" in kernels(graph), "logsumexp_axis" in kernels(graph)) == (held, held)


@pytest.mark.parametrize("n", [1, 3, 16, 100, 128, 129])
def test_layer_norm_of_short_rows(n: int) -> None:
    made = Builder()
    graph = made.graph(made.add("layer_norm", made.input(9, n), axes=1, eps=1e-5))
    assert kernels(graph) == ["short_layernorm" if n <= 128 else "layernorm"]
    assert same(graph) == 1


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "logsumexp"])
def test_a_reduction_of_one_element_is_a_view(kind: str) -> None:
    made = Builder()
    x = made.reduce(made.input(6, 5), "sum", (1,), keepdim=True)
    assert same(made.graph(made.add("tanh", made.reduce(x, kind, (1,), keepdim=True)))) == 2


def root_mean_square(made: Builder, x: str, dim: int) -> str:
    mean = made.reduce(made.add("square", x), "mean", (dim,), keepdim=True)
    return made.add("div", x, made.add("sqrt", made.add("shift", mean, p=1e-5)))


def mean_magnitude(made: Builder, x: str, dim: int) -> str:
    return made.add("div", x, made.reduce(made.add("abs", x), "mean", (dim,), keepdim=True))


def length(made: Builder, x: str, dim: int) -> str:
    return made.add("div", x, made.add("sqrt", made.reduce(made.add("square", x), "sum", (dim,), keepdim=True)))


@pytest.mark.parametrize(
    ("norm", "dim", "kernel"),
    [
        (root_mean_square, 1, "axisnorm"),
        (mean_magnitude, 1, "axisnorm"),
        (length, 1, "axisnorm"),
        (mean_magnitude, 2, "rownorm"),
        (length, 2, "rownorm"),
    ],
)
def test_norms_of_an_axis(norm: Callable[[Builder, str, int], str], dim: int, kernel: str) -> None:
    made = Builder()
    graph = made.graph(norm(made, made.input(3, 20, 6), dim))
    assert kernels(graph) == [kernel]
    assert same(graph) == 1


def test_gates_are_one_step() -> None:
    made = Builder()
    x = made.input(5, 9)
    cube = made.add("mul", made.add("square", x), x)
    inner = made.add("scale", made.add("add", x, made.add("scale", cube, p=0.044715)), p=0.7978845608028654)
    gelu = made.add("mul", made.add("scale", x, p=0.5), made.add("shift", made.add("tanh", inner), p=1.0))
    graph = made.graph(made.add("mul", gelu, made.add("sigmoid", gelu)))
    (launch,) = planned(graph).launches
    assert [launch.knobs[name] for name in ("S0", "S1")] == ["gelu_tanh", "silu"]
    assert same(graph) == 1


def test_a_product_with_few_elements_and_a_long_k_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_tiles, "LONG_K", 256)
    made = Builder()
    a, b = made.input(8, 512, dtype="bf16"), made.input(512, 24, dtype="bf16")
    graph = made.graph(made.add("matmul", a, b, shape=(8, 24), dtype="bf16"))
    assert kernels(graph) == ["split", "combine"]
    assert same(graph) == 2


def test_tiles_of_narrow_accesses_fit_registers() -> None:
    """Rows of two elements more than a multiple of four: pairs, and no tile of 256 x 256."""
    made = Builder()
    a, b = made.input(8205, 2950, dtype="bf16"), made.input(2950, 5922, dtype="bf16")
    (launch,) = planned(made.graph(made.add("matmul", a, b, shape=(8205, 5922), dtype="bf16"))).launches
    assert launch.knobs["WIDTH"] == 4
    assert int(launch.knobs["BM"]) * int(launch.knobs["BN"]) <= product_tiles.NARROW_TILE

"""A plan is its graph: the composition of `computes` lines against the graph's own value, both in float64."""

from __future__ import annotations

import numpy as np
import pytest

from argus.plan.evaluate import values
from argus.plan.graph import Graph, PlanError
from argus.plan.meaning import meaning
from argus.plan.planner import planned
from tests.plan.graphs import Builder, drawn_graph, drawn_inputs


def same(graph: Graph, seed: int = 0, limit: int = 1 << 31) -> int:
    """Compare; returns the number of launches."""
    plan = planned(graph, limit)
    given = drawn_inputs(graph, seed)
    want, found = values(graph, given), meaning(plan, given)
    for name in graph.outputs:
        scale = max(1.0, float(np.abs(want[name]).max()))
        np.testing.assert_allclose(found[name], want[name], rtol=0, atol=1e-9 * scale)
    return len(plan.launches)


def mlp() -> Graph:
    made = Builder()
    x = made.input(10, 37)
    h = made.linear(x, 30)
    h = made.add("mul", made.add("sigmoid", h), h)
    h = made.add("scale", h, p=2.0)
    p = made.add("softmax", h, dim=1)
    top = made.reduce(p, "max", (0,))
    return made.graph(made.add("tanh", made.add("sub", p, top)))


def test_a_product_with_its_chain_is_one_launch() -> None:
    plan = planned(mlp())
    assert [launch.file for launch in plan.launches] == ["gemm_f32", "softmax", "reduce_axis", "fused_map"]
    assert same(mlp()) == 4


def kept_value(uses: int) -> Graph:
    """x + tanh(x) + x + ...: every use of x lies on the chain."""
    made = Builder()
    x = made.linear(made.input(6, 5), 8)
    y = made.add("tanh", x)
    for _ in range(uses):
        y = made.add("add", y, x)
    return made.graph(y)


@pytest.mark.parametrize("uses", [1, 2, 3])
def test_a_value_used_again_is_kept(uses: int) -> None:
    assert same(kept_value(uses)) == 1


def test_a_product_with_weights_beyond_the_limit() -> None:
    """Some columns of the result at a time; bias and activation are those of each part."""
    made = Builder()
    graph = made.graph(made.add("gelu", made.linear(made.input(3, 16), 37)))
    assert same(graph) == 1
    assert same(graph, limit=16 * 4 * 10) == 10
    made = Builder()
    graph = made.graph(made.add("add", made.linear(made.input(3, 16), 37), made.input(3, 37)))
    with pytest.raises(PlanError, match="ARG-G103: a product of 592 elements with operands of all its elements"):
        planned(graph, 16 * 4 * 10)


def test_a_value_used_elsewhere_is_not_fused_away() -> None:
    made = Builder()
    x = made.linear(made.input(6, 5), 8)
    row = made.reduce(x, "mean", (1,), keepdim=True)
    assert same(made.graph(made.add("sub", x, row))) == 3


@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (1, 3, 1, 7), (2, 8, 4, 4)])
@pytest.mark.parametrize("training", [True, False])
def test_normalizations_of_images(shape: tuple[int, ...], training: bool) -> None:
    made = Builder()
    x = made.input(*shape)
    w, b, m, v = (made.input(shape[1], parameter=True) for _ in range(4))
    variance = made.add("shift", made.add("square", v), p=0.5)
    stored = () if training else (m, variance)
    y = made.add("batch_norm", x, w, b, *stored, shape=shape, training=training, eps=1e-5)
    y = made.add("group_norm", y, w, b, shape=shape, groups=1, eps=1e-5)
    full = [made.input(*shape[1:], parameter=True) for _ in range(2)]
    same(made.graph(made.add("layer_norm", y, *full, shape=shape, axes=3, eps=1e-5)))


def test_normalizations_of_matrices() -> None:
    made = Builder()
    x = made.input(9, 12)
    w, b = (made.input(12, parameter=True) for _ in range(2))
    y = made.add("batch_norm", x, w, b, shape=(9, 12), training=True, eps=1e-5)
    y = made.add("group_norm", y, w, b, shape=(9, 12), groups=3, eps=1e-5)
    same(made.graph(made.add("hardtanh", y)))


def test_batch_norm_in_pieces() -> None:
    """Statistics put together by launches of their own, then images normalized some at a time."""
    made = Builder()
    x = made.input(4, 3, 8, 8)
    w, b = made.input(3, parameter=True), made.input(3, parameter=True)
    graph = made.graph(made.add("batch_norm", x, w, b, shape=(4, 3, 8, 8), training=True, eps=1e-5))
    assert same(graph, limit=2000) > same(graph)


@pytest.mark.parametrize(("length", "pieces"), [(33000, 2), (32771, 1)])
def test_statistics_of_long_channels_are_made_of_pieces(length: int, pieces: int) -> None:
    """33,000 numbers are two rows that registers hold; 32,771 is a prime, and such a row is walked twice."""
    made = Builder()
    x = made.input(1, 2, length)
    w, b = made.input(2, parameter=True), made.input(2, parameter=True)
    graph = made.graph(made.add("group_norm", x, w, b, shape=(1, 2, length), groups=2, eps=1e-5))
    kernels = [launch.kernel for launch in planned(graph).launches]
    assert kernels == (["moments", "joined", "group"] if pieces > 1 else ["moments_long", "group"])
    same(graph)


def test_an_outer_sum() -> None:
    made = Builder()
    x = made.add("add", made.input(5, 1), made.input(1, 8, 1, 1))
    y = made.add("mul", made.input(6, 1), made.input(1, 7))
    assert same(made.graph(made.add("tanh", x), y)) == 2


POOLS = [
    (1, (3,), (2,), (1,), (1,)),
    (2, (2, 2), (2, 2), (0, 0), (1, 1)),
    (2, (3, 5), (1, 2), (1, 2), (1, 1)),
    (2, (2, 3), (2, 1), (1, 1), (2, 2)),
    (3, (3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1)),
    (2, (9, 11), (9, 11), (0, 0), (1, 1)),
    (2, (4, 4), (4, 4), (2, 2), (1, 1)),
    (1, (4,), (4,), (2,), (1,)),
    (3, (2, 2, 2), (1, 2, 1), (0, 0, 0), (2, 1, 1)),
]


@pytest.mark.parametrize(("rank", "window", "stride", "padding", "dilation"), POOLS)
@pytest.mark.parametrize("kind", ["max", "mean"])
def test_windows(
    kind: str, rank: int, window: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> None:  # fmt: skip
    if kind == "mean" and dilation != (1,) * rank:
        dilation = (1,) * rank
    made = Builder()
    space = (9, 11, 13)[:rank]
    x = made.input(2, 3, *space)
    results = tuple(
        (e + 2 * p - d * (w - 1) - 1) // s + 1
        for e, w, s, p, d in zip(space, window, stride, padding, dilation, strict=True)
    )
    y = made.add(
        "pool", x, shape=(2, 3, *results), kind=kind, window=window, stride=stride, padding=padding, dilation=dilation
    )
    same(made.graph(y))


def test_triangles_and_batches() -> None:
    made = Builder()
    a, b = made.input(9, 7), made.input(7, 9)
    lower = made.add("triangle", made.matmul(a, b), shape=(9, 9), side="lower")
    upper = made.add("triangle", made.matmul(made.permute(b, 1, 0), b), shape=(9, 9), side="upper")
    z, w = made.input(2, 3, 4, 5), made.input(2, 3, 5, 6)
    batched = made.add("relu", made.matmul(z, w))
    rows = made.matmul(z, made.input(5, 3))
    assert same(made.graph(lower, upper, batched, rows)) == 4


def drawn_same(seed: int, limit: int) -> bool:
    """Whether there is a plan; a plan that is not the graph fails."""
    try:
        same(drawn_graph(seed), seed, limit)
    except PlanError as error:
        if error.code not in ("ARG-G103", "ARG-G104"):
            raise
        return False
    return True


def test_drawn_graphs() -> None:
    found = [drawn_same(seed, 1 << 31) for seed in range(24)]
    assert sum(found) >= 20


def test_drawn_graphs_in_pieces() -> None:
    """With a limit of some hundred bytes launches are cut; what cannot be cut is refused."""
    found = [drawn_same(seed, 600) for seed in range(12)]
    assert sum(found) >= 3


@pytest.mark.full
def test_more_drawn_graphs() -> None:
    assert sum(drawn_same(seed, 1 << 31 if seed % 3 else 2000) for seed in range(100, 500)) >= 300


@pytest.mark.parametrize("rows", [1, 9, 70, 128])
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_of_a_matrix_has_its_statistics_in_f32(rows: int, training: bool) -> None:
    """Whatever the type of the graph; the chain after it is its launch's, and running statistics are one each."""
    made = Builder()
    x = made.input(rows, 12, dtype="bf16")
    w, b, old = (made.input(12, parameter=True, dtype="bf16") for _ in range(3))
    stored = [] if training else [made.input(12, parameter=True, dtype="bf16"), made.add("square", w, dtype="bf16")]
    y = made.add("batch_norm", x, w, b, *stored, shape=(rows, 12), dtype="bf16", training=training, eps=1e-5)
    y = made.add("gelu", made.add("add", y, made.input(rows, 1, dtype="bf16"), dtype="bf16"), dtype="bf16")
    new = made.add("batch_statistic", x, shape=(12,), kind="variance")
    off = made.add("scale", made.add("sub", new, old, dtype="bf16"), dtype="bf16", p=0.1)
    graph = made.graph(y, made.add("add", off, old, dtype="bf16"))
    plan = planned(graph)
    same(graph)
    files = [launch.kernel for launch in plan.launches if launch.kernel != "fused_map"]
    assert sorted(files) == ["column_joined", "column_moments", "column_norm"]
    rounded = [b.dtype for b in plan.buffers.values() if b.kind == "temporary"]
    assert set(rounded) <= {"f32", "bf16"}
    statistics = [launch.arguments[name] for launch in plan.launches for name in ("M", "D") if name in launch.arguments]
    assert {plan.buffers[view.buffer].dtype for view in statistics} == {"f32"}


@pytest.mark.parametrize(("kind", "padding"), [("mean", 0), ("max", 2)])
def test_windows_far_apart_are_taken_along_columns_first(kind: str, padding: int) -> None:
    made = Builder()
    x = made.input(2, 3, 25, 30)
    shape = (2, 3, (25 + 2 * padding - 5) // 4 + 1, (30 + 2 * padding - 5) // 4 + 1)
    window = {"window": (5, 5), "stride": (4, 4), "padding": (padding,) * 2, "dilation": (1, 1)}
    graph = made.graph(made.add("relu", made.add("pool", x, shape=shape, kind=kind, **window)))
    assert same(graph) == 2 + (padding > 0)
    assert [launch.knobs["KW"] for launch in planned(graph).launches if launch.file == "pool"] == [1, 5]


def test_columns_that_are_padding_for_the_most_part_are_not_taken_first() -> None:
    made = Builder()
    x = made.input(4, 3, 16, 3)
    window = {"window": (4, 4), "stride": (4, 4), "padding": (2, 2), "dilation": (1, 1)}
    graph = made.graph(made.add("pool", x, shape=(4, 3, 5, 1), kind="max", **window))
    assert same(graph) == 2
    assert [launch.file for launch in planned(graph).launches] == ["pad", "pool"]


@pytest.mark.parametrize(("width", "deep"), [(8, 4), (11, 4), (16, 2)])
def test_wide_windows_far_apart_fit_into_registers(width: int, deep: int) -> None:
    """A row of taps of all results of a thread is in flight at a time."""
    made = Builder()
    x = made.input(9, 1, 16 * width)
    window = {"window": (width,), "stride": (width,), "padding": (0,), "dilation": (1,)}
    graph = made.graph(made.add("pool", x, shape=(9, 1, 16), kind="mean", **window))
    assert [launch.knobs["DEEP"] for launch in planned(graph).launches if launch.file == "pool"] == [deep]
    assert same(graph) == 1

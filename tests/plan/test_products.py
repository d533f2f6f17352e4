"""Products of 2-byte types: batches in one launch, odd sizes through copies with longer rows; right on the machine."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from argus.plan import product_tiles
from argus.plan.choices import Choices
from argus.plan.convolutions import CHANNELS_AT_ONCE
from argus.plan.evaluate import values
from argus.plan.graph import Graph
from argus.plan.meaning import meaning
from argus.plan.planner import planned
from argus.plan.runner import PreparedPlan
from tests.plan.graphs import Builder, drawn_inputs


def typed(graph: Graph, dtype: str = "bf16") -> Graph:
    """The graph in another element type."""
    nodes = {name: type(node)(**{**_fields(node), "dtype": dtype}) for name, node in graph.nodes.items()}
    return Graph(nodes, graph.inputs, graph.parameters, graph.outputs)


def _fields(node: Any) -> dict[str, Any]:
    return {name: getattr(node, name) for name in ("name", "op", "inputs", "attributes", "shape", "dtype", "line")}


def operand(made: Builder, by_k: bool, *shape: int) -> str:
    """An operand of this shape, stored the other way round if asked."""
    if not by_k:
        return made.input(*shape)
    axes = len(shape)
    turned = made.input(*shape[:-2], shape[-1], shape[-2])
    return made.permute(turned, *range(axes - 2), axes - 1, axes - 2)


def right(graph: Graph) -> list[str]:
    """Both of the plan's meaning and a run against float64; the files of its launches."""
    plan = planned(graph)
    given = {name: x.astype(ml_dtypes.bfloat16) for name, x in drawn_inputs(graph, 3).items()}
    wide: dict[str, npt.NDArray[np.float64]] = {name: x.astype(np.float64) for name, x in given.items()}
    want, told = values(graph, wide), meaning(plan, wide)
    found = PreparedPlan(plan).run({name: given[name] for name in graph.inputs}, {})
    for name in graph.outputs:
        scale = max(1.0, float(np.abs(want[name]).max()))
        np.testing.assert_allclose(told[name], want[name], rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(found[name].astype(np.float64), want[name], rtol=2**-8, atol=1e-5 * scale)
    return [launch.file for launch in plan.launches]


@pytest.mark.parametrize(
    ("z", "m", "n", "k", "a_by_k", "b_by_k"),
    [(3, 40, 72, 96, False, True), (2, 65, 33, 67, False, False), (2, 66, 34, 50, True, True)],
)
def test_a_batch_is_one_launch(z: int, m: int, n: int, k: int, a_by_k: bool, b_by_k: bool) -> None:
    """Rows past the end of a matrix are not those of the next one."""
    made = Builder()
    y = made.matmul(operand(made, a_by_k, z, m, k), operand(made, not b_by_k, z, k, n))
    assert right(typed(made.graph(y))) == ["matmul_chain"]


def test_a_batch_with_operands_of_all_kinds() -> None:
    made = Builder()
    y = made.matmul(made.input(3, 35, 24), made.input(3, 24, 44))
    y = made.add("add", made.add("mul", y, made.input(3, 35, 44)), made.input(44))
    assert right(typed(made.graph(made.add("relu", made.add("add", y, made.input(35, 44)))))) == ["matmul_chain"]


def test_one_matrix_for_a_batch() -> None:
    """As an operand of two axes, and broadcast; the second one for all makes more rows."""
    made = Builder()
    first = made.add("matmul", made.input(20, 32), made.input(4, 32, 40), shape=(4, 20, 40))
    assert right(typed(made.graph(first))) == ["matmul_chain"]
    made = Builder()
    x = made.add("expand", made.input(20, 32), shape=(4, 20, 32))
    plan = planned(typed(made.graph(made.matmul(x, made.input(4, 32, 40)))))
    assert [launch.knobs.get("BATCH") for launch in plan.launches] == ["shared"]
    made = Builder()
    y = made.matmul(made.input(4, 20, 32), made.add("expand", made.input(32, 40), shape=(4, 32, 40)))
    plan = planned(typed(made.graph(made.add("add", y, made.input(40)))))
    assert [(launch.sizes["M"], "Z" in launch.sizes) for launch in plan.launches] == [(80, False)]


@pytest.mark.parametrize(("a_by_k", "b_by_k"), [(False, True), (True, False)])
def test_odd_sizes_are_copied_to_longer_rows(a_by_k: bool, b_by_k: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_tiles, "OFTEN", 1)
    made = Builder()
    y = made.matmul(operand(made, a_by_k, 67, 71), operand(made, not b_by_k, 71, 69))
    graph = typed(made.graph(made.add("relu", made.add("add", y, made.input(69)))))
    assert right(graph) == ["pad", "pad", "matmul_chain"]


def test_odd_sizes_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_tiles, "OFTEN", 1)
    made = Builder()
    y = made.matmul(made.input(3, 35, 41), made.input(3, 41, 37))
    assert right(typed(made.graph(made.add("add", y, made.input(3, 35, 37))))) == ["pad", "pad", "matmul_chain"]


@pytest.mark.parametrize(
    ("m", "n", "k", "copied"), [(511, 2049, 67, True), (447, 2049, 67, False), (512, 2048, 68, False)]
)
def test_who_is_copied_is_decided_by_sizes(m: int, n: int, k: int, copied: bool) -> None:
    made = Builder()
    plan = planned(typed(made.graph(made.matmul(made.input(m, k), made.input(k, n)))))
    assert ("pad" in [launch.file for launch in plan.launches]) == copied


@pytest.mark.parametrize("images", [1, 3])
def test_a_convolution_of_few_channels_is_a_product_with_rows_of_windows(images: int) -> None:
    made = Builder()
    x, w = made.input(images, 3, 26, 29), made.input(20, 3, 7, 7)
    at = {"stride": (2, 3), "padding": (2, 1), "dilation": (1, 1), "groups": 1}
    y = made.add("convolution", x, w, shape=(images, 20, 12, 9), **at)
    y = made.add("add", made.add("add", y, made.input(20, 1, 1)), made.input(images, 20, 12, 9))
    files = right(typed(made.graph(made.add("relu", y))))
    assert files == ["pad", "window_rows", "pad", "matmul_chain"]


Numbers = tuple[int, ...]
VOLUMES: list[tuple[Numbers, Numbers, Numbers, Numbers, Numbers]] = [
    ((2, 3, 6, 9, 16), (5, 3, 3, 5, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1)),
    ((1, 3, 7, 11, 13), (33, 3, 3, 5, 7), (2, 1, 3), (1, 2, 3), (1, 1, 1)),
    ((3, 2, 8, 9, 12), (4, 2, 4, 4, 4), (1, 2, 1), (2, 0, 1), (2, 1, 2)),
    ((2, 1, 3, 9, 10), (6, 1, 1, 7, 7), (1, 1, 2), (0, 3, 0), (1, 2, 1)),
    ((1, 4, 8, 8, 5), (3, 4, 7, 7, 1), (3, 1, 1), (3, 8, 0), (1, 3, 1)),
    ((1, 4, 3, 9, 9), (3, 4, 2, 11, 11), (1, 1, 1), (0, 2, 2), (1, 1, 1)),
]


def of_volumes(
    shape: Numbers, weight: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, groups: int = 1
) -> Graph:
    """A convolution with a bias, a residual and an activation."""
    made = Builder()
    x, w = made.input(*shape), made.input(*weight)
    space = zip(shape[2:], weight[2:], stride, padding, dilation, strict=True)
    results = tuple((e + 2 * p - d * (k - 1) - 1) // s + 1 for e, k, s, p, d in space)
    form: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    y = made.add("convolution", x, w, shape=(shape[0], weight[0], *results), **form)
    y = made.add("add", made.add("add", y, made.input(weight[0], 1, 1, 1)), made.input(shape[0], weight[0], *results))
    return made.graph(made.add("relu", y))


@pytest.mark.parametrize("form", VOLUMES)
def test_planes_and_rows_of_windows_are_channels(form: tuple[Numbers, Numbers, Numbers, Numbers, Numbers]) -> None:
    """Strided, padded and dilated along all axes; borders that whole windows lie in."""
    whole = math.prod(form[1][1:4]) % CHANNELS_AT_ONCE == 0
    found = ["window_channels", "reorder", *([] if whole else ["pad"]), "conv3d"]
    files = right(typed(of_volumes(*form)))
    assert files == [file for file in found if file != "reorder" or form[1][4] > 1]


def test_volumes_that_stay_as_they_are() -> None:
    """f32, groups, few taps and many channels; and what a plan may hold otherwise, if it is told to."""
    ones, none = (1, 1, 1), (0, 0, 0)
    few, many = ((1, 3, 5, 6, 7), (4, 3, 3, 3, 3)), ((1, 5, 5, 8, 9), (4, 5, 3, 5, 7))
    grouped = of_volumes((1, 6, 5, 8, 9), (4, 3, 3, 5, 7), ones, none, ones, 2)
    graphs = [typed(of_volumes(*form, ones, none, ones)) for form in (few, many)]
    for graph in (*graphs, typed(grouped), of_volumes((1, 3, 5, 8, 9), (4, 3, 3, 5, 7), ones, none, ones)):
        assert "window_channels" not in [launch.file for launch in planned(graph).launches]
    told = Choices(forced={"window-channels": {"channels": True}})
    assert "window_channels" in [launch.file for launch in planned(graphs[0], choices=told).launches]


def test_volumes_whose_channels_are_too_large_for_a_launch() -> None:
    """Some images at a time; and an image alone that is too large stays as it is."""
    form = ((5, 3, 4, 6, 8), (4, 3, 3, 5, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1))
    graph, image = typed(of_volumes(*form)), 2 * 48 * 2 * 2 * 8
    files = [launch.file for launch in planned(graph, limit=2 * image + 1).launches]
    assert files == ["window_channels"] * 3 + ["reorder", "pad"] + ["conv3d"] * 3
    assert "window_channels" not in [launch.file for launch in planned(graph, limit=image).launches]

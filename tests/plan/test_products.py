"""Products of 2-byte types: batches in one launch, odd sizes through copies with longer rows; right on the machine."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from argus.bench.kernelbench.stores import store_sites, written
from argus.device.guards import launch_grid
from argus.plan import product_tiles
from argus.plan.evaluate import values
from argus.plan.graph import Graph
from argus.plan.meaning import meaning
from argus.plan.planner import kernel_of, planned
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


SIDES = ("lower", "upper")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("m", "n", "k", "a_by_k", "b_by_k"),
    [(65, 33, 67, False, True), (200, 332, 72, False, False), (330, 130, 96, True, True), (64, 700, 128, False, False)],
)
def test_a_triangle_skips_tiles(side: str, m: int, n: int, k: int, a_by_k: bool, b_by_k: bool) -> None:
    made = Builder()
    y = made.matmul(operand(made, a_by_k, m, k), operand(made, not b_by_k, k, n))
    assert right(typed(made.graph(made.add("triangle", y, shape=(m, n), side=side)))) == ["matmul_triangle"]


@pytest.mark.parametrize("side", SIDES)
def test_a_triangle_of_a_chain_and_of_copies(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a chain makes of 0 is not 0: beside the triangle it does not count."""
    monkeypatch.setattr(product_tiles, "OFTEN", 1)
    made = Builder()
    y = made.matmul(made.input(131, 71), made.input(71, 149))
    y = made.add("sigmoid", made.add("add", made.add("add", y, made.input(149)), made.input(131, 149)))
    graph = typed(made.graph(made.add("triangle", y, shape=(131, 149), side=side)))
    assert right(graph) == ["pad", "pad", "matmul_triangle"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("m", "n"), [(1024, 1024), (1000, 1100), (520, 1500), (1500, 520)])
def test_workgroups_that_multiply_come_first(side: str, m: int, n: int) -> None:
    """Each element is written once; XCDs have the same number of tiles of the triangle, up to one for each pair of
    columns; on all of them these come before the others."""
    made = Builder()
    y = made.matmul(made.input(m, 64), made.input(64, n))
    (launch,) = planned(typed(made.graph(made.add("triangle", y, shape=(m, n), side=side)))).launches
    kernel = kernel_of(*launch.key)
    number = int(np.prod(launch_grid(kernel, launch.sizes)))
    parts = written(kernel, launch.sizes, store_sites(kernel), range(number))
    found = np.zeros((m, n), np.int64)
    multiplies = []
    for group, tensors in parts.items():
        if not tensors:  # beyond the last row or column of tiles
            continue
        rows, columns = tensors["C"].T
        found[rows, columns] += 1
        if ((rows <= columns) if side == "upper" else (columns <= rows)).any():
            multiplies.append(group)
    assert (found == 1).all()
    if m == n:
        on = [sum(group % 8 == xcd for group in multiplies) for xcd in range(8)]
        pairs = -(-n // (8 * 64))
        assert max(on) - min(on) <= pairs
        assert max(multiplies) < 1.1 * len(multiplies)

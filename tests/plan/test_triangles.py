"""Triangles of products: tiles beside them are skipped, and the result is that of the product with its mask."""

from __future__ import annotations

import numpy as np
import pytest

from argus.bench.kernelbench.stores import store_sites, written
from argus.device.guards import launch_grid
from argus.plan import product_tiles
from argus.plan.planner import kernel_of, planned
from tests.plan.graphs import Builder
from tests.plan.test_products import operand, right, typed

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

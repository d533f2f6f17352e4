"""Maps of tiles to chiplets: each tile once, whatever their number, and no XCD reads more than without a map."""

from __future__ import annotations

import math
import random

import pytest

from argus.bench.contestant import compiled
from argus.gfx942.chip import CUS_PER_XCD
from argus.ops.chiplets import map_of
from argus.ops.choice import matmul_with
from tests.kernels.test_matmul_sampled import tile_of

DICE = random.Random(11)
COUNTS = [
    (1, 1),
    (1, 300),
    (11, 22),
    (17, 17),
    (32, 8),
    (13, 26),
    *((DICE.randint(1, 60), DICE.randint(1, 60)) for _ in range(20)),
]


def read_by_chiplets(knobs: dict[str, int], rows: int, columns: int) -> int:
    """Rows and columns of tiles that the XCDs read in all their rounds; every tile belongs to one workgroup."""
    sizes = {"BM": 64, "BN": 64, **knobs}
    tiles = [tile_of(sizes, 64 * rows, 64 * columns, number) for number in range(rows * columns)]
    if rows % max(knobs["XM"], 1) or (knobs["XM"] and columns % (8 // knobs["XM"])):
        return 0  # a few workgroups have no tile
    assert sorted(tiles) == [(row, column) for row in range(rows) for column in range(columns)]
    mine = [tiles[xcd::8] for xcd in range(8)]
    rounds = [run[at : at + CUS_PER_XCD] for run in mine for at in range(0, len(run), CUS_PER_XCD)]
    return sum(len({tile[axis] for tile in at_once}) for at_once in rounds for axis in (0, 1))


@pytest.mark.parametrize("bands", [0, 8, 16])
@pytest.mark.parametrize(("rows", "columns"), COUNTS)
def test_every_tile_once_and_little_read(rows: int, columns: int, bands: int) -> None:
    knobs = map_of(64 * rows, 64 * columns, 64, 64, bands)
    assert read_by_chiplets(knobs, rows, columns) <= read_by_chiplets({"XM": 0}, rows, columns) + 8


def test_a_row_asks_for_the_map_by_rule() -> None:
    row = {"kernel": "matmul_direct", "knobs": {"BM": 128, "BN": 64, "XM": "auto"}}
    assert matmul_with(row, 4096, 462, 768, "bf16").knobs["XM"] == 8
    choice = matmul_with(row, 1408, 1408, 1408, "bf16")
    assert (choice.knobs["XM"], choice.knobs["BAND"]) == (0, 11)
    staged = {"kernel": "matmul", "knobs": {"BM": 128, "BN": 128, "XM": "auto"}}
    assert matmul_with(staged, 1408, 1408, 1408, "bf16").knobs["XM"] == 0
    assert matmul_with(staged, 2048, 64896, 512, "bf16").knobs["XM"] in (1, 2, 4, 8)


@pytest.mark.parametrize(("n", "store"), [(6, 4), (462, 4), (35, 2), (64, None)])
def test_stores_follow_the_result_and_loads_the_operands(n: int, store: int | None) -> None:
    row = {"kernel": "matmul_direct", "knobs": {"BM": 64, "BN": 64, "WM": 2, "WN": 1, "DEPTH": 2}}
    knobs = matmul_with(row, 70, n, 1536, "bf16").knobs
    assert (knobs["WIDTH"], knobs.get("STORE")) == (16, store)
    staged = matmul_with({**row, "kernel": "matmul"}, 70, n, 1536, "bf16", bias=True)
    assert (staged.knobs["WIDTH"], staged.knobs.get("STORE")) == (16, store)
    assert staged.kernel == ("linear" if store is None else "linear_narrow")
    alike = matmul_with({**row, "kernel": "matmul"}, 70, n, 1536, "bf16", narrow=False)
    assert (alike.kernel, alike.knobs["WIDTH"], "STORE" in alike.knobs) == ("matmul", store or 16, False)
    tiles = matmul_with({**row, "kernel": "matmul_tiles"}, 70, n, 1536, "bf16")
    assert (tiles.kernel, tiles.knobs["WIDTH"], tiles.knobs.get("STORE")) == ("matmul_tiles", 16, store)
    by_k = matmul_with({**row, "kernel": "matmul"}, 70, n, 1536, "bf16", b_by_k=True)
    assert (by_k.kernel, by_k.knobs["WIDTH"]) == ("matmul", 2 * math.gcd(8, n))


def test_parts_without_lds_in_the_loop_take_a_bias() -> None:
    row = {"kernel": "split_direct", "knobs": {"BM": 32, "BN": 32, "WM": 1, "WN": 1, "DEPTH": 4, "XM": 0, "SPLITS": 16}}
    choice = matmul_with(row, 64, 64, 65536, "bf16", bias=True, activation="gelu")
    assert choice.file == "matmul_direct"
    assert choice.then is not None
    assert (choice.then.knobs["BIAS"], choice.then.knobs["ACT"]) == (True, "gelu")


def test_single_elements_are_loaded_fewer_steps_ahead() -> None:
    row = {"kernel": "matmul_direct", "knobs": {"BM": 128, "BN": 64, "WK": 2, "WM": 2, "WN": 1, "DEPTH": 2}}
    assert matmul_with(row, 256, 256, 1024, "bf16").knobs["DEPTH"] == 2
    assert matmul_with(row, 256, 256, 1025, "bf16").knobs["DEPTH"] == 1
    assert compiled(matmul_with(row, 256, 256, 1025, "bf16")).code

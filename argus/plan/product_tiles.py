"""Tiles of products of 2-byte types, parts of K, copies of operands: decision points of `argus.plan.products`.

    narrow_knobs(planner.choices, found, "bf16", {"S0": "add_U"})    knobs of `matmul_chain`, but its chain

By rule a tile is carried over from a few sizes (`argus.plan.carried_tiles`); the table of choices has
better ones for sizes that were tuned (decision `product-tile`). The alternatives are all tiles that the kernel takes,
ordered by a rough estimate: rounds over the compute units times elements of a tile, smaller tiles counting more as
they load more for each product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from argus.gfx942.chip import CUS
from argus.ir.kernel import KnobValue
from argus.ops.choice import K_STEP, LIMIT, MOST_DEPTH, matmul_with, table
from argus.plan.carried_tiles import carried_row
from argus.plan.choices import Alternative, Choices, ShapeClass, varied
from argus.plan.planning import Planning

if TYPE_CHECKING:
    from argus.plan.products import Factors

SPLIT_TILE: Mapping[str, int] = {
    "BM": 64, "BN": 64, "WM": 2, "WN": 2, "INST": 16, "DEPTH": 4, "STAGES": 2, "XM": 0, "GROUP": 1
}  # fmt: skip
LARGE_SPLIT_TILE: Mapping[str, int] = {
    "BM": 128, "BN": 128, "WM": 2, "WN": 2, "INST": 32, "DEPTH": 2, "STAGES": 1, "XM": 0, "GROUP": 1
}  # fmt: skip
TRIANGLE_TILE: Mapping[str, int] = {
    "BM": 128, "BN": 128, "WM": 2, "WN": 2, "INST": 32, "DEPTH": 1, "STAGES": 1, "XM": 0, "GROUP": 1
}  # fmt: skip
"""Two workgroups on a compute unit: half of a 4096 x 4096 result is one round of them."""
SMALL_TRIANGLE_TILE: Mapping[str, int] = {**TRIANGLE_TILE, "BM": 64, "BN": 64, "INST": 16, "DEPTH": 2, "STAGES": 2}
SPLITS, FEW_TILES, LONG_K = (2, 4, 8, 16), 64, 1 << 14
"""Parts of K, tiles of a result up to which it is divided, and the least K."""
NARROW_TILE = 128 * 128
"""Elements of the largest tile with accesses below eight bytes."""
ROWS_AHEAD = K_STEP * (2 * MOST_DEPTH + 1)
"""Rows of an operand stored by k that are on their way at a time."""
ALIGNED = 64
"""Elements that copied rows are multiples of: a step along K, and a line of the caches."""
OFTEN = 8
"""Tiles along a row or column of the result from which operands with narrow rows are copied."""
SPARE = 1.1
"""How much more rows of tiles a batch may have than with the tile that leaves the fewest over."""
SIDES = (256, 224, 192, 160, 128, 96, 64)
WAVES = ((2, 2), (1, 4), (4, 1))
LDS, LINE = 1 << 16, 128
"""Bytes of LDS, and of a row of an operand's tile there."""
LOADED = 24
"""How much a tile's rows and columns count beside its elements, in the estimate of its time."""
TILE_KNOBS = ("BM", "BN", "WM", "WN", "INST", "DEPTH", "STAGES", "XM", "GROUP")


def rounded(extent: int) -> int:
    return -(-extent // ALIGNED) * ALIGNED


def shape_of(found: Factors) -> dict[str, KnobValue]:
    """Sizes and layouts of a product."""
    sizes: dict[str, KnobValue] = {"z": found.z, "m": found.m, "n": found.n, "k": found.k}
    return {**sizes, "a_by_k": found.a_by_k, "b_by_k": found.b_by_k, "shared": found.shared}


def narrow_knobs(
    choices: Choices, found: Factors, dtype: str, chain: Mapping[str, KnobValue] | None = None
) -> dict[str, KnobValue]:
    """The tile of the table, else the one that a few times carried over say. A batch is as one product with the rows of
    all matrices, made of tiles that leave few rows of a matrix over."""
    if found.longer:
        found = replace(found, m=rounded(found.m) if found.a_by_k else found.m, n=rounded(found.n))
    rows: Sequence[Mapping[str, Any]] = table("plan_tiles")["rows"]
    able = [row for row in rows if _fits(row["knobs"], found)]
    if found.z > 1:
        least = min(_covered(row, found.m) for row in able)
        able = [row for row in able if _covered(row, found.m) <= SPARE * least]
    reach = (LIMIT - 1) // (2 * max(found.n, found.k, ROWS_AHEAD if found.a_by_k else 1))
    m, n, k, turned = min(found.z * found.m, reach), found.n, found.k, (found.a_by_k, found.b_by_k)
    row = carried_row(able, m, n, k)
    choice = matmul_with(row, m, n, k, dtype, a_by_k=turned[0], b_by_k=turned[1], narrow=False)
    knobs = {**choice.knobs, **({"XM": 0} if found.z > 1 else {})}  # an XCD has all tiles of a matrix
    steps = " ".join(str(value) for name, value in (chain or {}).items() if name[0] == "S")
    shape: ShapeClass = {**shape_of(found), "longer": found.longer, "dtype": dtype, "steps": steps}
    default = {name: knobs[name] for name in TILE_KNOBS}
    taken = choices.take("product-tile", shape, default, lambda: tiles(found))
    if taken == default:
        return knobs
    row = {"kernel": "matmul", "knobs": taken}
    made = matmul_with(row, m, n, k, dtype, a_by_k=turned[0], b_by_k=turned[1], narrow=False)
    return dict(made.knobs)


def triangle_knobs(found: Factors, dtype: str) -> dict[str, KnobValue]:
    """The tile of a triangular result, by rule: the small one where the half that is kept leaves compute units idle."""
    large = -(-found.m // TRIANGLE_TILE["BM"]) * -(-found.n // TRIANGLE_TILE["BN"])
    row = {"kernel": "matmul", "knobs": TRIANGLE_TILE if large // 2 >= CUS else SMALL_TRIANGLE_TILE}
    m, n = (rounded(found.m), rounded(found.n)) if found.longer else (found.m, found.n)
    made = matmul_with(row, m, n, found.k, dtype, a_by_k=found.a_by_k, b_by_k=found.b_by_k, narrow=False)
    return dict(made.knobs)


def tiles(found: Factors) -> Iterator[Alternative]:
    """Every tile that the kernel takes at these sizes: the best form of each by the estimate, then the second forms."""
    made = sorted(_tiles(found), key=lambda tile: _estimate(tile, found))
    yield from varied((tile for tile in made if _fits(tile, found)), ("BM", "BN"))


def _tiles(found: Factors) -> Iterator[dict[str, KnobValue]]:
    for bm, bn, (wm, wn), inst in product(SIDES, SIDES, WAVES, (32, 16)):
        whole = bm % (wm * inst) == 0 and bn % (wn * inst) == 0
        if not whole or (found.a_by_k and not _turned(bm)) or (found.b_by_k and not _turned(bn)):
            continue
        for depth, stages in ((1, 1), (2, 1), (2, 2), (4, 2)):
            if (bm + bn) * LINE * stages > LDS or depth * (bm + bn) > 1024:
                continue
            down, across = -(-found.m // bm), -(-found.n // bn)
            maps = [xm for xm in (2, 4, 1, 8) if down % xm == 0 and across % (8 // xm) == 0 and found.z == 1]
            for xm in (*maps, 0):
                yield {
                    "BM": bm, "BN": bn, "WM": wm, "WN": wn, "INST": inst, "DEPTH": depth, "STAGES": stages,
                    "XM": xm, "GROUP": 1,
                }  # fmt: skip


def _turned(rows: int) -> bool:
    """Whether threads can turn a tile that is stored by k."""
    return rows in (64, 128, 256)


def _estimate(tile: Mapping[str, Any], found: Factors) -> tuple[float, ...]:
    """Work of the fullest compute unit; then plain preferences."""
    bm, bn = int(tile["BM"]), int(tile["BN"])
    count = found.z * -(-found.m // bm) * -(-found.n // bn)
    work = -(-count // CUS) * bm * bn * (1 + LOADED / bm + LOADED / bn)
    small = bm * bn <= 128 * 128
    usual = (int(tile["STAGES"]) == 2) == small and int(tile["DEPTH"]) == 1 + small
    xm = int(tile["XM"])
    read = found.m / xm + found.n * xm / 8 if xm else found.m + found.n  # rows of operands that an XCD reads
    return work, tile["INST"] == 16, not usual, read, tile["WM"] != tile["WN"]


def _covered(row: Mapping[str, Any], m: int) -> int:
    """Rows of all tiles over a matrix of m rows."""
    tile = int(row["knobs"]["BM"])
    return -(-m // tile) * tile


def _fits(knobs: Mapping[str, Any], found: Factors) -> bool:
    """Whether registers hold the addresses of a tile: single elements need one each."""
    along = [found.n, found.m if found.a_by_k else found.k, found.n if found.b_by_k else found.k]
    return math.gcd(8, *along) >= 4 or int(knobs["BM"]) * int(knobs["BN"]) <= NARROW_TILE


def split(planner: Planning, found: Factors) -> Alternative:
    """Into how many parts K is divided, and the tile of the parts."""
    count = -(-found.m // SPLIT_TILE["BM"]) * -(-found.n // SPLIT_TILE["BN"])
    parts = 1
    if count <= FEW_TILES and found.k >= LONG_K:
        parts = next((s for s in SPLITS if s * count >= CUS), SPLITS[-1])

    def admissible() -> Iterator[Alternative]:
        yield {"SPLITS": 1}
        for tile, each in product(({}, LARGE_SPLIT_TILE), SPLITS):
            able = each * ALIGNED * SPLIT_TILE["DEPTH"] <= found.k and 4 * each * found.m * found.n < planner.limit
            turned = _fits({**SPLIT_TILE, **tile}, found)
            if able and turned:
                yield {"SPLITS": each, **tile}

    return planner.choices.take("split-k", shape_of(found), {"SPLITS": parts}, admissible)


def copied_first(planner: Planning, found: Factors) -> bool:
    """Whether operands are copied to longer rows: by rule where elements would be loaded one by one, and often."""
    count = [-(-extent // SPLIT_TILE["BM"]) for extent in (found.m, found.n)]
    default = {"copied": found.width <= 2 and min(count) >= OFTEN}
    able = [{"copied": True}, {"copied": False}] if found.width < 16 and not found.longer else [default]
    taken = planner.choices.take("aligned-copies", shape_of(found), default, lambda: able)
    return bool(taken["copied"])

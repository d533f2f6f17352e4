"""Matrix products as the dispatcher chooses them, at the sizes they are made for: sampled workgroups against float64.

A few workgroups of the launch are executed (JIT); their tiles, found by an own account of the workgroup numbering, are
compared element by element with the product in float64 and the bound of f32 accumulation; tiles of other workgroups
must stay unwritten. Ragged shapes are drawn at random and computed whole.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus import machine, ops
from argus.compile.cache import compile_cached
from argus.device.guards import launch_grid
from argus.device.launch import scalar_values
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.choice import Choice, choose_matmul
from tests.kernels.running import PRODUCT, judged

BF16 = ml_dtypes.bfloat16
BLOCK = 1_000_003  # values that are drawn; a prime, so that no two rows are alike
LLAMA = ((8192, 8192), (10240, 8192), (28672, 8192), (8192, 28672))
DEEPSEEK = ((7168, 2048), (2048, 7168), (18432, 7168), (7168, 18432))
Shape = tuple[int, int, int]


def operand(rows: int, columns: int, seed: int) -> Any:
    drawn = np.random.default_rng(seed).standard_normal(BLOCK).astype(BF16)
    return np.resize(drawn, rows * columns).reshape(rows, columns)


def tile_of(knobs: Mapping[str, Any], m: int, n: int, number: int) -> tuple[int, int]:
    """Row and column of tiles of a workgroup, by the text of the documentation."""
    columns = -(-n // knobs["BN"])
    along, group, band = knobs["XM"], knobs.get("GROUP", 1), knobs.get("BAND", 0)
    if band:
        tiles = -(-m // (knobs["BM"] * band)) * band * columns
        xcd, turn = number % 8, number // 8
        at = xcd * (tiles // 8) + min(xcd, tiles % 8) + turn
        return at // (band * columns) * band + at % band, at // band % columns
    if not along:
        return number // columns, number % columns
    across = 8 // along
    xcd, turn = number % 8, number // 8
    in_group, turn = turn % group, turn // group
    wide = columns // across
    return (turn // wide * group + in_group) * along + xcd // across, turn % wide * across + xcd % across


def launch(choice: Choice, sizes: Mapping[str, int], arrays: Mapping[str, Any], workgroups: list[int]) -> None:
    kernel = read(choice.path, settings=dict(choice.knobs), kernel=choice.kernel)
    code = machine.load(compile_cached(scheduled(kernel)).object).kernel(kernel.name)
    values = [*(arrays[t.name] for t in kernel.tensors), *scalar_values(kernel, sizes, {})]
    code(launch_grid(kernel, sizes), kernel.threads, *values, executor="jit", workgroups=workgroups)


def check_tile(a: Any, b: Any, got: Any, rows: slice, columns: slice) -> None:
    """Elements of C (bf16) or of a sum of f32 parts against float64."""
    found = judged(got, PRODUCT, {"A": a[rows], "B": b[columns]})
    assert found.ok, found


def check_sampled(shape: Shape, count: int = 2) -> None:
    m, n, k = shape
    a, b = operand(m, k, 1), operand(n, k, 2)
    choice = choose_matmul(m, n, k, "bf16")
    knobs = choice.knobs
    bm, bn = int(knobs["BM"]), int(knobs["BN"])
    tiles = -(-m // bm) * -(-n // bn)
    numbers = random.Random(0).sample(range(tiles), min(tiles, count + 1))
    chosen, untouched = numbers[:count], numbers[count:]
    c = np.full((m, n), np.nan, BF16)
    arrays = {"A": a, "B": b, "C": c}
    parts = int(knobs["SPLITS"]) if choice.then else 1
    if choice.then:
        arrays["W"] = np.full((parts, m, n), np.nan, np.float32)
    workgroups = [part * tiles + number for part in range(parts) for number in chosen]
    launch(choice, {"M": m, "N": n, "K": k}, arrays, workgroups)
    for number in numbers:
        row, column = tile_of(knobs, m, n, number)
        rows, columns = slice(row * bm, row * bm + bm), slice(column * bn, column * bn + bn)
        got = arrays["W"][:, rows, columns].sum(0) if choice.then else c[rows, columns]
        if number in untouched:
            assert np.isnan(got.astype(np.float32)).all()
        else:
            check_tile(a, b, got, rows, columns)


@pytest.mark.parametrize("size", [1024, 2048, *(pytest.param(s, marks=pytest.mark.full) for s in (4096, 8192, 16384))])
def test_squares(size: int) -> None:
    check_sampled((size, size, size))


@pytest.mark.parametrize(
    "shape",
    [
        (16, 8192, 8192),
        *(
            pytest.param((m, n, k), marks=pytest.mark.full)
            for number, (n, k) in enumerate((*LLAMA, *DEEPSEEK))
            for m in ((1, 8, 64), (2, 33, 128))[number % 2]
        ),
    ],
    ids=str,
)
def test_shapes_of_language_models(shape: Shape) -> None:
    check_sampled(shape)


def ragged(count: int) -> list[Shape]:
    dice = random.Random(20)
    return [
        (int(2 ** dice.uniform(0, 9)), int(2 ** dice.uniform(0, 9)), int(2 ** dice.uniform(0, 10)))
        for _ in range(count)
    ]


def names(shape: Shape) -> str:
    return "x".join(map(str, shape))


@pytest.mark.parametrize("shape", ragged(20)[:2], ids=names)
def test_ragged_shapes(shape: Shape) -> None:
    """As compiled; the full run also has each of them proved."""
    m, n, k = shape
    a, b = operand(m, k, 3), operand(n, k, 4)
    choice = choose_matmul(m, n, k, "bf16")
    assert choice.then is None
    c = np.full((m, n), np.nan, BF16)
    tiles = -(-m // int(choice.knobs["BM"])) * -(-n // int(choice.knobs["BN"]))
    launch(choice, {"M": m, "N": n, "K": k}, {"A": a, "B": b, "C": c}, list(range(tiles)))
    check_tile(a, b, c, slice(0, m), slice(0, n))


@pytest.mark.full
@pytest.mark.parametrize("shape", ragged(20), ids=names)
def test_ragged_shapes_proved(shape: Shape) -> None:
    m, n, k = shape
    a, b = operand(m, k, 3), operand(n, k, 4)
    check_tile(a, b, ops.matmul(a, b, device="jit"), slice(0, m), slice(0, n))


HOSTILE = {
    "large": (2.0**60, 2.0**60),
    "small": (2.0**-60, 2.0**-50),
    "denormal": (2.0**-131, 2.0**120),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("knobs", [{"WK": 2, "WM": 2}, {}], ids=["direct", "staged"])
def test_hostile_magnitudes(kind: str, knobs: dict[str, Any]) -> None:
    m, n, k = 32, 40, 128
    left, right = HOSTILE[kind]
    a = (np.random.default_rng(5).standard_normal((m, k)) * left).astype(BF16)
    b = (np.random.default_rng(6).standard_normal((n, k)) * right).astype(BF16)
    a[:, 5] = -0.0
    c = np.full((m, n), np.nan, BF16)
    name = "matmul_direct" if knobs else "matmul"
    tiles = {"BM": 64, "BN": 64, **knobs}
    launch(Choice(name, name, tiles), {"M": m, "N": n, "K": k}, {"A": a, "B": b, "C": c}, [0])
    assert np.abs(c.astype(np.float64)).max() > 0
    check_tile(a, b, c, slice(0, m), slice(0, n))

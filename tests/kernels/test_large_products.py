"""Products whose operands and results have 2 GiB and more: sampled workgroups against float64.

Tensors are mapped, not filled: the rows of the sampled tiles get values, everything else is zero. The tiles lie at both
ends of the result and around 2 and 4 GiB of A and of C; what they would hit modulo 2^31 or 2^32 must stay zero.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.ops.choice import KERNELS, choose_matmul
from tests.compile.test_large_tensors import Run
from tests.kernels.running import PRODUCT, judged

BF16 = ml_dtypes.bfloat16
GIB = 1 << 30
STAGED: dict[str, Any] = {"BM": 256, "BN": 128, "INST": 32, "XM": 0}
DIRECT: dict[str, Any] = {"BM": 64, "BN": 64, "WK": 2, "WM": 2, "TOGETHER": True}


def as_values(words: Any) -> Any:
    """Memory of a tensor of two bytes as bf16."""
    return words.view(BF16)


@pytest.mark.parametrize(
    ("file", "knobs"),
    [
        pytest.param("matmul", STAGED, id="staged"),
        pytest.param("matmul", {**STAGED, "A_T": True}, id="stored-by-k"),
        pytest.param("matmul_direct", {**DIRECT, "BAND": 1}, id="direct"),
        pytest.param("matmul_direct", {**DIRECT, "KTAIL": True}, id="tail"),
    ],
)
def test_eight_gib_of_rows(file: str, knobs: dict[str, Any]) -> None:
    """A has 8 GiB and C 4 GiB, or a little less: M and N are ragged."""
    m, n, k = (1 << 20) - 24, 2040, 4104 if knobs.get("KTAIL") else 4096
    run = Run(scheduled(read(KERNELS / f"{file}.py", settings=knobs, kernel=file)), {"M": m, "N": n, "K": k})
    bm, bn = knobs["BM"], knobs["BN"]
    dice = np.random.default_rng(7)
    b = dice.standard_normal((n, k)).astype(BF16)
    as_values(run.at("B", 0, n * k))[:] = b.reshape(-1)
    rows, columns = -(-m // bm), -(-n // bn)
    bounds = [share * GIB // (2 * width) // bm for share, width in ((2, k), (4, k), (2, n))]
    sampled = sorted({0, rows - 1, *bounds, *(bound + 1 for bound in bounds)})
    values = {}
    for row in sampled:
        here = min(bm, m - row * bm)
        values[row] = dice.standard_normal((here, k)).astype(BF16)
        if knobs.get("A_T"):
            for at in range(k):
                as_values(run.at("A", at * m + row * bm, here))[:] = values[row][:, at]
        else:
            as_values(run.at("A", row * bm * k, here * k))[:] = values[row].reshape(-1)
    tiles = [(row, column) for row in sampled for column in (0, columns - 1)]
    if knobs.get("BAND"):
        run.run([number_in_bands(row * columns + column, rows * columns) for row, column in tiles])
    else:
        run.run([(column, row) for row, column in tiles])
    for row, column in tiles:
        wide = slice(column * bn, min(n, column * bn + bn))
        lines = range(row * bm, row * bm + len(values[row]))
        got = np.stack([as_values(run.at("C", line * n + wide.start, wide.stop - wide.start)) for line in lines])
        found = judged(got, PRODUCT, {"A": values[row], "B": b[wide]})
        assert found.ok, (row, column, found)
    for row, column in tiles:
        for apart in (GIB, 2 * GIB):  # elements of two bytes from a place to the one it would be modulo 2^31 or 2^32
            start = (row * bm * n + column * bn + apart) % (m * n - bn)
            line, at = divmod(start, n)
            if line // bm not in sampled and (line + 1) // bm not in sampled:
                assert not run.at("C", start, min(bn, n - at)).any()


def number_in_bands(tile: int, tiles: int) -> tuple[int]:
    """The workgroup that computes a tile, counted row by row: XCD x has the x-th run of neighbors."""
    each, more = divmod(tiles, 8)
    starts = [xcd * each + min(xcd, more) for xcd in range(8)]
    xcd = max(x for x in range(8) if starts[x] <= tile)
    return ((tile - starts[xcd]) * 8 + xcd,)


def test_the_dispatcher_takes_them() -> None:
    """The largest product of hipBLASLt's table: A has 32 GiB, C 28 GiB."""
    choice = choose_matmul(2097152, 7168, 8192, "bf16")
    assert choice.then is None
    kernel = read(Path(choice.path), settings=dict(choice.knobs), kernel=choice.kernel)
    assert Run(scheduled(kernel), {"M": 2097152, "N": 7168, "K": 8192}).starts

"""Transformations of kernels whose lanes make results of their own: pooling and maps; and sums of everything.

Each is proved by the checker on the program as it is scheduled, and executed beside numpy.
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.agent.lower import NotApplicableError
from argus.compile.cache import compile_cached
from argus.device.simulated import CheckingDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from tests.agent.executed import Step, lowered, status

VECTORS: Step = ("result-vectors", {"bytes": 16})
ROWS: Step = ("result-rows", {"rows": 4})
PIECES: Step = ("tap-pieces", {"bytes": 16})
SHARED: Step = ("shared-rows", {"rows": 2, "depth": 2})
DEEP: Step = ("result-rows", {"rows": 2, "depth": 2})


def executed(text: str, sizes: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
    """One launch; the machine reports nothing."""
    kernel = read(text)
    outcome = CheckingDevice().launch(kernel, compile_cached(scheduled(kernel)).object, sizes, arrays, {})
    assert not outcome.reports


@pytest.mark.parametrize("steps", [(), (VECTORS,), (ROWS,), (VECTORS, DEEP), (DEEP, VECTORS)])
def test_maxima_of_windows(steps: tuple[Step, ...]) -> None:
    text = lowered("pooling", *steps)
    assert status(text) == "proved"
    image = np.random.default_rng(1).standard_normal((2, 6, 258)).astype(np.float32)
    strides = tuple(4 * n for n in (6 * 258, 258, 1, 258, 1))
    windows = np.lib.stride_tricks.as_strided(image, (2, 4, 256, 3, 3), strides)
    y = np.empty((2, 4, 256), np.float32)
    executed(text, {"Z": 2, "P": 4, "Q": 256, "sZ": 6 * 258, "sP": 258, "sR": 258}, {"X": windows, "Y": y})
    assert np.array_equal(y, windows.max((3, 4)))


@pytest.mark.parametrize("steps", [(), (PIECES,), (PIECES, ROWS), (PIECES, SHARED)])
def test_a_depthwise_convolution(steps: tuple[Step, ...]) -> None:
    """Whole numbers of few bits: every sum is exact."""
    text = lowered("depthwise", *steps)
    assert status(text) == "proved"
    dice = np.random.default_rng(5)
    x, f = (dice.integers(-4, 5, shape).astype(np.float32) for shape in ((1, 2, 8, 256), (2, 3, 3)))
    y = np.empty_like(x)
    executed(text, {"B": 1, "C": 2, "IH": 8, "IW": 256, "OH": 8, "OW": 256}, {"X": x, "F": f, "Y": y})
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = sum(padded[:, :, r : r + 8, s : s + 256] * f[:, r, s, None, None] for r, s in np.ndindex(3, 3))
    assert np.array_equal(y, want)


def test_a_row_of_the_image_is_loaded_once() -> None:
    text = lowered("depthwise", PIECES, SHARED)
    assert text.count("X[b, c, p + row - 1, CHUNK * bq - 4].load(IN, width=16") == 1
    assert "for row in range(DEPTH + 2):" in text


@pytest.mark.parametrize("steps", [(VECTORS,), (ROWS, VECTORS), (VECTORS, DEEP)])
def test_a_map_with_numbers_per_channel(steps: tuple[Step, ...]) -> None:
    text = lowered("broadcast", *steps)
    assert status(text) == "proved"
    dice = np.random.default_rng(2)
    x, f, s = (dice.standard_normal(shape).astype(np.float32) for shape in ((2, 4, 256), (4,), (4,)))
    y = np.empty_like(x)
    executed(text, {"A": 2, "B": 4, "C": 256}, {"X": x, "F": f, "S": s, "Y": y})
    inner = x.astype(np.float64) * f[:, None] + s[:, None]
    np.testing.assert_allclose(y, inner / (1 + np.exp(-inner)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [(), (("row-vectors", {"per_lane": 4}), ("rows-per-workgroup", {"rows": 2}))])
def test_cumulative_sums(steps: tuple[Step, ...]) -> None:
    text = lowered("scan", *steps)
    assert status(text) == "proved"
    x = np.random.default_rng(3).integers(-9, 10, (4, 512)).astype(np.float32)
    y = np.empty_like(x)
    executed(text, {"M": 4, "N": 512}, {"X": x, "Y": y})
    assert np.array_equal(y, np.cumsum(x, 1))


@pytest.mark.parametrize("steps", [(), (("row-vectors", {"per_lane": 4}), ("waves-per-row", {"waves": 4}))])
def test_the_sum_of_everything_is_written_once(steps: tuple[Step, ...]) -> None:
    text = lowered("reduction", *steps)
    assert status(text) == "proved"
    x = np.random.default_rng(4).integers(-9, 10, (1, 2048)).astype(np.float32)
    total = np.empty(1, np.float32)
    executed(text, {"M": 2048}, {"P": x, "L": total})
    assert total[0] == x.sum()


def test_results_that_are_no_neighbors_in_memory_are_loaded_singly() -> None:
    """Windows two columns apart: four results of a lane, 4 bytes per load, 16 per store."""
    strided = lowered("pooling").replace("sZ sP 1 sR 1", "sZ sP 2 sR 1")
    text = lowered(strided, VECTORS)
    assert "load(OUT, width=4)" in text
    assert "store(top, width=16)" in text
    assert status(text) == "proved"


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("pooling", (VECTORS, VECTORS)),
        ("pooling", (ROWS, ROWS)),
        ("softmax", (VECTORS,)),
        ("gemm", (ROWS,)),
        ("depthwise", (VECTORS,)),
        ("depthwise", (SHARED,)),
        ("depthwise", (PIECES, PIECES)),
        ("depthwise", (PIECES, SHARED, SHARED)),
        ("broadcast", (PIECES,)),
        ("pooling", (SHARED,)),
        ("softmax", (SHARED,)),
    ],
)
def test_it_has_no_place_elsewhere(task: str, steps: tuple[Step, ...]) -> None:
    with pytest.raises(NotApplicableError):
        lowered(task, *steps)

"""`conv2d` against a convolution written as loops in float64, and what it refuses at a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argus.check import check
from argus.device.guards import LaunchRefused, check_sizes
from argus.ir.passes.schedule import scheduled
from tests.kernels.running import TYPES, kernel_of, run

SMALL: dict[str, Any] = {"ROWS": 8, "BO": 64, "BK": 16}
SETS = (
    ({"R": 3, "P": 1}, (2, 24, 9, 17, 70)),
    ({"R": 1, "P": 0, "S": 2}, (1, 8, 5, 33, 3)),
    ({"R": 2, "P": 1, "S": 3, "D": 2}, (1, 40, 11, 4, 65)),
    ({"R": 5, "P": 2, "S": 2, "WIDTH": 2}, (2, 3, 18, 3, 9)),
    ({"R": 3, "P": 4, "D": 4, "WIDTH": 4}, (1, 18, 2, 20, 64)),
)


def sizes_of(knobs: dict[str, Any], images: tuple[int, ...]) -> dict[str, int]:
    n, c, h, w, o = images
    r, s, d, p = (knobs.get(name, 1) for name in "RSDP")
    high, wide = ((size + 2 * p - d * (r - 1) - 1) // s + 1 for size in (h, w))
    return {"N": n, "C": c, "H": h, "W": w, "O": o, "OH": high, "OW": wide}


def convolved(x: np.ndarray, k: np.ndarray, knobs: dict[str, Any], high: int, wide: int) -> np.ndarray:
    """Pixel by pixel, tap by tap; weights as O R R C."""
    r, s, d, p = (knobs.get(name, 1) for name in "RSDP")
    padded = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
    made = np.zeros((len(x), len(k), high, wide))
    for at in np.ndindex(high, wide, r, r):
        pixel = padded[:, :, s * at[0] + d * at[2], s * at[1] + d * at[3]]
        made[:, :, at[0], at[1]] += pixel @ k[:, at[2], at[3]].T
    return made


@pytest.mark.parametrize(("knobs", "images"), SETS)
def test_results(knobs: dict[str, Any], images: tuple[int, ...]) -> None:
    """Whole numbers of few bits: every sum is exact in f32."""
    kernel, sizes = kernel_of("conv2d", "conv2d", {**SMALL, **knobs}), sizes_of(knobs, images)
    dice, taps = np.random.default_rng(3), knobs.get("R", 1)
    x = dice.integers(-4, 5, [sizes[a] for a in "NCHW"]).astype(TYPES["bf16"])
    k = dice.integers(-4, 5, (sizes["O"], taps, taps, sizes["C"])).astype(TYPES["bf16"])
    y = np.full([sizes[a] for a in ("N", "O", "OH", "OW")], np.nan, TYPES["bf16"])
    run(kernel, sizes, {"X": x, "K": k, "Y": y}, checked=False)
    wanted = convolved(x.astype(np.float64), k.astype(np.float64), knobs, sizes["OH"], sizes["OW"])
    assert np.array_equal(y, wanted.astype(TYPES["bf16"]))


@pytest.mark.parametrize(
    "knobs",
    [
        {**SMALL, "R": 2},
        {**SMALL, "R": 2, "S": 2},
        *(pytest.param({**SMALL, **knobs}, marks=pytest.mark.full) for knobs, _ in SETS),
        pytest.param({}, marks=pytest.mark.full),
        pytest.param({"R": 7, "S": 2, "P": 3, "ROWS": 8, "BK": 16}, marks=pytest.mark.full),
    ],
)
def test_proved(knobs: dict[str, Any]) -> None:
    report = check(scheduled(kernel_of("conv2d", "conv2d", knobs)))
    assert all(verdict.status == "proved" for verdict in report.verdicts), report.render()


@pytest.mark.parametrize(
    ("name", "value"), [("OH", 8), ("OH", 10), ("OW", 16), ("H", 0), ("C", 0), ("O", -1), ("N", 0), ("C", 23)]
)
def test_refused(name: str, value: int) -> None:
    knobs = {"R": 3, "P": 1}
    sizes = {**sizes_of(knobs, (2, 24, 9, 17, 70)), name: value}
    with pytest.raises(LaunchRefused):
        check_sizes(kernel_of("conv2d", "conv2d", knobs), sizes)


def test_a_window_larger_than_the_padded_input_is_refused() -> None:
    knobs = {"R": 7, "P": 1, "BK": 16}
    with pytest.raises(LaunchRefused):
        check_sizes(kernel_of("conv2d", "conv2d", knobs), {**sizes_of(knobs, (1, 8, 4, 40, 8)), "OH": 1})

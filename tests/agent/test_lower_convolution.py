"""Transformations of a convolution over channels: each is proved as it is scheduled, and executed beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

from argus.agent.lower import NotApplicableError
from argus.agent.selector import closure
from argus.knowledge import load, matching
from tests.agent.executed import Step, lowered, run, status

BLOCKS: Step = ("pixel-blocks", {"rows": 4, "cols": 64, "waves": 4})
SMALLER: Step = ("pixel-blocks", {"rows": 2, "cols": 32, "waves": 2})
CHANNELS: Step = ("channel-blocks", {"slices": 2})
STORES: Step = ("vector-stores", {})
HALO: Step = ("halo-staging", {"swizzle": True})
FETCH: Step = ("halo-prefetch", {})
TAPS: Step = ("tap-pipeline", {"weights": 2})
STAGED = (BLOCKS, CHANNELS, STORES, HALO)


def convolves(text: str, channels: int, height: int, width: int, out: int) -> bool:
    """Whether a kernel convolves an image with 3 x 3 taps. Whole numbers of few bits: sums and results are exact."""
    dice = np.random.default_rng(5)
    x = dice.integers(-1, 2, (1, channels, height, width)).astype(np.float64)
    k = dice.integers(-1, 2, (out, 3, 3, channels)).astype(np.float64)
    k[:, :, :, 8:] = 0
    sizes = {"N": 1, "C": channels, "IH": height, "IW": width, "O": out, "OH": height, "OW": width}
    got = run(text, sizes, {"X": x, "K": k}, "Y", (1, out, height, width))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = np.ndindex(3, 3)
    want = sum(np.einsum("nchw,oc->nohw", padded[:, :, r : r + height, s : s + width], k[:, r, s]) for r, s in taps)
    return bool(np.array_equal(got, want))


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (STORES,),
        (CHANNELS,),
        (SMALLER, CHANNELS),
        (CHANNELS, SMALLER, STORES),
        STAGED,
        (*STAGED, FETCH),
        (*STAGED, FETCH, TAPS),
        (*STAGED, TAPS, FETCH),
        (SMALLER, ("channel-blocks", {"slices": 1}), HALO, ("tap-pipeline", {"weights": 3})),
    ],
)
def test_a_convolution_over_channels(steps: tuple[Step, ...]) -> None:
    text = lowered("convolution", *steps)
    assert status(text) == "proved"
    assert convolves(text, 32, 4, 64, 128)


@pytest.mark.parametrize("axes", ["grid", "all"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), (STORES,)),
        ((), (SMALLER, CHANNELS)),
        ((), (CHANNELS, SMALLER, STORES)),
        (STAGED[:3], (HALO,)),
        (STAGED, (FETCH,)),
        (STAGED, (TAPS,)),
    ],
)
def test_padding_stays_guarded_where_sizes_are_ragged(
    axes: str, before: tuple[Step, ...], after: tuple[Step, ...]
) -> None:
    """40 output channels: no block divides them. Every step after `range-guards` keeps the guard of the image."""
    text = lowered("convolution", *before, ("range-guards", {"axes": axes}), *after)
    assert status(text) == "proved"
    assert convolves(text, 32, 4, 64, 40)


def test_the_halo_is_loaded_once_for_all_taps() -> None:
    """4 x 64 pixels and a window of 3 x 3: six rows, and ten accesses of eight pixels that begin at multiples of 16
    bytes."""
    text = lowered("convolution", *STAGED)
    assert text.count("X[n, BLOCK_C * kt, ROWS * bp - 1, COLS * bq - 8].load(FILL, width=16") == 1
    assert "HEIGHT = 6\nPIECES = 10\n" in text


def test_other_names_and_another_window() -> None:
    """5 x 3 taps with another padding, operands the other way round."""
    text = (
        lowered("convolution")
        .replace("KH=3", "KH=5")
        .replace("p + r - 1", "p + r - 2")
        .replace("range(3)", "range(5)", 1)
        .replace("kt", "turn")
        .replace("acc", "sums")
        .replace(".sums(", ".acc(")
    )
    steps = (("pixel-blocks", {"rows": 2, "cols": 32, "waves": 2}), CHANNELS, STORES, HALO, FETCH, TAPS)
    found = lowered(text, *steps)
    assert "HEIGHT = 6\nPIECES = 6\n" in found
    assert status(found) == "proved"


@pytest.mark.parametrize("name", ["halo-prefetch", "tap-pipeline"])
def test_the_last_steps_bring_everything_before_them(name: str) -> None:
    names = [entry.id for entry in closure(load()[name], (), load())]
    assert {"pixel-blocks", "channel-blocks", "vector-stores", "halo-staging"} <= set(names)
    assert {entry.id for entry in matching(family="convolution")} >= {name, *names} - {"register-blocking"}


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("convolution", (BLOCKS, BLOCKS)),
        ("convolution", (CHANNELS, CHANNELS)),
        ("convolution", (HALO,)),
        ("convolution", (*STAGED, HALO)),
        ("convolution", (*STAGED, FETCH, FETCH)),
        ("convolution", (*STAGED, TAPS, TAPS)),
        ("convolution", (BLOCKS, TAPS)),
        ("convolution", (("pixel-blocks", {"rows": 2, "cols": 48, "waves": 2}),)),
        ("gemm", (BLOCKS,)),
        ("gemm", (HALO,)),
        ("depthwise", (CHANNELS,)),
        ("softmax", (TAPS,)),
        ("attention", (FETCH,)),
    ],
)
def test_it_has_no_place_elsewhere(task: str, steps: tuple[Step, ...]) -> None:
    with pytest.raises(NotApplicableError):
        lowered(task, *steps)

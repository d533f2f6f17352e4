"""Smaller sizes for a task, and inputs with structure.

    aligned("dim", 16384)   -> 64       as many powers of two as are needed for whole accesses
    compact("height", 64)   -> 16       the same for images, where 64 would be too many elements
    shrunk("height", 64)    -> 64       the same, where a module needs its 32 or 64 as it is
    ragged("dim", 16384)    -> 33       remainders at tiles, accesses and steps

Sizes up to 16, windows, strides and padding stay what they are, so that padding and remainders of windows are those of
the task. Equal sizes stay equal. A module that does not allow ragged sizes (groups of channels) is
judged at the aligned ones alone.

Ordinary random numbers let wrong kernels pass. `structured` draws rows with an offset, zeros, and several equal maxima;
it leaves inputs alone that are not free: probabilities (rows that add up to one), signs, and whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

KEPT = ("kernel", "stride", "pad", "dilation", "pool", "reduce_dim", "axis")
"""Parts of names whose numbers are not extents."""
GROUPS = 8
"""The most groups of channels, where there are a multiple of them: a group keeps several channels."""
SMALL = 16
CHANNELS = ("channel", "feature", "shape")
"""Parts of names whose numbers are channels: those of a bias's shape are, too."""

Sizes = Callable[[str, int], int]


def aligned(name: str, value: int) -> int:
    if "group" in name:
        return GROUPS if value % GROUPS == 0 else value
    if value <= SMALL or any(part in name for part in KEPT):
        return value
    return 64 if value % 64 == 0 else 32 if value % 32 == 0 else SMALL + value % SMALL


def compact(name: str, value: int) -> int:
    """Aligned, with one or two images of few pixels."""
    if "batch" in name:
        return min(value, 2)
    found = aligned(name, value)
    if "group" in name or any(part in name for part in KEPT):
        return found
    return min(found, 32 if any(part in name for part in CHANNELS) else SMALL)


def shrunk(name: str, value: int) -> int:
    """Compact, but for extents that are aligned already."""
    return value if "batch" not in name and aligned(name, value) == value else compact(name, value)


def ragged(name: str, value: int) -> int:
    if "group" in name or value <= SMALL or any(part in name for part in KEPT):
        return value
    return 17 + 2 * (value * 7 % 11)


def ragged_shrunk(name: str, value: int) -> int:
    """Ragged, with one or two images of few pixels."""
    if "batch" in name:
        return min(value, 2)
    return min(ragged(name, value), SMALL + 3)


VARIANTS: Mapping[str, tuple[Sizes, ...]] = {
    "aligned": (aligned, compact, shrunk),
    "ragged": (ragged, ragged_shrunk),
}
"""Reductions each: the second where the first leaves too much, and the next where the module does not allow it."""
ENOUGH = 1 << 18
"""Elements of all inputs above which the second is taken."""


def structured(values: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Numbers of the same shape with offsets, zeros and ties; the values themselves where they are not free."""
    if values.size < 2 or not is_free(values):
        return values
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(values.shape)
    made = made + rng.choice([0.0, 4.0, -4.0], size=(*values.shape[:-1], 1))
    made = np.where(rng.random(values.shape) < 0.1, 0.0, made)
    top = made.max(-1, keepdims=True)
    return np.asarray(np.where(rng.random(values.shape) < 0.05, top, made))


def is_free(values: npt.NDArray[np.float64]) -> bool:
    """Whether the values are no probabilities, signs or whole numbers."""
    if np.array_equal(values, np.round(values)):
        return False
    totals = values.sum(-1)
    return not (values.min() >= 0 and np.allclose(totals, 1.0, atol=1e-3))

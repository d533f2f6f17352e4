"""Inputs that exist where somebody asks for them: an element is a function of seed, buffer and place.

    draw = DrawnBuffer("x", seed=0, kind="structured", row=4096)
    draw.real(np.array([7, 1 << 40]))           the same two numbers whoever asks, and when

A counter-based hash (splitmix64), so that no tensor has to be made to know one of its elements. Ordinary random numbers
let wrong kernels pass:

    structured      about normal; every row has an offset of 0, 4 or -4; a tenth are zeros; a twentieth are the row's
                    largest number, several times
    positive        the same, above 1/4: for logarithms, roots and divisors
    whole           -2 to 1, two fifths of them zeros: sums of these are exact (`exact_sums`)
    near one        1 + a hundredth of a normal number, of both signs, seldom zero: long products stay in range
    small           structured, over 64: where a long sum goes into an exponential, whose error bound would overflow
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]
DrawKind = Literal["structured", "positive", "whole", "near one", "small"]

GOLDEN = 0x9E3779B97F4A7C15
OFFSETS = np.array([0.0, 4.0, -4.0])
TOP = 2.5
"""The largest number of a row, before its offset; what is larger is cut to it."""
ZEROS, TOPS = 26, 26 + 13
"""Of 256 elements: the first are zeros, those up to the second the row's largest number."""
WHOLE = np.array([-2.0, -1.0, 0.0, 0.0, 1.0])
LARGEST_WHOLE = 2
SMALL = 1 / 64
SPREAD = 65536 * (4 / 12) ** 0.5
"""Standard deviation of the sum of four numbers of 16 bits."""


@dataclass(frozen=True, slots=True)
class DrawnBuffer:
    """`row`: elements that share an offset and a largest number."""

    name: str
    seed: int
    kind: DrawKind = "structured"
    row: int = 1024

    def real(self, places: Places) -> Reals:
        """Numbers of the kind."""
        hashes = self._hashes(places, 0)
        if self.kind == "whole":
            return WHOLE[(hashes % np.uint64(len(WHOLE))).astype(np.int64)]
        normal = _normal(hashes)
        chosen = (hashes * np.uint64(0xD1342543DE82EF95)) >> np.uint64(56)
        if self.kind == "near one":
            sign = np.where(chosen & np.uint64(1), -1.0, 1.0)
            seldom = (hashes & np.uint64(0xFFFF)) == np.uint64(0)
            return np.where(seldom, 0.0, sign * (1.0 + 0.01 * normal))
        offset = OFFSETS[(self._hashes(places // self.row, 1) % np.uint64(3)).astype(np.int64)]
        values = np.where(chosen < np.uint64(TOPS), TOP, np.minimum(normal, TOP))
        if self.kind == "positive":
            return np.asarray(np.abs(values) + 0.25 + np.maximum(offset, 0.0))
        structured = np.where(chosen < np.uint64(ZEROS), 0.0, values + offset)
        return structured * SMALL if self.kind == "small" else structured

    def whole(self, places: Places, low: int, high: int) -> Places:
        """Numbers from `low` to `high`, all as likely."""
        return (self._hashes(places, 0) % np.uint64(high - low + 1)).astype(np.int64) + low

    def _hashes(self, places: Places, stream: int) -> Hashes:
        key = zlib.crc32(f"{self.seed} {self.name} {stream}".encode())
        with np.errstate(over="ignore"):
            x = (places.astype(np.uint64) + np.uint64(key << 32 | key)) * np.uint64(GOLDEN)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return x ^ (x >> np.uint64(31))


def _normal(hashes: Hashes) -> Reals:
    """About normal, from -3.5 to 3.5: the sum of four numbers of 16 bits, and 24 bits below them."""
    low = np.uint64(0xFFFF)
    total = np.zeros(hashes.shape)
    for shift in (0, 16, 32, 48):
        total += ((hashes >> np.uint64(shift)) & low).astype(np.float64)
    below = ((hashes * np.uint64(GOLDEN)) >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return np.asarray((total + below - 2 * 65535.0 - 0.5) / SPREAD)

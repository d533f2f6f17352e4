"""Axes of a chart as SVG: ticks at round numbers, grid, labels.

    x = Scale(0.1, 1000, 60, 800, log=True)
    x.at(10)         -> 430.0                  the place of a number
    x.ticks()        -> [0.1, 1, 10, 100, 1000]
    Frame(x, y).svg("FLOP per byte", "TFLOPS")

A logarithmic scale of few decades has ticks within them, too. Numbers outside the range are drawn at its end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

FACTORS = ((3.0, (1,)), (1.2, (1, 2, 5)), (0.0, (1, 1.5, 2, 3, 4, 5, 7)))
"""Ticks within a decade, by how many decades a logarithmic axis has."""
STEPS = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers `low` to `high` at the places `start` to `end` (which may run downward); `whole`: no ticks between."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    def at(self, number: float) -> float:
        if self.log:
            share = math.log(max(number, 1e-300) / self.low) / math.log(self.high / self.low)
        else:
            share = (number - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Round numbers within the range."""
        if not self.log:
            return self._even()
        decades = math.log10(self.high / self.low)
        factors = next(found for least, found in FACTORS if decades > least)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        found = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        kept = [value for value in found if self._holds(value)]
        return kept if len(kept) > 2 else self._even()

    def _even(self) -> list[float]:
        rough = max((self.high - self.low) / STEPS, 1 if self.whole else 0)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
        return [step * n for n in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)]

    def _holds(self, value: float) -> bool:
        return self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Frame:
    """A horizontal and a vertical scale, drawn."""

    x: Scale
    y: Scale

    def svg(self, x_title: str, y_title: str) -> str:
        """Grid, axes, ticks with numbers, and titles; `y` runs upward, so its start is the bottom."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        parts = []
        for value in self.x.ticks():
            at = self.x.at(value)
            parts.append(
                f'<path class=grid d="M{at:.1f} {top:.1f}V{bottom:.1f}"/>'
                f'<path class=axis d="M{at:.1f} {bottom:.1f}v5"/>'
                f'<text x="{at:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{tick_text(value)}</text>'
            )
        for value in self.y.ticks():
            at = self.y.at(value)
            parts.append(
                f'<path class=grid d="M{left:.1f} {at:.1f}H{right:.1f}"/>'
                f'<path class=axis d="M{left:.1f} {at:.1f}h-5"/>'
                f'<text x="{left - 9:.1f}" y="{at + 4:.1f}" text-anchor="end">{tick_text(value)}</text>'
            )
        middle, center = (left + right) / 2, (bottom + top) / 2
        parts.append(
            f'<path class=axis d="M{left:.1f} {top:.1f}V{bottom:.1f}H{right:.1f}"/>'
            f'<text class=title x="{middle:.1f}" y="{bottom + 38:.1f}" text-anchor="middle">{escape(x_title)}</text>'
            f'<text class=title transform="translate({left - 50:.1f} {center:.1f}) rotate(-90)" '
            f'text-anchor="middle">{escape(y_title)}</text>'
        )
        return "".join(parts)


def tick_text(value: float) -> str:
    """A tick's number: 0.1, 20, 5000, 20k, 2M."""
    for limit, letter in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e6 if letter == 'M' else 1e3):g}{letter}"
    return f"{value:.6g}"

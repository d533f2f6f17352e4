"""The roofline of a launch as SVG: work per byte of memory against TFLOPS, with the roofs at the stated clock.

Roofs: HBM bandwidth, and the matrix cores' peaks in fp8, bf16 and f32. Both axes are logarithmic. The point is the
launch as it is timed, at the clock it sustains; the bracket above it is what its roof would allow at the same work per
byte.
"""

from __future__ import annotations

import math

from argus.clock.launch import Launch
from argus.clock.parameters import PARAMETERS
from argus.gfx942 import chip
from argus.report.axes import Frame, Scale

WIDTH, HEIGHT = 960, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 20, 346
ELEMENTS = ("fp8", "bf16", "f32")


def roofline(launch: Launch) -> str:
    """The chart, or why there is none."""
    held = launch.sustained
    if not held.tflops or not launch.hbm_bytes:
        return (
            "<p>No matrix work or no memory traffic is known of this launch, so there is no roofline. "
            "The limits below say how near it is to each.</p>"
        )
    intensity = held.tflops * held.microseconds * 1e6 / launch.hbm_bytes
    bandwidth = PARAMETERS["hbm_bandwidth"] * 1e-3
    peaks = {element: chip.matrix_peak_tflops(element, launch.clock_mhz) for element in ELEMENTS}
    x = Scale(min(0.1, _decade(intensity, -1)), max(1e4, 10 * _decade(intensity, 1)), LEFT, WIDTH - RIGHT, log=True)
    y = Scale(min(0.1, _decade(held.tflops, -1)), 5000, BOTTOM, TOP, log=True)
    parts = [Frame(x, y).svg("FLOP per byte of memory", "TFLOPS")]
    for element, peak in peaks.items():
        ridge = peak / bandwidth
        parts.append(f'<path class=roof d="M{x.at(ridge):.1f} {y.at(peak):.1f}H{x.end:.1f}"/>')
        parts.append(
            f'<text x="{x.end - 4:.1f}" y="{y.at(peak) - 5:.1f}" text-anchor="end">'
            f"{element} matrix peak {peak:.0f}</text>"
        )
    top = max(peaks.values())
    low = max(x.low, y.low / bandwidth)
    parts.append(
        f'<path class=roof d="M{x.at(low):.1f} {y.at(low * bandwidth):.1f}'
        f'L{x.at(top / bandwidth):.1f} {y.at(top):.1f}"/>'
    )
    slope = math.degrees(math.atan2(y.at(top) - y.at(low * bandwidth), x.at(top / bandwidth) - x.at(low)))
    middle = math.sqrt(low * top / bandwidth) / 3
    parts.append(
        f'<text transform="translate({x.at(middle):.1f} {y.at(middle * bandwidth) - 7:.1f}) rotate({slope:.1f})" '
        f'text-anchor="middle">HBM {bandwidth:.2f} TB/s</text>'
    )
    roof = min(intensity * bandwidth, peaks[launch.element] if launch.element in peaks else max(peaks.values()))
    at, height = x.at(intensity), y.at(held.tflops)
    parts.append(
        f'<path class=gap d="M{at:.1f} {height:.1f}V{y.at(roof):.1f}"/>'
        f'<circle class=point cx="{at:.1f}" cy="{height:.1f}" r="6"/>'
        f'<text class=said x="{at + 12:.1f}" y="{height - 2:.1f}">{held.tflops:.1f} TFLOPS, '
        f"{100 * held.tflops / roof:.0f} % of its roof</text>"
        f'<text class=note x="{at + 12:.1f}" y="{height + 14:.1f}">at {intensity:.1f} FLOP/B</text>'
    )
    label = f"roofline: {held.tflops:.1f} TFLOPS at {intensity:.1f} FLOP per byte"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _decade(value: float, step: int) -> float:
    """The power of ten at or beyond a value, on that side."""
    power = math.log10(value)
    return 10.0 ** (math.ceil(power) if step > 0 else math.floor(power))

"""The trajectory of a run as SVG: every candidate over the evaluations, on a logarithmic time axis.

Points are candidates that passed, crosses those that did not (at the height of their parent), the line is the best so
far, dashed lines are the roofline and whatever else is given for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from argus.agent.journal.lineage import JournalCandidate

WIDTH, HEIGHT = 860, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 12, 34


def trajectory(candidates: Sequence[JournalCandidate], marks: Mapping[str, float]) -> str:
    """The plot; `marks` are named times in microseconds."""
    times = [c.microseconds for c in candidates if c.microseconds is not None]
    if not times:
        return "<p>Nothing passed, so there is nothing to plot.</p>"
    low = math.log(min([*times, *marks.values()])) - 0.1
    high = math.log(max(times)) + 0.1

    def x(number: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * number / max(1, len(candidates) - 1)

    def y(time: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log(time)) / (high - low)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="time of the candidates over the evaluations">'
    ]
    parts += [
        f'<line class="frame" x1="{LEFT}" y1="{y(t):.1f}" x2="{WIDTH - RIGHT}" y2="{y(t):.1f}" opacity=".25"/>'
        f'<text x="{LEFT - 6}" y="{y(t) + 4:.1f}" text-anchor="end">{t:g} µs</text>'
        for t in _ticks(math.exp(low), math.exp(high))
    ]
    for name, time in marks.items():
        parts.append(
            f'<line class="roof" x1="{LEFT}" y1="{y(time):.1f}" x2="{WIDTH - RIGHT}" y2="{y(time):.1f}" '
            f'stroke-dasharray="5 4"/><text x="{WIDTH - RIGHT + 6}" y="{y(time) + 4:.1f}">{escape(name)}</text>'
        )
    by_id = {c.id: c for c in candidates}
    best = math.inf
    steps: list[str] = []
    for number, candidate in enumerate(candidates):
        took = candidate.microseconds
        title = f"<title>{escape(_says(candidate))}</title>"
        if took is None:
            parent = by_id.get(candidate.parent or "")
            height = y(parent.microseconds) if parent is not None and parent.microseconds is not None else TOP + 8
            cx = x(number)
            parts.append(f'<path class="wrong" d="M{cx - 4:.1f} {height - 4:.1f}l8 8m0 -8l-8 8">{title}</path>')
            continue
        parts.append(f'<circle class="point" cx="{x(number):.1f}" cy="{y(took):.1f}" r="4">{title}</circle>')
        if took < best:
            steps.append(
                f"{'M' if not steps else 'H'}{x(number):.1f}{f' {y(took):.1f}' if not steps else f'V{y(took):.1f}'}"
            )
            best = took
    steps.append(f"H{x(len(candidates) - 1):.1f}")
    parts.append(f'<path class="best" d="{"".join(steps)}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{len(candidates)} evaluations</text></svg>')
    return "".join(parts)


def _says(candidate: JournalCandidate) -> str:
    return f"{candidate.id} {candidate.technique}: {candidate.time or candidate.verdict}"


def _ticks(low: float, high: float) -> list[float]:
    found = []
    power = math.floor(math.log10(low))
    while 10.0**power <= high:
        found += [m * 10.0**power for m in (1, 2, 5) if low <= m * 10.0**power <= high]
        power += 1
    return found

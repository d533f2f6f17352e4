"""The trajectory of a run as SVG: every candidate over the evaluations, on a logarithmic time axis.

Points are candidates that passed, crosses those that did not (at the height of their parent), the line is the best so
far, dashed lines are the roofline and whatever else is given for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from argus.agent.journal.lineage import JournalCandidate
from argus.report.axes import Frame, Scale

WIDTH, HEIGHT = 960, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 40, 306
MARGIN = 1.12


def trajectory(candidates: Sequence[JournalCandidate], marks: Mapping[str, float]) -> str:
    """The plot; `marks` are named times in microseconds."""
    times = [c.microseconds for c in candidates if c.microseconds is not None]
    if not times:
        return "<p>Nothing passed, so there is nothing to plot.</p>"
    known = [*times, *marks.values()]
    x = Scale(0, max(1, len(candidates) - 1), LEFT + 14, WIDTH - RIGHT - 14, whole=True)
    y = Scale(min(known) / MARGIN, max(known) * MARGIN, BOTTOM, TOP, log=True)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="time of the candidates over the evaluations">',
        Frame(x, y).svg("evaluation", "time in µs"),
    ]
    for name, time in marks.items():
        parts.append(
            f'<path class=mark d="M{x.start} {y.at(time):.1f}H{x.end}"/>'
            f'<text x="{x.end}" y="{y.at(time) - 5:.1f}" text-anchor="end">{escape(name)} {time:.1f} µs</text>'
        )
    by_id = {c.id: c for c in candidates}
    best = math.inf
    steps: list[str] = []
    points: list[str] = []
    for number, candidate in enumerate(candidates):
        took, at = candidate.microseconds, x.at(number)
        title = f"<title>{escape(_says(candidate))}</title>"
        if took is None:
            parent = by_id.get(candidate.parent or "")
            height = y.at(parent.microseconds) if parent is not None and parent.microseconds is not None else TOP + 8
            points.append(f'<path class="wrong" d="M{at - 4:.1f} {height - 4:.1f}l8 8m0 -8l-8 8">{title}</path>')
            continue
        points.append(f'<circle class="point" cx="{at:.1f}" cy="{y.at(took):.1f}" r="4.5">{title}</circle>')
        if took < best:
            steps.append(f"{'H' if steps else 'M'}{at:.1f}{'V' if steps else ' '}{y.at(took):.1f}")
            best = took
    steps.append(f"H{x.end:.1f}")
    return "".join([*parts, f'<path class="best" d="{"".join(steps)}"/>', *points, _legend(), "</svg>"])


def _legend() -> str:
    return (
        f'<g transform="translate({LEFT} 18)"><circle class=point cx="6" cy="0" r="4.5"/>'
        '<text x="16" y="4">passed</text>'
        '<path class=wrong d="M80 -4l8 8m0 -8l-8 8"/><text x="96" y="4">failed, at the height of its parent</text>'
        '<path class=best d="M302 0h22"/><text x="332" y="4">best so far</text>'
        '<path class=mark d="M410 0h22"/><text x="440" y="4">roofline: no kernel can be faster</text></g>'
    )


def _says(candidate: JournalCandidate) -> str:
    return f"{candidate.id} {candidate.technique}: {candidate.time or candidate.verdict}"

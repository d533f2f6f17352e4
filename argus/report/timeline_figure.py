"""The timeline of one compute unit as a figure: a canvas with legend, zoom and tooltips, drawn by `timeline.js`.

    timeline_figure(timing, places)       HTML: toolbar, legend, canvas, data

One row per unit and wave, as in `argus.clock.timeline`. A full bar is an instruction, in the color of the unit that
executes it; a thin bar on a wave's row is a stall, in the color of what the wave waits for. A long run is cut to a
window of at most `MOST_SLICES` slices around its middle, and the figure says so; `argus time --trace` has all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from argus.clock.perfetto import STALLED_FOR
from argus.clock.program import REASON_TEXT, Reason
from argus.clock.timeline import SHARED, Slice, Timeline
from argus.clock.timing import Timing
from argus.report.page import data_block

MOST_SLICES = 40_000
FIRST_VIEW = 1500
KINDS: Mapping[str, str] = {
    "matrix": "matrix core",
    "valu": "VALU",
    "lds": "LDS",
    "vmem": "memory",
    "scalar": "scalar, branch",
    "barrier": "barrier",
    "control": "wait, nop",
}
"""The legend: a unit's instructions, and stalls for it."""
_STALL_KIND = {"memory": "vmem", "LDS": "lds", "matrix": "matrix", "barrier": "barrier"}
_STALLS: Mapping[Reason, str] = {
    Reason.VALU: "valu",
    Reason.SALU: "scalar",
    Reason.BRANCH: "scalar",
    **{reason: _STALL_KIND[name] for name, reasons in STALLED_FOR.items() for reason in reasons},
}


def timeline_figure(timing: Timing, places: Mapping[int, str]) -> str:
    """The figure; nothing for a timing without a timeline."""
    timeline = timing.timeline
    if timeline is None or not timeline.slices:
        return "<p>This timing kept no timeline.</p>"
    start, end = window(timeline)
    legend = "".join(
        f'<button type=button class=key data-kind="{kind}" aria-pressed=true>'
        f'<i class="{kind}"></i>{escape(title)}</button>'
        for kind, title in KINDS.items()
    )
    last = max(s.end for s in timeline.slices)
    whole = "" if (start, end) == (0, last) else f" The run has {last} clk; these are clocks {start} to {end}."
    return (
        f"<p class=label>Full bars: instructions on their units. Thin bars: waves stalled for that unit.{whole}</p>"
        "<figure class=timeline id=timeline><div class=toolbar>"
        '<button type=button data-zoom=in title="zoom in (+)">+</button>'
        '<button type=button data-zoom=out title="zoom out (-)">−</button>'
        '<button type=button data-zoom=all title="whole window (0)">all</button>'
        f"<span class=legend>{legend}</span><output class=range></output></div>"
        '<canvas tabindex=0 role=img aria-label="timeline of one compute unit; keys: + - arrows 0"></canvas>'
        "<div class=tip hidden></div><figcaption class=label>Drag to move, Ctrl + wheel or + and - to zoom, arrow keys "
        "to move, a click on the legend hides a kind.</figcaption></figure>"
        "<noscript><p>The timeline needs JavaScript.</p></noscript>"
        + data_block("timeline-data", _data(timing, timeline, places, start, end))
    )


def window(timeline: Timeline, most: int = MOST_SLICES) -> tuple[int, int]:
    """The clocks shown: all, or those around the middle with at most so many slices."""
    slices = timeline.slices
    first, last = min(s.start for s in slices), max(s.end for s in slices)
    if len(slices) <= most:
        return min(0, first), last
    middle = len(slices) // 2
    return slices[middle - most // 2].start, slices[middle + most // 2 - 1].start


def _data(timing: Timing, timeline: Timeline, places: Mapping[int, str], start: int, end: int) -> dict[str, object]:
    kinds = list(KINDS)
    tracks = timeline.tracks()
    row_of = {track: number for number, track in enumerate(tracks)}
    unit_of = {s.op: _unit_kind(s) for s in timeline.slices if s.track.kind != "wave"}
    shown: list[list[int]] = [[] for _ in tracks]
    for s in timeline.slices:
        if start <= s.start < end:
            kind = _kind(s, unit_of, timing.rows[s.op].text)
            stall = -1 if s.stall is None else int(s.stall)
            shown[row_of[s.track]] += [s.start - start, s.end - s.start, s.op, kinds.index(kind), stall, s.wave]
    used = {op for row in shown for op in row[2::6]}
    return {
        "start": start,
        "end": end,
        "view": FIRST_VIEW,
        "kinds": kinds,
        "reasons": [REASON_TEXT[reason] for reason in Reason],
        "ops": {op: [row.text, places.get(row.pc, "")] for op, row in enumerate(timing.rows) if op in used},
        "tracks": [[track.title, "compute unit" if track.simd == SHARED else f"SIMD {track.simd}"] for track in tracks],
        "slices": shown,
    }


def _unit_kind(found: Slice) -> str:
    return "scalar" if found.track.kind == "branch" else found.track.kind


def _kind(found: Slice, unit_of: Mapping[int, str], text: str) -> str:
    """Its place in the legend: what it executes on, or what it waits for."""
    if found.stall is not None:
        return _STALLS.get(found.stall, "control")
    if found.track.kind != "wave":
        return _unit_kind(found)
    return "barrier" if text.startswith("s_barrier") else unit_of.get(found.op, "control")

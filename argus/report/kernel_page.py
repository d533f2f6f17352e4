"""One self-contained HTML page about a timed kernel: what bounds it, roofline, units, stalls, timeline, source.

    Path("gemm.html").write_text(kernel_page("gemm 4096", timing, launch, changes, places, {"gemm.py": text}))

What bounds the kernel is said by `argus.clock.bottleneck`, as in the terminal and in the report of a run. The timeline
is there when the timing kept one. The source keeps its indentation; each line has the share of the wave-clocks that
waves were stalled at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from argus.clock.bottleneck import BOTTLENECKS, bottleneck_word, main_stalls
from argus.clock.launch import Launch
from argus.clock.program import REASON_TEXT, Reason
from argus.clock.timing import LABEL, Timing
from argus.clock.uncertainty import interval_of
from argus.clock.whatif import BOUNDS, Change
from argus.gfx942.chip import SIMDS_PER_CU
from argus.report.page import bars, page, section, tiles
from argus.report.roofline import roofline
from argus.report.timeline_figure import timeline_figure

PARTS = {
    "compute": "compute units",
    "dispatch": "handing out workgroups",
    "l2": "L2 bandwidth",
    "mall": "Infinity Cache bandwidth",
    "hbm": "HBM bandwidth",
    "atomics": "atomics on one line",
}
NO_CONFLICTS = "no bank conflicts"


def limit(launch: Launch, timing: Timing, changes: Iterable[Change]) -> str:
    """What bounds a timed launch, as one word of `argus.clock.bottleneck`."""
    saved = next((change.saved for change in changes if change.name == NO_CONFLICTS), 0.0)
    return bottleneck_word(launch.bound, main_stalls(timing), saved)


def kernel_page(
    title: str,
    timing: Timing,
    launch: Launch,
    changes: Sequence[Change] = (),
    source: Mapping[int, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> str:
    """The page as text; `source` maps pc to file:line, `files` gives the text of those files for annotation."""
    places = source or {}
    stalls = [(REASON_TEXT[r], clocks / timing.wave_clocks) for r, clocks in timing.reasons.items() if clocks]
    helps = [(c.name, c.saved) for c in changes if c.saved > 0 and c.name not in BOUNDS]
    parts = [(PARTS[name], clocks / launch.cycles) for name, clocks in launch.parts.items() if clocks]
    sections = [
        f"<header><h1>{escape(title)}</h1><p class=label>{escape(LABEL)}; {escape(launch.sampling())}</p></header>",
        _tiles(timing, launch, limit(launch, timing, changes)),
        section("Roofline", roofline(launch), _notes(launch)),
        "<div class=columns>",
        section("Time at each limit alone, of the launch", bars(parts)),
        section("Units of one compute unit, busy", bars(timing.utilisation.items())),
        section("Waves stalled, of their clocks", bars(stalls)),
        section(
            "Clocks saved without this cost", bars(helps) if helps else "<p>Nothing on the list would save any.</p>"
        ),
        "</div>",
        section("Timeline of one compute unit", timeline_figure(timing, places)) if timing.timeline else "",
        section("Source", _annotated(timing, places, files or {})) if places else "",
        section("Instructions", _instructions(timing, places)),
    ]
    scripts = ("tables.js", "timeline.js") if timing.timeline and timing.timeline.slices else ("tables.js",)
    return page(title, "\n".join(sections), scripts)


def _tiles(timing: Timing, launch: Launch, word: str) -> str:
    held = launch.sustained
    span = interval_of(launch)
    rate = "" if not held.tflops else f"{held.tflops:.1f}"
    share = "" if held.matrix_peak_share is None else f"{100 * held.matrix_peak_share:.1f} % of matrix peak"
    size = timing.waves // timing.resident
    room = f"{timing.resident} of {timing.occupancy} workgroups of {size} waves per CU"
    shown = [
        ("simulated time", f"{held.microseconds:.1f} µs", f"{span.low:.1f} to {span.high:.1f} µs, {span.regime}"),
        ("bottleneck", word, BOTTLENECKS[word]),
        *([("TFLOPS", rate, share)] if rate else []),
        ("memory", f"{launch.hbm_gbps:.0f} GB/s", f"{launch.hbm_bytes / 1e6:.1f} MB moved"),
        ("occupancy", f"{timing.waves / SIMDS_PER_CU:.1f}", f"waves per SIMD; {room}"),
        ("sustained clock", f"{held.clock_mhz:.0f} MHz", f"stated {launch.clock_mhz:.0f} MHz"),
    ]
    return tiles(shown)


def _notes(launch: Launch) -> str:
    return "".join(f"<p class=label>note: {escape(note)}</p>" for note in launch.notes)


def _annotated(timing: Timing, places: Mapping[int, str], files: Mapping[str, str]) -> str:
    """Every file with the stalls of its lines; without files, the places that stalled."""
    stalls = timing.by_line(places)
    rows = [
        (str(number), line, stalls.get(f"{name}:{number}", {}))
        for name, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
    ]
    if not rows:
        ranked = sorted(stalls.items(), key=lambda item: -sum(item[1].values()))
        rows = [(place, "", reasons) for place, reasons in ranked]
    most = max((sum(reasons.values()) for *_, reasons in rows), default=0) or 1
    lines = "".join(
        f'<tr class=heat style="--share:{40 * sum(reasons.values()) / most:.0f}">{_stalled(timing, reasons)}'
        f"<td class=number>{escape(place)}</td><td><code>{escape(line)}</code></td></tr>"
        for place, line, reasons in rows
    )
    head = "<th class=number>stalled</th><th>mostly</th><th class=number>line</th><th>source</th>"
    return f"<div class=wide><table class=listing><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"


def _instructions(timing: Timing, places: Mapping[int, str]) -> str:
    rows = "".join(
        f"<tr><td data-value={row.pc}><code>{row.pc:#x}</code></td><td>{escape(places.get(row.pc, ''))}</td>"
        f"<td><code>{escape(row.text)}</code></td><td class=number data-value={row.executed}>{row.executed}</td>"
        f"{_stalled(timing, row.stalls)}</tr>"
        for row in timing.rows
        if row.executed
    )
    titles = (
        ("pc", ""),
        ("place", ""),
        ("instruction", ""),
        ("executed", "number"),
        ("stalled", "number"),
        ("mostly", ""),
    )
    head = "".join(f'<th class="{kind}"><button type=button>{title}</button></th>' for title, kind in titles)
    return (
        "<p class=label>A click on a heading sorts.</p><div class=wide><table data-sortable id=instructions>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _stalled(timing: Timing, reasons: Mapping[Reason, int]) -> str:
    """Two cells: the share of the waves' clocks, and the main reason."""
    clocks = sum(reasons.values())
    if not clocks:
        return "<td class=number data-value=0></td><td></td>"
    reason = max(reasons, key=lambda r: reasons[r])
    share = 100 * clocks / timing.wave_clocks
    return f"<td class=number data-value={clocks}>{share:.1f} %</td><td>{escape(REASON_TEXT[reason])}</td>"

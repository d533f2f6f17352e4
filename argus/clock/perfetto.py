"""The timeline of one compute unit as a Chrome/Perfetto trace (ui.perfetto.dev opens the file).

One process per SIMD and one for what the SIMDs share. Each has a track per unit and per wave, so slices of a track
never cross (`argus.clock.timeline`). The shared process also has counters: accesses in flight, matrix cores busy, and
waves stalled for memory, LDS, the matrix core and barriers.

Perfetto counts whole nanoseconds, and a clock of the chip is less than half of one: in real time, turns of 4 clocks
would be rounded and cross each other. So one nanosecond shown is one clock; the process names say so and give the
rate. `args` carry the clock, the pc and the source line when known.

    write_trace(timing, "cu.json", source=spans)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argus.clock.program import REASON_TEXT, Reason
from argus.clock.timeline import SHARED, Slice, Timeline, counted
from argus.clock.timing import LABEL, Timing

MICROSECONDS_PER_CLOCK = 1e-3
STALLED_FOR: Mapping[str, frozenset[Reason]] = {
    "memory": frozenset({Reason.WAIT_VMEM, Reason.WAIT_SMEM, Reason.VMEM, Reason.COUNTER}),
    "LDS": frozenset({Reason.WAIT_LDS, Reason.LDS}),
    "matrix": frozenset({Reason.MATRIX, Reason.MATRIX_RESULT}),
    "barrier": frozenset({Reason.BARRIER}),
}


def trace(timing: Timing, source: Mapping[int, str] | None = None) -> dict[str, Any]:
    """The trace as a JSON object; the timing must have been made with `timeline=True`."""
    timeline = timing.timeline
    if timeline is None:
        raise ValueError("this timing kept no timeline; time the record with timeline=True")
    tracks = timeline.tracks()
    thread = {track: number for number, track in enumerate(tracks, 1)}
    events: list[dict[str, Any]] = []
    for simd in sorted({track.simd for track in tracks} | {SHARED}):
        name = "compute unit" if simd == SHARED else f"SIMD {simd}"
        events.append(_named("process", _process(simd), 0, f"{name} (1 ns = 1 clk at {timing.clock_mhz:g} MHz)"))
        events.append(
            {
                "ph": "M",
                "pid": _process(simd),
                "tid": 0,
                "name": "process_sort_index",
                "args": {"sort_index": _process(simd)},
            }
        )
    for track in tracks:
        events.append(_named("thread", _process(track.simd), thread[track], track.title))
    for found in timeline.slices:
        row = timing.rows[found.op]
        args: dict[str, Any] = {"clk": found.start, "pc": f"{row.pc:#x}", "wave": found.wave, "text": row.text}
        if source and row.pc in source:
            args["source"] = source[row.pc]
        events.append(
            {
                "ph": "X",
                "pid": _process(found.track.simd),
                "tid": thread[found.track],
                "ts": found.start * MICROSECONDS_PER_CLOCK,
                "dur": (found.end - found.start) * MICROSECONDS_PER_CLOCK,
                "name": _title(found, row.text),
                "cat": "instruction" if found.stall is None else "stall",
                "args": args,
            }
        )
    events.extend(_counters(timeline))
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"label": LABEL}}


def write_trace(timing: Timing, path: str | Path, source: Mapping[int, str] | None = None) -> None:
    Path(path).write_text(json.dumps(trace(timing, source)), encoding="utf-8")


def _process(simd: int) -> int:
    return simd + 2


def _named(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": thread, "name": f"{kind}_name", "args": {"name": name}}


def _title(found: Slice, text: str) -> str:
    return text.split(" ", 1)[0] if found.stall is None else f"stall: {REASON_TEXT[found.stall]}"


def _counters(timeline: Timeline) -> list[dict[str, Any]]:
    spans: dict[str, list[tuple[int, int]]] = {
        "vector memory accesses in flight": [(f.start, f.end) for f in timeline.flights if f.kind == "vmem"],
        "LDS accesses in flight": [(f.start, f.end) for f in timeline.flights if f.kind == "lds"],
        "matrix cores busy": [(s.start, s.end) for s in timeline.slices if s.track.kind == "matrix"],
    }
    for name, reasons in STALLED_FOR.items():
        spans[f"waves stalled: {name}"] = [(s.start, s.end) for s in timeline.slices if s.stall in reasons]
    return [
        {
            "ph": "C",
            "pid": _process(SHARED),
            "ts": clock * MICROSECONDS_PER_CLOCK,
            "name": name,
            "args": {"value": number},
        }
        for name, found in spans.items()
        for clock, number in counted(found)
    ]

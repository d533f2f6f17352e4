"""The timeline of one compute unit as a Chrome/Perfetto trace (ui.perfetto.dev opens the file).

One process per SIMD, one thread per wave; a slice is one instruction from its issue for as long as it holds its unit.
The time axis is real time at the stated clock; `args` carry the clock number, the pc and the source line when known.

    write_trace(timing, "cu.json", source=spans)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argus.clock.timing import LABEL, Timing
from argus.gfx942.chip import SIMDS_PER_CU


def trace(timing: Timing, source: Mapping[int, str] | None = None) -> dict[str, Any]:
    """The trace as a JSON object; the timing must have been made with `events=True`."""
    if not timing.events:
        raise ValueError("this timing kept no events; time the record with events=True to get a timeline")
    events: list[dict[str, Any]] = []
    for simd in range(SIMDS_PER_CU):
        events.append({"ph": "M", "pid": simd, "name": "process_name", "args": {"name": f"SIMD {simd}"}})
    for simd, wave in sorted({(simd, wave) for _, simd, wave, _, _ in timing.events}):
        events.append({"ph": "M", "pid": simd, "tid": wave, "name": "thread_name", "args": {"name": f"wave {wave}"}})
    for clock, simd, wave, index, clocks in timing.events:
        row = timing.rows[index]
        args: dict[str, Any] = {"clk": clock, "pc": f"{row.pc:#x}"}
        if source and row.pc in source:
            args["source"] = source[row.pc]
        events.append(
            {
                "ph": "X",
                "pid": simd,
                "tid": wave,
                "ts": clock / timing.clock_mhz,
                "dur": clocks / timing.clock_mhz,
                "name": row.text.split(" ", 1)[0],
                "args": args,
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"label": LABEL}}


def write_trace(timing: Timing, path: str | Path, source: Mapping[int, str] | None = None) -> None:
    Path(path).write_text(json.dumps(trace(timing, source)), encoding="utf-8")

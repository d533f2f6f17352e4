"""One self-contained HTML page about a timed kernel: roofline, units, stalls, timeline of one CU, annotated source.

    Path("gemm.html").write_text(page("gemm 4096", timing, launch, source=places, files={"gemm.py": text}))

No script and no outside resource, so the file can be mailed, archived and diffed. The timeline shows
some clocks from the middle of the run when the timing kept its events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files as resources

from argus.clock.launch import Launch
from argus.clock.parameters import PARAMETERS
from argus.clock.program import REASON_TEXT, Reason
from argus.clock.timing import LABEL, Row, Timing
from argus.gfx942 import chip

TIMELINE_CLOCKS = 2000
_KIND = (("v_mfma", "matrix"), ("v_smfmac", "matrix"), ("v_", "valu"), ("ds_", "lds"), ("s_load", "vmem"))
_INTERNAL = ("s_waitcnt", "s_nop", "s_barrier", "s_setprio", "s_sleep")


def page(
    title: str,
    timing: Timing,
    launch: Launch,
    source: Mapping[int, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> str:
    """The page as text; `source` maps pc to file:line, `files` gives the text of those files for annotation."""
    style = resources("argus.clock").joinpath("page.css").read_text(encoding="utf-8")
    parts = [
        f"<h1>{escape(title)}</h1><p class=label>{escape(LABEL)}</p>",
        f"<pre>{escape(launch.text().split(chr(10), 1)[1])}</pre>",
        "<h2>Roofline</h2>" + roofline(launch),
        "<h2>Units of one compute unit</h2>" + _bars(timing.utilisation),
        "<h2>Stalls of waves</h2>"
        + _bars({REASON_TEXT[r]: clocks / timing.wave_clocks for r, clocks in timing.reasons.items() if clocks}),
    ]
    if timing.events:
        parts.append("<h2>Timeline</h2>" + timeline(timing))
    if source:
        parts.append("<h2>Source</h2>" + _annotated(timing, source, files or {}))
    parts.append("<h2>Instructions</h2>" + _instructions(timing, source or {}))
    body = "\n".join(parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>{body}</body></html>\n"
    )


def roofline(launch: Launch) -> str:
    """Work per byte of memory against TFLOPS, with the roofs at the launch's clock (bf16 matrix, f32 matrix, HBM)."""
    if launch.tflops is None or launch.hbm_bytes == 0:
        return "<p>No floating-point work or no memory traffic was stated, so there is no roofline.</p>"
    flops = launch.tflops * launch.microseconds * 1e6
    intensity = flops / launch.hbm_bytes
    bandwidth = PARAMETERS["hbm_bandwidth"] * 1e-3
    roofs = {element: chip.matrix_peak_tflops(element, launch.clock_mhz) for element in ("fp8", "bf16", "f32")}

    def at(work: float, rate: float) -> tuple[float, float]:
        return 60 + 130 * (math.log10(work) + 1), 250 - 50 * math.log10(max(rate, 0.01) * 10)

    lines = []
    for element, peak in roofs.items():
        (x0, y0), (x1, y1), (x2, _) = at(0.1, 0.1 * bandwidth), at(peak / bandwidth, peak), at(1e5, peak)
        lines.append(f'<path class=roof d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}H{x2:.1f}"/>')
        lines.append(f'<text x="{x2 - 90:.1f}" y="{y1 - 4:.1f}">{element} {peak:.0f} TFLOPS</text>')
    x, y = at(min(max(intensity, 0.1), 1e5), launch.tflops)
    lines.append(f'<circle class=point cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    lines.append(f'<text x="{x + 8:.1f}" y="{y + 14:.1f}">{launch.tflops:.1f} TFLOPS, {intensity:.1f} FLOP/B</text>')
    axis = '<text x="330" y="290">FLOP per byte of memory, 0.1 to 100 000</text>'
    return f'<svg viewBox="0 0 900 300" role="img" aria-label="roofline">{"".join(lines)}{axis}</svg>'


def timeline(timing: Timing, clocks: int = TIMELINE_CLOCKS) -> str:
    """A window from the middle of the run: one row per wave, one rectangle per instruction."""
    start = max(0, timing.cycles // 2 - clocks // 2)
    waves = sorted({(simd, wave) for _, simd, wave, _, _ in timing.events})
    row_of = {key: number for number, key in enumerate(waves)}
    scale = 1000 / clocks
    shapes = [
        f'<text x="0" y="{18 * number + 13}">SIMD {simd} wave {wave}</text>' for (simd, wave), number in row_of.items()
    ]
    for clock, simd, wave, index, length in timing.events:
        if start <= clock < start + clocks:
            text = timing.rows[index].text
            shapes.append(
                f'<rect class={_kind(text)} x="{110 + (clock - start) * scale:.1f}" y="{18 * row_of[simd, wave] + 2}" '
                f'width="{max(length * scale - 0.3, 0.5):.1f}" height="14"><title>{clock} {escape(text)}</title></rect>'
            )
    height = 18 * len(waves) + 4
    note = f"<p class=label>clocks {start} to {start + clocks}</p>"
    return f'{note}<div class=wide><svg viewBox="0 0 1120 {height}" width="1120">{"".join(shapes)}</svg></div>'


def _kind(text: str) -> str:
    if text.startswith(_INTERNAL):
        return "internal"
    for prefix, kind in _KIND:
        if text.startswith(prefix):
            return kind
    return "vmem" if text.startswith(("buffer_", "global_", "flat_", "scratch_")) else "scalar"


def _bars(shares: Mapping[str, float]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class=number>{100 * share:.1f} %</td>"
        f'<td><span class=bar style="width:{max(0.0, min(share, 1.0)) * 30:.2f}rem"></span></td></tr>'
        for name, share in shares.items()
    )
    return f"<table>{rows}</table>"


def _instructions(timing: Timing, source: Mapping[int, str]) -> str:
    return _table(
        ("place", "instruction", "executed", "stalled", "mostly"),
        [
            (source.get(row.pc, f"{row.pc:#x}"), row.text, str(row.executed), _share(timing, row.stalled), _why(row))
            for row in timing.rows
            if row.executed
        ],
    )


def _annotated(timing: Timing, source: Mapping[int, str], files: Mapping[str, str]) -> str:
    stalls = timing.by_line(source)
    shown = []
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            reasons = stalls.get(f"{name}:{number}", {})
            worst = REASON_TEXT[max(reasons, key=lambda r: reasons[r])] if reasons else ""
            clocks = sum(reasons.values())
            shown.append((str(number), line, "", _share(timing, clocks) if clocks else "", worst))
    if not shown:
        ranked = sorted(stalls.items(), key=lambda item: -sum(item[1].values()))
        shown = [
            (place, "", "", _share(timing, sum(reasons.values())), REASON_TEXT[max(reasons, key=lambda r: reasons[r])])
            for place, reasons in ranked
            if reasons
        ]
    return _table(("line", "source", "", "stalled", "mostly"), shown)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = []
    for row in rows:
        place, code, *numbers, why = row
        cells = "".join(f"<td class=number>{escape(cell)}</td>" for cell in numbers)
        lines.append(
            f"<tr><td>{escape(place)}</td><td><code>{escape(code)}</code></td>{cells}<td>{escape(why)}</td></tr>"
        )
    return f"<div class=wide><table><tr>{top}</tr>{''.join(lines)}</table></div>"


def _share(timing: Timing, clocks: int) -> str:
    return f"{100 * clocks / timing.wave_clocks:.1f} %"


def _why(row: Row) -> str:
    if not row.stalled:
        return ""
    reason: Reason = max(row.stalls, key=lambda r: row.stalls[r])
    return REASON_TEXT[reason]

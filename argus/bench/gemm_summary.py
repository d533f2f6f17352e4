"""What a file of rows says in all: means and verdicts, apart for what is comparable to different degrees.

    print(report(Lines(Path("out/gemm.jsonl"))))

A row counts with what hipBLASLt's time is the time of: its own choice, its choice with our sum of the parts, or the
fastest of some near solutions. Without hipBLASLt it is the best of the others. What was left out is named with its
reason and counts for nobody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from argus.bench import gemm
from argus.bench.gemm import GemmRow
from argus.bench.gemm_lines import Line, Lines
from argus.bench.gemm_sizes import layers
from argus.bench.others import Yardstick

BEHIND = 0.95
"""Ours to the best other, below which a row counts as behind."""


def report(held: Lines) -> str:
    """Markdown: per way of comparing a table, its summary and what was left out."""
    parts = [f"{held.broken} lines of {held.path} are cut off or of another form and do not count"] * bool(held.broken)
    for words, lines in held.groups().items():
        how = json.loads(words)
        rows = [line.row for line in lines]
        parts += [f"### {_title(how)}", _made_by(lines), gemm.table(rows), summary(rows)]
    return "\n\n".join(parts) if parts else f"{held.path} holds no row"


def _title(how: Mapping[str, Any]) -> str:
    against = [*how["others"], *([] if how["triton"] == "none" else [f"Triton ({how['triton']})"])]
    near = [f"{how['nearest']} near solutions without an entry"] * bool(how["nearest"])
    clocks = [f"{how['clocks']} perturbed clocks"] * bool(how["clocks"])
    words = [f"gemm {how['dtype']} {how['layout']}", f"protocol {how['protocol']}", *near, *clocks]
    return f"{', '.join(words)}, beside {', '.join(against) or 'nobody'}"


def _made_by(lines: Sequence[Line]) -> str:
    clocks = ", ".join(sorted({line.clock for line in lines}))
    other = sum(not line.present for line in lines)
    stale = f"; {other} of {len(lines)} lines are not of the present clock and kernels" if other else ""
    return f"{clocks}; {sum(line.seconds for line in lines):.0f} s of CPU{stale}"


def summary(rows: Sequence[GemmRow]) -> str:
    """One line per kind of comparison, then what was left out."""
    lines = []
    for kind in Yardstick:
        found = [row for row in rows if not row.missing and row.others and row.kind() == kind]
        if found:
            behind = [row for row in found if (ratio := row.ratio()) is not None and ratio < BEHIND]
            named = f" ({'; '.join(_shape(row) for row in behind)})" if behind else ""
            title = f"beside {kind}" if any("hipBLASLt" in row.others for row in found) else "beside the others"
            lines.append(f"* {len(found)} sizes {title}: {gemm.summary(found)}; below {BEHIND} at {len(behind)}{named}")
    alone = sum(not row.missing and not row.others for row in rows)
    if alone:
        lines.append(f"* {alone} sizes without any other")
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for name, why in row.missing.items():
            reasons.setdefault(why if name in why else f"{name}: {why}", []).append(_shape(row))
    short = sum(bool(row.missing) for row in rows)
    if short:
        lines.append(f"* {short} sizes left out, in no mean:")
        lines += [f"  * {why} ({', '.join(at)})" for why, at in reasons.items()]
    return "\n".join(lines) if lines else "no rows"


def _shape(row: GemmRow) -> str:
    layer = layers().get(row.shape)
    return " x ".join(map(str, row.shape)) + (f", {layer}" if layer else "")

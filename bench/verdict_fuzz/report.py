"""The tables of a run: verdict by truth, by family and construct; causes of what is right and unknown; times."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
VERDICTS = ("proved", "refuted", "unknown")
FAULTS = ("proved and wrong", "proved and hazard", "right and refuted", "traceback", "hang", "meant to be right")


AGAIN = "again-"
"""In the name of a file of sources that were judged once more."""


def rows_of(folder: Path) -> list[Row]:
    """One row for each source: the last judgement."""
    paths = sorted(folder.glob("*.jsonl"), key=lambda path: (AGAIN in path.name, path.name))
    rows = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return list({(row.get("seed"), row["n"]): row for row in rows}.values())


def table(folder: Path) -> str:
    rows = rows_of(folder)
    if not rows:
        return "nothing was judged"
    right = [r for r in rows if not r["mutation"] and r["truth"] == "right"]
    parts = [
        f"{len(rows)} sources, {sum(not r['mutation'] for r in rows)} as generated, "
        f"{sum(r['family'] in ('library', 'naive') for r in rows)} mutants of library and naive kernels.",
        "Faults: " + ", ".join(f"{name} {sum(r['fault'].startswith(name) for r in rows)}" for name in FAULTS) + ".",
        _times(rows),
        _crossed("verdict and truth", rows),
        _share("right as generated, by family", right, lambda r: [r["family"]]),
        _share("right as generated, by construct", right, lambda r: r["constructs"]),
        _causes(right),
        _exact(rows),
    ]
    return "\n\n".join(parts)


def _times(rows: list[Row]) -> str:
    checks, whole = np.array([r["check"] for r in rows]), np.array([r["seconds"] for r in rows])
    return (
        f"CPU time per check: median {np.median(checks):.3f} s, 95th percentile {np.percentile(checks, 95):.3f} s, "
        f"largest {checks.max():.2f} s; per source with machine {whole.mean():.3f} s."
    )


def _crossed(title: str, rows: list[Row]) -> str:
    truths = sorted({r["truth"] for r in rows})
    found = Counter((r["verdict"], r["truth"]) for r in rows)
    verdicts = sorted({r["verdict"] for r in rows})
    lines = [f"| {title} | " + " | ".join(truths) + " |", "|---" * (len(truths) + 1) + "|"]
    lines += [f"| {v} | " + " | ".join(str(found[v, t]) for t in truths) + " |" for v in verdicts]
    return "\n".join(lines)


def _share(title: str, rows: list[Row], key: Callable[[Row], Iterable[str]]) -> str:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name in key(row):
            counts[name][row["verdict"]] += 1
    lines = [f"| {title} | sources | proved | refuted | unknown | unknown % |", "|---|---|---|---|---|---|"]
    for name in sorted(counts):
        found, n = counts[name], sum(counts[name].values())
        cells = " | ".join(str(found[v]) for v in VERDICTS)
        lines.append(f"| {name} | {n} | {cells} | {100 * found['unknown'] / n:.0f} |")
    everything = Counter(r["verdict"] for r in rows)
    n = max(1, len(rows))
    cells = " | ".join(str(everything[v]) for v in VERDICTS)
    lines.append(f"| **all** | {len(rows)} | {cells} | {100 * everything['unknown'] / n:.1f} |")
    return "\n".join(lines)


def cause(reason: str) -> str:
    """The first words of a reason, without the names and numbers of the kernel."""
    rule, _, text = reason.partition(": ")
    text = re.sub(r"`[^`]*`", "…", text)
    text = re.sub(r"\b[A-Za-z]\w?\b(?=[ :,])|\d+", "_", text)
    return f"{rule}: {' '.join(text.split()[:9])}"


def _causes(rows: list[Row], most: int = 20) -> str:
    found = Counter(cause(r["reasons"][0]) for r in rows if r["verdict"] == "unknown" and r["reasons"])
    lines = ["| right and unknown, first reason | sources |", "|---|---|"]
    return "\n".join([*lines, *(f"| {text} | {n} |" for text, n in found.most_common(most))])


def _exact(rows: list[Row], most: int = 20) -> str:
    """Exact algebra beside the float comparison: what it followed, what it alone found, and where the two disagree."""
    looking = [r for r in rows if r["truth"] in ("right", "vague") or found_exactly(r)]
    asked = [r for r in looking if r["exact"] != "exact"]
    counts = Counter(r["exact"] for r in asked)
    values = [r for r in rows if r["truth"] in ("wrong", "rounded") and not found_exactly(r)]
    wrong = [r for r in values if r["exact"] not in ("", "exact")]
    equal = Counter(r["mutation"] or "as generated" for r in wrong if r["exact"] == "equal")
    lost = Counter(opcode(r["lost"]) for r in asked if r["exact"] == "not followed")
    lines = [
        f"Exact algebra, of {len(looking)} sources that look right in floats: {counts['equal']} equal, "
        f"{counts['different']} wrong, {counts['unconfirmed']} different once and not again, "
        f"{counts['not followed']} not followed, {len(looking) - len(asked)} without floats.",
        f"Of {len(wrong)} sources with a value outside the tolerance of f32: "
        f"{sum(r['exact'] == 'not asked' for r in wrong)} outside of the bound of their types, "
        f"{sum(r['exact'] == 'different' for r in wrong)} different, "
        f"{sum(r['exact'] == 'not followed' for r in wrong)} not followed, {sum(equal.values())} equal "
        f"({sum(r['truth'] == 'rounded' for r in wrong)} within the rounding of their own types)"
        + (": " + ", ".join(f"{name} {n}" for name, n in equal.most_common()) if equal else "")
        + ".",
    ]
    if lost:
        lines += ["", "| not followed, first cause | sources |", "|---|---|"]
        lines += [f"| {text} | {n} |" for text, n in lost.most_common(most)]
    return "\n".join(lines)


def found_exactly(row: Row) -> bool:
    """Wrong, and only exact algebra says so."""
    return bool(row["truth"] == "wrong" and "exact algebra" in row["detail"])


def opcode(cause: str) -> str:
    """The instruction at which a value was lost, or the reason."""
    return cause.split()[0] if " at 0x" in cause else cause

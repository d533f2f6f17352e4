"""Rows of `argus bench agents` as text: a table for each problem, what was left out, and how the verdicts stand."""

from __future__ import annotations

from collections.abc import Sequence

from argus.bench.agents.problems import PROBLEMS
from argus.bench.agents.rows import AgentRow
from argus.bench.agents.solutions import ProblemName
from argus.bench.kept import Timed
from argus.bench.verdict import counted
from argus.clock.paired import Paired

LIMIT = 160
"""Letters of a reason in a cell; the whole one is in `--json`."""


def table(problem: ProblemName, rows: Sequence[AgentRow]) -> str:
    """A Markdown table."""
    axis = PROBLEMS[problem].axis
    lines = [
        f"| {problem}, {axis} | system | result at a small size | theirs, us (simulated) | ours, us (simulated) | "
        "verdict: time of ours ÷ theirs (simulated, 90 % interval) | theirs, us (published) | "
        "publication's reference ÷ theirs (published) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        known, ratio = row.published_ms, row.published_ratio
        cells = [
            str(row.size), row.name, _result(row), _us(row.theirs), _us(row.ours), _verdict(row.verdict),
            "-" if known is None else f"{1000 * known:.{1 if known < 1.0 else 0}f}",
            "-" if ratio is None else f"{ratio:.3g} ({row.reference})",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _verdict(found: Paired | None) -> str:
    return "-" if found is None else f"{found.verdict}, {found.ratio:.2g} ({found.low:.2g} to {found.high:.2g})"


def _us(time: Timed | None) -> str:
    return "-" if time is None else time.text(1 if time.us < 1000.0 else 0)


def _result(row: AgentRow) -> str:
    reason = row.reason if len(row.reason) <= LIMIT else row.reason[: LIMIT - 1] + "…"
    return f"{row.status}: {reason.replace('|', '/')}" if reason else row.status


def summary(rows: Sequence[AgentRow]) -> list[str]:
    """Counts of verdicts over right rows, of the others, and the notes of the file."""
    verdicts = [row.verdict for row in rows if row.verdict is not None]
    right, wrong, out = (sum(row.status == status for row in rows) for status in ("right", "wrong", "left out"))
    counts = f"{len(rows)} rows: {right} right, {wrong} wrong, {out} left out"
    lines = [f"{counts}; ours beside the {len(verdicts)} that are right and timed{counted([*verdicts])}"]
    notes = {f"{row.problem}, {row.system}: {row.note}": None for row in rows if row.note}
    return [*lines, *notes]

"""What a campaign found, as one HTML page: figures by level, counts by family, a row per task.

    Path("kernelbench.html").write_text(task_page(records, eager, LABEL))

Everything that comes from a task or a record is escaped. Measured times and simulated ones stand in columns of their
own; their quotient has the clock's interval beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from argus.bench.kernelbench.summary import STATUSES, summary
from argus.report.page import page, section, tiles

HEADS = (
    "task", "name", "family", "status", "launches", "kernels proved", "error", "five seeds", "simulated us",
    "interval us", "measured eager us", "measured / simulated", "why not",
)  # fmt: skip


def task_page(records: Sequence[Mapping[str, Any]], eager: Mapping[str, float], label: str) -> str:
    """The text of the page."""
    rows = "".join(_row(record, eager) for record in records)
    heads = "".join(f"<th scope=col>{escape(head)}</th>" for head in HEADS)
    counted = "\n".join(summary(records, eager))
    body = [
        f"<h1>KernelBench as plans of proved kernels</h1><p class=label>{escape(label)}</p>",
        tiles(_figures(records)),
        section("By level and family", f"<pre>{escape(counted)}</pre>"),
        section("Tasks", f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"),
    ]
    return page("KernelBench", "\n".join(body))


def _figures(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    found = []
    for level in sorted({record["level"] for record in records}):
        here = [record for record in records if record["level"] == level]
        counts = {status: sum(record["status"] == status for record in here) for status in STATUSES}
        others = ", ".join(f"{count} {status}" for status, count in counts.items() if count and status != "solved")
        found.append((f"level {level}", f"{counts['solved']} of {len(here)}", others or "all solved"))
    return found


def _row(record: Mapping[str, Any], eager: Mapping[str, float]) -> str:
    name = f"L{record['level']}_{record['task']}"
    simulated, measured = record.get("simulated_us"), eager.get(name)
    interval = "" if simulated is None else f"{record['low_us']:.1f} to {record['high_us']:.1f}"
    ratio = "" if simulated is None or measured is None else f"{measured / simulated:.2f}"
    proved = f"{record['proved']} of {record['kernels']}" if "kernels" in record else ""
    family = str(record.get("family", ""))
    cells = (
        name, record["name"], family + (", the same for every input" if record.get("constant") else ""),
        record["status"], record.get("launches", ""), proved,
        f"{record['error']:.1e}" if "error" in record else "", record.get("seeds", ""),
        "" if simulated is None else f"{simulated:.1f}", interval, "none" if measured is None else f"{measured:.1f}",
        ratio, f"{record['code']} {record['reason']}".strip(),
    )  # fmt: skip
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"

"""What a run refused, and why: every failed candidate with its reason, its line of the source and its counterexample.

The reason stands in the open; the source around the line and the threads of the counterexample are one click away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from typing import Any

from argus.agent.journal import Journal
from argus.agent.journal.lineage import JournalCandidate, Story
from argus.report.candidates import anchor, params_text, refused
from argus.report.page import numbered

AROUND = 2


def failures(journal: Journal, story: Story) -> str:
    """The section's body."""
    wrong = [c for c in story.candidates if refused(c)]
    if not wrong:
        return "<p>Nothing was.</p>"
    counts = Counter(rule for c in wrong for rule in {v["rule"] for v in c.judgement.get("violations", [])})
    rules = ", ".join(f"{escape(rule)} {number}" for rule, number in counts.most_common())
    return "".join([f"<p class=label>{rules}</p>", *(_failure(journal, c) for c in wrong)])


def _failure(journal: Journal, candidate: JournalCandidate) -> str:
    source = journal.text(candidate.source).splitlines()
    violations = candidate.judgement.get("violations") or []
    items = "".join(_violation(v, source) for v in violations) or "<p>The judge gave no more than the stage.</p>"
    return (
        f'<article class=failure id="{escape(anchor(candidate))}">'
        f"<h3>{escape(candidate.id)} {escape(candidate.technique)} {escape(params_text(candidate))}</h3>"
        f"<p class=label>{escape(candidate.verdict)} at {escape(str(candidate.judgement.get('stage', '?')))}</p>"
        f"{items}</article>"
    )


def _violation(violation: Mapping[str, Any], source: list[str]) -> str:
    text = f"<p><b>{escape(violation['rule'])}</b> {escape(violation['message'])}</p>"
    if violation.get("help"):
        text += f"<p class=label>help: {escape(violation['help'])}</p>"
    line = int(violation.get("line") or 0)
    inside = ""
    if 0 < line <= len(source):
        first, last = max(1, line - AROUND), min(len(source), line + AROUND)
        inside += numbered(
            (number, source[number - 1], "hit" if number == line else "") for number in range(first, last + 1)
        )
    detail = violation.get("detail") or {}
    where = detail.get("where")
    if where:
        inside += f"<p class=label>at {escape(_where(where))}</p>"
    for operand in detail.get("operands", []):
        inside += f"<p class=label>thread {escape(str(operand.get('thread')))}: {escape(_operand(operand))}</p>"
    if not inside:
        return text
    return f"{text}<details><summary>{f'line {line}' if line else 'counterexample'}</summary>{inside}</details>"


def _where(where: Mapping[str, Any]) -> str:
    values = [*where.get("sizes", {}).items(), *where.get("loop", {}).items()]
    return ", ".join([*(f"{k}={v}" for k, v in values), f"block {where.get('block')}", f"wave {where.get('wave')}"])


def _operand(operand: Mapping[str, Any]) -> str:
    tag = operand.get("tag")
    coords = "" if not tag else f"{tag['tensor']}[{', '.join(f'{k}={v}' for k, v in tag['coords'].items())}]"
    return f"{operand.get('name', '')} element {operand.get('element')} {operand.get('does', '')} {coords}"

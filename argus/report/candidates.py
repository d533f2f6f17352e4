"""All candidates of a run as one table that sorts by a click on a heading and filters by text and verdict.

A failed candidate has its reason in its row. The bottleneck is the word of `argus.agent.bottleneck`, as in the
terminal. The script is `tables.js`; without it the table stands in the order of the run.
"""

from __future__ import annotations

from collections import Counter
from html import escape

from argus.agent.bottleneck import bottleneck
from argus.agent.journal.lineage import JournalCandidate, Story
from argus.agent.judge import Judgement

HEADS = (
    ("id", "number"),
    ("from", "number"),
    ("technique, parameters", ""),
    ("verdict", ""),
    ("time in µs", "number"),
    ("speed-up", "number"),
    ("bottleneck", ""),
    ("reason, evidence", ""),
)


def candidate_table(story: Story, best: JournalCandidate | None) -> str:
    """The table with its filters."""
    by_id = {c.id: c for c in story.candidates}
    rows = "".join(_row(c, by_id.get(c.parent or ""), best is not None and c.id == best.id) for c in story.candidates)
    head = "".join(f'<th class="{kind}"><button type=button>{title}</button></th>' for title, kind in HEADS)
    counts = Counter(c.verdict for c in story.candidates)
    choices = "".join(
        f'<button type=button data-verdict="{escape(verdict)}" aria-pressed=false>{escape(verdict)} {number}</button>'
        for verdict, number in counts.most_common()
    )
    return (
        '<div class=toolbar data-filters=candidates><input type=search placeholder="technique, parameter, rule …" '
        'aria-label="filter the candidates"><button type=button data-verdict="" aria-pressed=true>all</button>'
        f"{choices}<output></output></div><div class=wide><table data-sortable id=candidates>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def anchor(candidate: JournalCandidate) -> str:
    """Where a refused candidate is told about."""
    return f"failure-{candidate.id}"


def params_text(candidate: JournalCandidate) -> str:
    return " ".join(f"{name}={value}" for name, value in candidate.params.items())


def refused(candidate: JournalCandidate) -> bool:
    """Whether it was judged and did not pass."""
    return candidate.verdict not in ("pass", "pending")


def reason_text(candidate: JournalCandidate) -> str:
    """Why it did not pass, in one line: the stage, and what is wrong first."""
    stage = str(candidate.judgement.get("stage", "not judged"))
    violations = candidate.judgement.get("violations") or []
    if not violations:
        return stage
    others = len(violations) - 1
    more = f"; {others} more violation{'s' * (others > 1)}" if others else ""
    return f"{stage}: {violations[0]['rule']}: {violations[0]['message']}{more}"


def _row(candidate: JournalCandidate, parent: JournalCandidate | None, best: bool) -> str:
    took = candidate.microseconds
    before = None if parent is None else parent.microseconds
    gain = before / took if before is not None and took is not None else None
    verdict = escape(candidate.verdict)
    found = bottleneck(Judgement.from_json(candidate.judgement)) if took is not None else ""
    if refused(candidate):
        last = f'<a href="#{escape(anchor(candidate))}">{escape(reason_text(candidate))}</a>'
    else:
        last = f"<code>{escape(str(candidate.judgement.get('evidence', ''))[:12])}</code>"
    cells = [
        f"<td class=number>{escape(candidate.id)}</td>",
        f"<td class=number>{escape(candidate.parent or '')}</td>",
        f"<td class=name>{escape(candidate.technique)}<div class=label>{escape(params_text(candidate))}</div></td>",
        f'<td><span class="badge {verdict}">{verdict}</span></td>',
        _number(took, "" if took is None else f"{took:.1f}"),
        _number(gain, "" if gain is None else f"{gain:.2f}×"),
        f"<td>{escape(found)}</td>",
        f"<td class=reason>{last}</td>",
    ]
    return f'<tr data-verdict="{verdict}"{" class=best" if best else ""}>{"".join(cells)}</tr>'


def _number(value: float | None, text: str) -> str:
    return f'<td class=number data-value="{"" if value is None else value}">{text}</td>'

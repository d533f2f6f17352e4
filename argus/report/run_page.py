"""One self-contained HTML page about an optimisation run, made from the journal alone.

    Path("run.html").write_text(run_page(journal, run))

Trajectory, the way from the naive kernel to the best one with every change of the source, the bottleneck before
and after, every counterexample at its line, what was learnt, and the evidence behind each number. Times are called
simulated or measured as the run's device says; what the task names to stand beside (a kernel of the library, published
figures) is named. No script, no outside resource.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from argus.agent.journal import Journal
from argus.agent.journal.lineage import JournalCandidate, Story
from argus.agent.labels import heading, word
from argus.agent.policy import PolicyTable
from argus.agent.time_text import described
from argus.report.plot import trajectory

AROUND = 2


def run_page(journal: Journal, run: str | None = None) -> str:
    """The page of the run called `run`, or of the newest one."""
    story = Story.of(journal, run)
    best = story.best()
    way = story.ancestors(best) if best is not None else list(story.candidates[:1])
    title = f"{story.run.task}: from {_time(story.candidates[0] if story.candidates else None)} to {_time(best)}"
    label = heading(story.run.config.get("device"))
    parts = [
        f"<h1>{escape(title)}</h1><p class=label>{escape(label)}; run {escape(story.run.id)}</p>",
        _summary(story, best),
        "<h2>Trajectory</h2>" + trajectory(story.candidates, _marks(story, best)),
        "<h2>The way to the best kernel</h2>" + _way(journal, way),
        "<h2>Bottleneck</h2>" + _bottlenecks(way),
        "<h2>What was refused, and why</h2>" + _violations(journal, story),
        "<h2>What was learnt</h2>" + _learnt(journal, story),
        "<h2>All candidates</h2>" + _all(story),
    ]
    if best is not None:
        parts.append(f"<h2>The kernel</h2><pre>{escape(journal.text(best.source))}</pre>")
    style = files("argus.report").joinpath("run_page.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _marks(story: Story, best: JournalCandidate | None) -> dict[str, float]:
    roof = (best.judgement.get("roof") or {}) if best is not None else {}
    if not roof:
        return {}
    return {"roofline": math.exp(sum(math.log(value) for value in roof.values()) / len(roof))}


def _summary(story: Story, best: JournalCandidate | None) -> str:
    counts = Counter(c.verdict for c in story.candidates)
    said = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    rows = [("candidates", f"{len(story.candidates)}: {said}")]
    first = story.candidates[0] if story.candidates else None
    if best is not None and best.microseconds is not None:
        for shape, took in best.judgement["times"].items():
            least = best.judgement["roof"].get(shape)
            share = f", {100 * least / took:.0f} % of the roofline of {least:.1f} µs" if least else ""
            time = described({shape: took}, best.judgement.get("intervals") or {})
            rows.append((shape, f"{time} {word(story.run.config.get('device'))}{share}"))
        if first is not None and first.microseconds is not None:
            rows.append(("speed-up over the naive kernel", f"{first.microseconds / best.microseconds:.2f}"))
        rows.append(("evidence", f"<code>{escape(str(best.judgement['evidence']))}</code>"))
    config = story.run.config
    if config.get("library"):
        rows.append(("kernel of the library for this task", escape(str(config["library"]))))
    if config.get("published"):
        figures = ", ".join(f"{name} {value}" for name, value in config["published"].items())
        rows.append(("published elsewhere, measured", escape(figures)))
    rows += [(n, escape(str(config[n]))) for n in ("seed", "budget", "planner", "provider") if n in config]
    return "<table>" + "".join(f"<tr><th>{escape(k)}</th><td>{v}</td></tr>" for k, v in rows) + "</table>"


def _way(journal: Journal, way: list[JournalCandidate]) -> str:
    parts = []
    before: JournalCandidate | None = None
    for candidate in way:
        gain = ""
        if before is not None and before.microseconds and candidate.microseconds:
            gain = f", speed-up of {before.microseconds / candidate.microseconds:.2f}×"
        head = f"<b>{escape(candidate.id)} {escape(candidate.technique)}</b> {escape(_params(candidate))}: "
        head += f"{_time(candidate)}{gain}"
        body = f"<p class=label>{escape(candidate.why)}</p>" if candidate.why else ""
        if before is not None:
            body += _diff(journal.text(before.source), journal.text(candidate.source))
        parts.append(f"<details><summary>{head}</summary>{body}</details>")
        before = candidate
    return "".join(parts)


def _diff(old: str, new: str) -> str:
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=AROUND))[2:]
    marks = {"+": "new", "-": "old", "@": "label"}
    return (
        "<pre>"
        + "\n".join(
            f"<span class={marks[line[0]]}>{escape(line)}</span>" if line[:1] in marks else escape(line)
            for line in lines
        )
        + "</pre>"
    )


def _bottlenecks(way: list[JournalCandidate]) -> str:
    shown = [c for c in (way[0], way[-1]) if c.judgement.get("bottleneck")] if way else []
    if not shown:
        return "<p>The clock saw none of them.</p>"
    columns = []
    for candidate in shown if len(way) > 1 else shown[:1]:
        seen: Mapping[str, Any] = candidate.judgement["bottleneck"]
        units = "".join(_bar(name, share) for name, share in seen.get("utilisation", {}).items())
        helps = "".join(_bar(name, share) for name, share in seen.get("helps", {}).items() if share > 0)
        bound = escape(str(seen.get("bound", "?")))
        columns.append(
            f"<div><h3>{escape(candidate.id)}, {_time(candidate)}</h3><p>bound by {bound}</p>"
            f"<table>{units}</table><p class=label>clocks saved without this cost</p><table>{helps}</table></div>"
        )
    return f"<div class=columns>{''.join(columns)}</div>"


def _bar(name: str, share: float) -> str:
    width = 100 * max(0.0, min(1.0, share))
    bar = f'<span class=bar style="width:{width:.0f}px"></span>'
    return f"<tr><th>{escape(name)}</th><td>{bar} {100 * share:.0f} %</td></tr>"


def _violations(journal: Journal, story: Story) -> str:
    wrong = [c for c in story.candidates if c.judgement.get("violations")]
    if not wrong:
        return "<p>Nothing was.</p>"
    counts = Counter(rule for c in wrong for rule in {v["rule"] for v in c.judgement["violations"]})
    parts = ["<p>" + ", ".join(f"{escape(rule)} {number}" for rule, number in counts.most_common()) + "</p>"]
    for candidate in wrong:
        source = journal.text(candidate.source).splitlines()
        items = "".join(_violation(v, source) for v in candidate.judgement["violations"])
        head = f"{escape(candidate.id)} {escape(candidate.technique)} {escape(_params(candidate))}"
        parts.append(
            f"<details><summary>{head}: {escape(str(candidate.judgement['stage']))}</summary>{items}</details>"
        )
    return "".join(parts)


def _violation(violation: Mapping[str, Any], source: list[str]) -> str:
    line = int(violation.get("line") or 0)
    text = f"<p><b>{escape(violation['rule'])}</b> {escape(violation['message'])}</p>"
    if 0 < line <= len(source):
        first, last = max(1, line - AROUND), min(len(source), line + AROUND)
        rows = [
            f"<span class={'old' if number == line else 'label'}>{number:4} {escape(source[number - 1])}</span>"
            for number in range(first, last + 1)
        ]
        text += "<pre>" + "\n".join(rows) + "</pre>"
    detail = violation.get("detail") or {}
    where = detail.get("where")
    if where:
        text += f"<p class=label>at {escape(_where(where))}</p>"
    for operand in detail.get("operands", []):
        text += f"<p class=label>thread {operand.get('thread')}: {escape(_operand(operand))}</p>"
    if violation.get("help"):
        text += f"<p class=label>help: {escape(violation['help'])}</p>"
    return text


def _where(where: Mapping[str, Any]) -> str:
    values = [*where.get("sizes", {}).items(), *where.get("loop", {}).items()]
    return ", ".join([*(f"{k}={v}" for k, v in values), f"block {where.get('block')}", f"wave {where.get('wave')}"])


def _operand(operand: Mapping[str, Any]) -> str:
    tag = operand.get("tag")
    coords = "" if not tag else f"{tag['tensor']}[{', '.join(f'{k}={v}' for k, v in tag['coords'].items())}]"
    return f"{operand.get('name', '')} element {operand.get('element')} {operand.get('does', '')} {coords}"


def _learnt(journal: Journal, story: Story) -> str:
    """The policy as it came out, in words, for this family of kernels."""
    for event in journal.events(story.run.id, "policy"):
        policy = PolicyTable.from_json(event.payload, story.run.id)
        lines = policy.lessons(str(story.run.config.get("family", ""))).splitlines()
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        notes = f"<pre>{escape(policy.notes)}</pre>" if policy.notes else ""
        return f"<p class=label>runs: {1 + len(policy.runs)}, attempts: {policy.updates}</p><ul>{items}</ul>{notes}"
    return "<p>The run has not ended.</p>"


def _all(story: Story) -> str:
    rows = []
    for c in story.candidates:
        rules = ", ".join(sorted({v["rule"] for v in c.judgement.get("violations", [])}))
        said = _time(c) if c.microseconds is not None else f"{c.verdict} at {c.judgement.get('stage', '?')}: {rules}"
        evidence = str(c.judgement.get("evidence", ""))[:12]
        rows.append(
            f"<tr><td>{escape(c.id)}</td><td>{escape(c.parent or '')}</td><td>{escape(c.technique)}</td>"
            f"<td>{escape(_params(c))}</td><td>{escape(said)}</td><td><code>{evidence}</code></td></tr>"
        )
    head = "<tr><th></th><th>from</th><th>technique</th><th>parameters</th><th>judged</th><th>evidence</th></tr>"
    return f"<div class=wide><table>{head}{''.join(rows)}</table></div>"


def _params(candidate: JournalCandidate) -> str:
    return " ".join(f"{name}={value}" for name, value in candidate.params.items())


def _time(candidate: JournalCandidate | None) -> str:
    if candidate is None or candidate.microseconds is None:
        return "nothing that passed"
    return candidate.time

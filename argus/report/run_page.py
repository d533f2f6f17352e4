"""One self-contained HTML page about an optimization run, made from the journal alone.

    Path("run.html").write_text(run_page(journal, run))

Trajectory, the way from the naive kernel to the best one with every change of the source, the bottleneck before
and after, all candidates to sort and filter, every failure with its reason and counterexample at its line, what was
learnt, and the evidence behind each number. Times are called simulated or measured as the run's device says; what the
task names to stand beside (a kernel of the library, published figures) is named.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from html import escape

from argus.agent.bottleneck import bottleneck
from argus.agent.journal import Journal
from argus.agent.journal.lineage import JournalCandidate, Story
from argus.agent.judge import Judgement
from argus.agent.labels import heading, word
from argus.agent.policy import PolicyTable
from argus.agent.time_text import bounds, described, regimes
from argus.clock.bottleneck import BOTTLENECKS
from argus.clock.whatif import BOUNDS
from argus.report.candidates import candidate_table, params_text
from argus.report.failures import failures
from argus.report.page import bars, numbered, page, section, tiles
from argus.report.trajectory import trajectory

AROUND = 2


def run_page(journal: Journal, run: str | None = None) -> str:
    """The page of the run called `run`, or of the newest one."""
    story = Story.of(journal, run)
    best = story.best()
    way = story.ancestors(best) if best is not None else list(story.candidates[:1])
    title = f"{story.run.task}: from {_time(story.candidates[0] if story.candidates else None)} to {_time(best)}"
    task = escape(story.run.task)
    label = heading(story.run.config.get("device"))
    parts = [
        f"<header><h1>{task}</h1><p class=label>{escape(label)}; run {escape(story.run.id)}</p></header>",
        _tiles(story, best),
        section("Trajectory", trajectory(story.candidates, _marks(best))),
        section("The way to the best kernel", _way(journal, way)),
        section("Bottleneck", _bottlenecks(way)),
        section("All candidates", candidate_table(story, best)),
        section("What was refused, and why", failures(journal, story)),
        section("What was learnt", _learnt(journal, story)),
        section("The run", _summary(story, best)),
    ]
    if best is not None:
        lines = [(number, line, "") for number, line in enumerate(journal.text(best.source).splitlines(), 1)]
        parts.append(section("The kernel", numbered(lines)))
    return page(title, "\n".join(parts), ("tables.js",))


def _marks(best: JournalCandidate | None) -> dict[str, float]:
    roof = (best.judgement.get("roof") or {}) if best is not None else {}
    if not roof:
        return {}
    return {"roofline": math.exp(sum(math.log(value) for value in roof.values()) / len(roof))}


def _tiles(story: Story, best: JournalCandidate | None) -> str:
    called = word(story.run.config.get("device"))
    passed = sum(c.verdict == "pass" for c in story.candidates)
    count = ("candidates", str(len(story.candidates)), f"{passed} passed, {len(story.candidates) - passed} did not")
    if best is None or best.microseconds is None:
        return tiles([count])
    limits = bounds(best.judgement["times"], best.judgement.get("intervals") or {})
    between = "" if limits is None else f"{limits[0]:.1f} to {limits[1]:.1f} µs, "
    shown = [(f"best time, {called}", f"{best.microseconds:.1f} µs", f"{between}{best.id} {best.technique}")]
    first = story.candidates[0]
    if first.microseconds is not None:
        shown.append(("speed-up", f"{first.microseconds / best.microseconds:.2f}×", "over the naive kernel"))
    for name, least in _marks(best).items():
        shown.append((name, f"{100 * least / best.microseconds:.0f} %", f"no kernel is faster than {least:.1f} µs"))
    found = bottleneck(Judgement.from_json(best.judgement))
    shown.append(("bottleneck", found, BOTTLENECKS.get(found, "")))
    return tiles([*shown, count])


def _summary(story: Story, best: JournalCandidate | None) -> str:
    counts = Counter(c.verdict for c in story.candidates)
    said = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    rows = [("candidates", f"{len(story.candidates)}: {said}")]
    if best is not None and best.microseconds is not None:
        for shape, took in best.judgement["times"].items():
            least = best.judgement["roof"].get(shape)
            share = f", {100 * least / took:.0f} % of the roofline of {least:.1f} µs" if least else ""
            intervals = best.judgement.get("intervals") or {}
            time = described({shape: took}, intervals, regime=False)
            if shape in intervals:
                share += f"; interval of the regime: {regimes({shape: took}, intervals)}"
            rows.append((shape, f"{time} {word(story.run.config.get('device'))}{share}"))
        rows.append(("evidence", str(best.judgement["evidence"])))
    config = story.run.config
    if config.get("library"):
        rows.append(("kernel of the library for this task", str(config["library"])))
    if config.get("published"):
        figures = ", ".join(f"{name} {value}" for name, value in config["published"].items())
        rows.append(("published elsewhere, measured", figures))
    rows += [(n, str(config[n])) for n in ("seed", "budget", "planner", "provider") if n in config]
    cells = "".join(f"<tr><th scope=row>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
    return f"<div class=wide><table>{cells}</table></div>"


def _way(journal: Journal, way: list[JournalCandidate]) -> str:
    parts = []
    before: JournalCandidate | None = None
    for candidate in way:
        gain = ""
        if before is not None and before.microseconds and candidate.microseconds:
            gain = f", speed-up of {before.microseconds / candidate.microseconds:.2f}×"
        head = f"<b>{escape(candidate.id)} {escape(candidate.technique)}</b>{escape(_after(params_text(candidate)))}: "
        head += f"{escape(_time(candidate))}{gain}"
        body = f"<p class=label>{escape(candidate.why)}</p>" if candidate.why else ""
        if before is not None:
            body += _diff(journal.text(before.source), journal.text(candidate.source))
        parts.append(f"<details><summary>{head}</summary>{body}</details>")
        before = candidate
    return "".join(parts)


def _after(text: str) -> str:
    return f" {text}" if text else ""


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
        seen = candidate.judgement["bottleneck"]
        found = bottleneck(Judgement.from_json(candidate.judgement))
        helps = [(name, share) for name, share in seen.get("helps", {}).items() if share > 0 and name not in BOUNDS]
        columns.append(
            f"<div><h3>{escape(candidate.id)}, {escape(_time(candidate))}</h3>"
            f"<p>bottleneck <b>{escape(found)}</b>: {escape(BOTTLENECKS.get(found, ''))}</p>"
            f"<p class=label>units busy</p>{bars(seen.get('utilisation', {}).items())}"
            + (f"<p class=label>clocks saved without this cost</p>{bars(helps)}" if helps else "")
            + "</div>"
        )
    return f"<div class=columns>{''.join(columns)}</div>"


def _learnt(journal: Journal, story: Story) -> str:
    """The policy as it came out, in words, for this family of kernels."""
    for event in journal.events(story.run.id, "policy"):
        policy = PolicyTable.from_json(event.payload, story.run.id)
        lines = policy.lessons(str(story.run.config.get("family", ""))).splitlines()
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        notes = f"<pre>{escape(policy.notes)}</pre>" if policy.notes else ""
        return f"<p class=label>runs: {1 + len(policy.runs)}, attempts: {policy.updates}</p><ul>{items}</ul>{notes}"
    return "<p>The run has not ended.</p>"


def _time(candidate: JournalCandidate | None) -> str:
    if candidate is None or candidate.microseconds is None:
        return "nothing that passed"
    return described(candidate.judgement["times"], candidate.judgement.get("intervals") or {}, regime=False)

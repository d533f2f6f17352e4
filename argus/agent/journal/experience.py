"""What a journal knows about a technique: how often it was tried, what the judge said, what it gained.

    found = experience(journal, "lds-swizzle")
    found.tried, found.passed, found.rules          34, 20, {"bank_free": 9, "fresh": 3}
    found.best()                                    Gain("gemm", 426.6, 202.5, "3f0a…")

A gain is the time of the parent over the time of the candidate, prerequisites that were lowered with it included. A
candidate that several runs share counts once.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.agent.journal.lineage import JournalCandidate, Story
from argus.agent.journal.store import Journal


@dataclass(frozen=True, slots=True)
class Gain:
    """One candidate that passed, beside its parent; times in microseconds."""

    task: str
    before: float
    after: float
    evidence: str

    @property
    def factor(self) -> float:
        return self.before / self.after


@dataclass(frozen=True, slots=True)
class Experience:
    """Candidates of one technique; `rules`: what the judge named in those that did not pass."""

    tried: int
    passed: int
    undecided: int
    rules: Mapping[str, int]
    gains: Sequence[Gain]

    def best(self) -> Gain | None:
        return max(self.gains, key=lambda gain: gain.factor, default=None)

    def median(self) -> float | None:
        return statistics.median(gain.factor for gain in self.gains) if self.gains else None


def experience(journal: Journal, technique: str) -> Experience:
    """Over all runs of the journal."""
    seen: dict[tuple[str, str], tuple[JournalCandidate, Gain | None]] = {}
    for run in journal.runs():
        story = Story.of(journal, run.id)
        by_id = {candidate.id: candidate for candidate in story.candidates}
        for candidate in story.candidates:
            if candidate.technique == technique and candidate.judgement:
                parent = by_id.get(str(candidate.parent))
                seen[run.task, candidate.source] = (candidate, _gain(run.task, parent, candidate))
    candidates = [candidate for candidate, _ in seen.values()]
    rules = Counter(
        rule for c in candidates for rule in sorted({str(v["rule"]) for v in c.judgement.get("violations", ())})
    )
    return Experience(
        len(candidates),
        sum(c.verdict == "pass" for c in candidates),
        sum(c.verdict == "unknown" for c in candidates),
        dict(rules.most_common()),
        tuple(gain for _, gain in seen.values() if gain is not None),
    )


def _gain(task: str, parent: JournalCandidate | None, candidate: JournalCandidate) -> Gain | None:
    before, after = None if parent is None else parent.microseconds, candidate.microseconds
    if before is None or after is None:
        return None
    return Gain(task, before, after, str(candidate.judgement["evidence"]))

"""What a journal says about one run, put together: candidates with their judgements, the best, the way to it.

    story = Story.of(journal, run)
    story.best()                  the candidate with the least geometric mean of times among those that passed
    story.ancestors(candidate)    the way from the naive kernel to it

Only candidates whose judgement passed and carries evidence can be best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argus.agent.journal.errors import JournalError
from argus.agent.journal.store import Journal, RunInfo
from argus.agent.time_text import described, geometric_mean


@dataclass(frozen=True, slots=True)
class JournalCandidate:
    """One candidate of a run. `imports`: blobs of the files it imports; `judgement` is {} while it has none."""

    id: str
    step: int
    parent: str | None
    source: str
    imports: Mapping[str, str]
    technique: str
    params: Mapping[str, Any]
    why: str
    judgement: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.judgement.get("verdict", "pending"))

    @property
    def microseconds(self) -> float | None:
        """Geometric mean over the task's shapes; None unless it passed with evidence."""
        times = self.judgement.get("times") or {}
        if self.verdict != "pass" or not self.judgement.get("evidence") or not times:
            return None
        return geometric_mean(times.values())

    @property
    def time(self) -> str:
        """Its time with the clock's interval, in words; "" unless it passed with evidence."""
        if self.microseconds is None:
            return ""
        return described(self.judgement["times"], self.judgement.get("intervals") or {})


@dataclass(frozen=True, slots=True)
class Story:
    """A run and its candidates in the order they were proposed."""

    run: RunInfo
    candidates: Sequence[JournalCandidate]
    ended: Mapping[str, Any] | None

    @staticmethod
    def of(journal: Journal, name: str | None = None) -> Story:
        """The run called `name`, or the newest one."""
        run = journal.info(name)
        judged = {str(e.payload["candidate"]): e.payload for e in journal.events(run.id, "judgement")}
        found = []
        for event in journal.events(run.id, "candidate"):
            data = event.payload
            found.append(
                JournalCandidate(
                    str(data["id"]),
                    event.step,
                    None if data.get("parent") is None else str(data["parent"]),
                    str(data["source"]),
                    dict(data.get("imports") or {}),
                    str(data.get("technique", "")),
                    dict(data.get("params") or {}),
                    str(data.get("why", "")),
                    judged.get(str(data["id"]), {}),
                )
            )
        ends = [event.payload for event in journal.events(run.id, "end")]
        return Story(run, tuple(found), ends[-1] if ends else None)

    def best(self) -> JournalCandidate | None:
        ranked = [(c.microseconds, c.step, c) for c in self.candidates if c.microseconds is not None]
        return min(ranked, key=lambda item: item[:2])[2] if ranked else None

    def candidate(self, name: str) -> JournalCandidate:
        """By id, or by a beginning of it that only one has."""
        found = [c for c in self.candidates if c.id == name] or [c for c in self.candidates if c.id.startswith(name)]
        if len(found) != 1:
            many = f"{len(found)} candidates begin with" if found else "no candidate"
            raise JournalError("ARG-J106", f"run {self.run.id}: {many} {name}")
        return found[0]

    def ancestors(self, candidate: JournalCandidate) -> list[JournalCandidate]:
        """From the first kernel to `candidate`."""
        by_id = {c.id: c for c in self.candidates}
        way = [candidate]
        while way[-1].parent in by_id and len(way) <= len(self.candidates):
            way.append(by_id[str(way[-1].parent)])
        return way[::-1]

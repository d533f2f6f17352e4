"""A person's edit: a kernel file handed in to a run, judged, recorded and built upon like any other candidate.

    argus optimize gemm --edit mine.py               begin with it, behind the naive kernel
    argus optimize --resume --edit mine.py           the next candidate of a run that has not ended

That it came, and when, is an event of the run: a resumed run takes it up at the same place again.
"""

from __future__ import annotations

from argus.agent.journal.store import Run
from argus.agent.search_state import Edit


def hand_in(run: Run, source: str, name: str) -> None:
    """Keep the edit in the journal; the same text twice is one edit."""
    known = edits(run)
    if any(edit.source == source for edit in known):
        return
    judged = sum(1 for _ in run.journal.events(run.id, "candidate"))
    data = {"after": max(1, judged), "source": run.journal.put(source), "why": f"a person's edit: {name}"}
    run.record(0, f"edit:{len(known)}", "edit", data)


def edits(run: Run) -> list[Edit]:
    """What was handed in so far, in order."""
    found = [event.payload for event in run.journal.events(run.id, "edit")]
    return [Edit(int(data["after"]), run.journal.text(data["source"]), str(data["why"])) for data in found]

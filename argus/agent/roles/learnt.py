"""Entries that runs have learnt: an edit by a model that gained, distilled so that another run may try it.

    {"id": "own-two-slots", "title": "…", "family": "decode", "bottleneck": "latency", "invariants": ["ag.check.…"],
     "diff": "…", "gains": [{"task": "slot_decode", "factor": 1.31, "run": "r12"}]}

An edit that is proved and at least `GAIN` times as fast as what it was made from becomes a *candidate*: its diff, the
assertions it kept, and where it gained. It is kept apart from the knowledge base, in `FILE.entries.json` beside the
policy (`--policy FILE`), and counts as *confirmed* once it has gained on a second task. Planner and editor see both
kinds, with their standing. An entry is data: the schema bounds every field, and in a prompt each line of it stands
behind `> `.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from argus.agent.bottleneck import bottleneck
from argus.agent.free_edit.episode import FREE
from argus.agent.journal.store import Run
from argus.agent.policy import PolicyError
from argus.agent.policy_file import alone
from argus.agent.search_state import BY_MODEL, SearchCandidate, State
from argus.knowledge import KnowledgeEntry, load

GAIN = 1.05
VERSION = 1
LONGEST_DIFF = 4_000
MOST, MOST_GAINS, LARGEST = 64, 32, 1 << 20

Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Assertion = Annotated[str, Meta(pattern=r"^ag\.check\.[a-z_]+\([^\n\r]{1,160}\)$")]


class LearntGain(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    task: Word
    factor: Annotated[float, Meta(ge=0, le=10_000)]
    run: Word


class LearntEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What one edit did, and where it gained."""

    id: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,55}$")]
    title: Annotated[str, Meta(pattern=r"^[^\n\r]{1,200}$")]
    family: Word
    bottleneck: Word
    invariants: Annotated[list[Assertion], Meta(max_length=12)]
    diff: Annotated[str, Meta(max_length=LONGEST_DIFF)]
    gains: Annotated[list[LearntGain], Meta(min_length=1, max_length=MOST_GAINS)]

    @property
    def confirmed(self) -> bool:
        return len({gain.task for gain in self.gains if gain.factor >= GAIN}) >= 2

    @property
    def standing(self) -> str:
        told = ", ".join(f"{gain.factor:.2f}x on {gain.task}" for gain in self.gains[-4:])
        return f"{'confirmed' if self.confirmed else 'candidate, gained on one task'}: {told}"

    def as_entry(self) -> KnowledgeEntry:
        """As the planner takes it; nobody has a transformation for it."""
        factors = [gain.factor for gain in self.gains]
        return KnowledgeEntry(
            id=self.id, title=self.title, kind="local", families=(self.family,), lowered=False,
            bottlenecks=(self.bottleneck, "any"), gain=max(0.0, math.log2(max(sum(factors) / len(factors), 1e-3))),
            requires=(), conflicts=(), choices=({},), preserves=(), invariants=tuple(self.invariants), failure_modes=(),
            sources=(), version=1, prose="",
        )  # fmt: skip


class LearntFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    version: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    entries: Annotated[list[LearntEntry], Meta(max_length=MOST)]


@dataclass(frozen=True, slots=True)
class LearntEntries:
    """Learnt entries by name."""

    found: dict[str, LearntEntry] = field(default_factory=dict)

    def ids(self) -> frozenset[str]:
        return frozenset(self.found)

    def entries(self, family: str) -> dict[str, KnowledgeEntry]:
        return {one.id: one.as_entry() for one in self.found.values() if one.family == family}

    def quoted(self, family: str) -> str:
        """What a planner reads of them, every line behind `> `."""
        mine = [one for one in self.found.values() if one.family == family]
        lines = [f"{one.id}: {one.title} ({one.standing}; bottleneck {one.bottleneck})" for one in mine]
        return "".join(f"\n> {line}" for line in ["Learnt entries, edits of earlier runs:", *lines]) if lines else ""

    def with_(self, more: Iterable[LearntEntry]) -> LearntEntries:
        """The same and more: a known entry gets the new gains, once for each run and task."""
        both = dict(self.found)
        for new in more:
            old = both.get(new.id)
            if old is None or old.family != new.family:
                both.setdefault(new.id, new)
                continue
            seen = {(gain.task, gain.run) for gain in old.gains}
            fresh = [gain for gain in new.gains if (gain.task, gain.run) not in seen]
            both[new.id] = msgspec.structs.replace(old, gains=[*old.gains, *fresh][-MOST_GAINS:])
        ranked = sorted(both.values(), key=lambda one: (not one.confirmed, one.id))[:MOST]
        return LearntEntries({one.id: one for one in ranked})


def entries_beside(policy: Path) -> Path:
    return policy.with_name(policy.name + ".entries.json")


def read_learnt(policy: Path) -> LearntEntries:
    """The entries beside a policy; none where there is no file. What does not fit the schema is refused."""
    path = entries_beside(policy)
    if not path.is_file():
        return LearntEntries()
    data = path.read_bytes()
    if len(data) > LARGEST:
        raise PolicyError(f"{path}: more than {LARGEST} bytes")
    try:
        file = msgspec.json.decode(data, type=LearntFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(f"{path}: {error}") from error
    return LearntEntries({one.id: one for one in file.entries})


def leave_learnt(new: Iterable[LearntEntry], policy: Path) -> None:
    """Add what a run has distilled to the file as it then stands."""
    made = list(new)
    if not made:
        return
    with alone(policy.parent):
        both = read_learnt(policy).with_(made)
        path = entries_beside(policy)
        beside = path.with_name(path.name + ".new")
        text = msgspec.json.format(msgspec.json.encode(LearntFile(VERSION, list(both.found.values()))), indent=1)
        beside.write_bytes(text + b"\n")
        beside.replace(path)


def note_learnt(run: Run, learnt: LearntEntries) -> None:
    """Keep in the journal what a run begins with: a resumed one goes on from the same."""
    if learnt.found:
        file = LearntFile(VERSION, list(learnt.found.values()))
        run.record(0, "learnt:begin", "learnt", msgspec.to_builtins(file))


def learnt_of(run: Run) -> LearntEntries:
    """What a run began with."""
    known = run.journal.event(run.id, "learnt:begin")
    if known is None:
        return LearntEntries()
    file = msgspec.convert(known.payload, LearntFile)
    return LearntEntries({one.id: one for one in file.entries})


def distilled(state: State, known: LearntEntries, run: str) -> list[LearntEntry]:
    """The edits of a model in a run that gained and are proved, as entries."""
    found: list[LearntEntry] = []
    for candidate in state.candidates:
        parent = _before(state, candidate)
        if parent is None or not _by_model(candidate) or not math.isfinite(candidate.microseconds):
            continue
        factor = parent.microseconds / candidate.microseconds
        if not math.isfinite(factor) or factor < GAIN:
            continue
        made = _entry(state, known, candidate, parent, min(factor, 10_000.0), run)
        found += [] if made is None else [made]
    return found


def _before(state: State, candidate: SearchCandidate) -> SearchCandidate | None:
    """What the candidate is measured against: its parent, or the best before it where that has no time."""
    if candidate.parent is None:
        return None
    parent = state.candidates[candidate.parent]
    if math.isfinite(parent.microseconds):
        return parent
    timed = [one for one in state.candidates[: candidate.number] if math.isfinite(one.microseconds)]
    return min(timed, key=lambda one: one.microseconds, default=None)


def _by_model(candidate: SearchCandidate) -> bool:
    return bool(candidate.done) and (candidate.done[-1].endswith(BY_MODEL) or candidate.technique == FREE)


def _entry(
    state: State, known: LearntEntries, candidate: SearchCandidate, parent: SearchCandidate, factor: float, run: str
) -> LearntEntry | None:
    base = load().get(candidate.technique)
    if base is not None and base.lowered:
        return None  # a transformation does it already
    lines = list(
        difflib.unified_diff(parent.source.splitlines(), candidate.source.splitlines(), "before", "after", lineterm="")
    )
    diff = "\n".join(lines)[:LONGEST_DIFF]
    old = known.found.get(candidate.technique)
    name = candidate.technique
    if base is not None:
        name = f"{base.id}-edit"
    elif old is None and not name.startswith("own-"):
        name = f"edit-{hashlib.sha256(diff.encode()).hexdigest()[:8]}"
    stated = [line.strip() for line in candidate.source.splitlines() if line.strip().startswith("ag.check.")]
    data = {
        "id": name,
        "title": " ".join(candidate.why.split())[:200] or name,
        "family": state.task.family,
        "bottleneck": bottleneck(parent.judgement),
        "invariants": [line for line in stated if len(line) <= 160][:12],
        "diff": diff,
        "gains": [{"task": state.task.name, "factor": round(factor, 3), "run": run}],
    }
    try:
        return msgspec.convert(data, LearntEntry)
    except msgspec.ValidationError:
        return None

"""Answers of `optimize`, `history`, `best`, `diff`, `report`, `verify-all` and `kb`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from argus.cli.answers.base import Answer, AnswerPart


class CandidatePart(AnswerPart, kw_only=True):
    """`source` and `imports` name blobs of the journal; `judgement` is {} while there is none."""

    id: str
    parent: str | None
    technique: str
    params: dict[str, Any]
    source: str
    imports: dict[str, str]
    microseconds: float | None
    judgement: dict[str, Any]


class RunPart(AnswerPart, kw_only=True):
    """One run in short; `ended` is null while it can be resumed."""

    run: str
    task: str
    created: str
    config: dict[str, Any]
    candidates: int
    best: CandidatePart | None
    ended: dict[str, Any] | None


class HistoryAnswer(Answer, kw_only=True):
    """`argus history`."""

    schema: Literal["argus.history"] = "argus.history"
    journal: str
    runs: list[RunPart]


class RunAnswer(Answer, kw_only=True):
    """`argus history RUN`."""

    schema: Literal["argus.history.run"] = "argus.history.run"
    run: str
    task: str
    created: str
    config: dict[str, Any]
    candidates: list[CandidatePart]
    best: CandidatePart | None
    ended: dict[str, Any] | None


class BestAnswer(Answer, kw_only=True):
    """`way` are the candidates from the naive kernel to the best; `kernel` is its text."""

    schema: Literal["argus.best"] = "argus.best"
    run: str
    best: CandidatePart
    way: list[str]
    kernel: str
    output: str | None


class DiffAnswer(Answer, kw_only=True):
    schema: Literal["argus.diff"] = "argus.diff"
    run: str
    before: str
    after: str
    diff: str


class ReportAnswer(Answer, kw_only=True):
    schema: Literal["argus.report"] = "argus.report"
    run: str
    output: str


class VerifiedPart(AnswerPart, kw_only=True):
    """`exit` is 0 if the winner got the same judgement, 1 if another one, 3 if this machine cannot judge it."""

    run: str
    candidate: str | None
    exit: int
    said: str


class VerifyAnswer(Answer, kw_only=True):
    schema: Literal["argus.verify-all"] = "argus.verify-all"
    runs: list[VerifiedPart]


class OptimizeAnswer(Answer, kw_only=True):
    """Times are in microseconds, null where nothing passed; `evidence` is the digest of the best's judgement."""

    schema: Literal["argus.optimize"] = "argus.optimize"
    run: str
    ended: str
    evaluations: int
    steps: int
    naive_us: float | None
    naive_interval: Any
    best_interval: Any
    best_us: float | None
    best: str
    way: list[Any]
    evidence: str
    report: str | None
    source: str


class GainPart(AnswerPart, kw_only=True):
    task: str
    before_us: float
    after_us: float
    evidence: str


class EvidencePart(AnswerPart, kw_only=True):
    """What the journal knows about a technique."""

    tried: int
    passed: int
    undecided: int
    rules: dict[str, int]
    gains: list[GainPart]


class TechniquePart(AnswerPart, kw_only=True):
    id: str
    title: str
    kind: str
    families: list[str]
    lowered: bool
    bottlenecks: list[str]
    gain: float
    requires: list[str]
    conflicts: list[str]
    choices: list[dict[str, Any]]
    preserves: list[str]
    invariants: list[str]
    failure_modes: list[str]
    sources: list[str]
    version: int
    prose: str
    decisions: list[str]
    evidence: EvidencePart | UnsetType = UNSET
    code: str | UnsetType | None = UNSET


class KnowledgeAnswer(Answer, kw_only=True):
    """`argus kb list`, `search` (best first) and `show` (one entry)."""

    schema: Literal["argus.kb"] = "argus.kb"
    entries: list[TechniquePart]

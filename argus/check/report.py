"""The report of a check: all verdicts, what was noted beside them, and the JSON form (docs/interfaces.md, section 3).

    report.status            proved, refuted or unknown
    report.render()          text for people; report.to_json() for programs

Nothing here decides anything: verdicts are made by the ledger (`proved`) and by `check/explain`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from argus.check.certificate import Certificate
from argus.check.executed.outcome import Executed
from argus.check.verdict import Counterexample, ObligationState, Party, Site, Status, Verdict
from argus.ir.kernel import Kernel
from argus.ir.types import Span

if TYPE_CHECKING:
    from argus.check.rounding import Rounding

__all__ = ["Counterexample", "ObligationState", "Party", "Report", "Site", "Status", "Verdict"]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything the checker found about one kernel; `notes` say what it was not asked about."""

    kernel: Kernel
    verdicts: tuple[Verdict, ...]
    seconds: float
    stats: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """SMT-LIB text of what no strategy decided, where a verdict is unknown."""
    obligations: tuple[ObligationState, ...] = ()
    """Everything that had to be shown, listed before anything was decided."""
    certificates: tuple[Certificate, ...] = field(default=(), repr=False, compare=False)
    """What was claimed about loops, for each walk over the kernel; `argus.check.proof_cache` keeps it."""
    executed: Executed | None = None
    """Launches of the proved kernel; None where nobody executes proofs (`argus.check.engine`)."""

    @property
    def status(self) -> Status:
        states = {v.status for v in self.verdicts}
        return "refuted" if "refuted" in states else "unknown" if "unknown" in states else "proved"

    @property
    def proved(self) -> bool:
        return self.status == "proved"

    @property
    def premises(self) -> tuple[str, ...]:
        """What the proof of values rests on."""
        from argus.check.explain.assumptions import premises

        return premises(self.kernel) if any(v.rule == "value" and v.status == "proved" for v in self.verdicts) else ()

    @property
    def rounding(self) -> Rounding | None:
        """How far rounding may take results, and hazards of it, where values are proved. Derived when asked for."""
        from argus.check.rounding import rounding

        return rounding(self.kernel) if any(v.rule == "value" and v.status == "proved" for v in self.verdicts) else None

    def count(self) -> Counter[str]:
        return Counter(v.status for v in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel.name,
            "file": self.kernel.file,
            "settings": dict(self.kernel.settings),
            "seconds": round(self.seconds, 6),
            "stats": {name: round(value, 6) for name, value in self.stats.items()},
            "notes": list(self.notes),
            "premises": list(self.premises),
            **rounding_json(self.rounding),
            "executed": None if self.executed is None else self.executed.to_json(),
            "verdicts": [verdict_json(verdict) for verdict in self.verdicts],
            "obligations": [asdict(one) for one in self.obligations],
        }

    def render(self) -> str:
        from argus.check.explain.render import render

        return render(self)


def rounding_json(found: Rounding | None) -> dict[str, Any]:
    """Bounds by output, and hazards; empty where values are not proved."""
    if found is None:
        return {"rounding": [], "hazards": []}
    return {"rounding": [bound.to_json() for bound in found.bounds], "hazards": [asdict(h) for h in found.hazards]}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "rule": verdict.rule,
        "status": verdict.status,
        "decided_by": verdict.decided_by,
        "seconds": round(verdict.seconds, 6),
        "program_point": _point(verdict.span, verdict.op),
        "sites": verdict.sites,
        "bounds": {name: list(bound) for name, bound in verdict.bounds.items()},
        "reason": verdict.reason,
        "help": verdict.help,
        "counterexample": None if verdict.counterexample is None else counterexample_json(verdict.counterexample),
    }


def counterexample_json(example: Counterexample) -> dict[str, Any]:
    return {
        "rule": example.rule,
        "program_point": _point(example.span, example.op),
        "message": example.message,
        "where": {
            "sizes": dict(example.sizes),
            "loop": dict(example.loop),
            "block": list(example.block),
            "wave": example.wave,
        },
        "operands": [_party(operand) for operand in example.operands],
        "details": list(example.details),
        "help": example.help,
    }


def _party(party: Party) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": party.name,
        "thread": party.thread,
        "lane": party.thread % 64,
        "element": party.element,
        "does": party.does,
    }
    if party.tensor:
        record["tag"] = {"tensor": party.tensor, "coords": dict(party.coords)}
    if party.span is not None:
        record["at"] = {"file": party.span.file, "line": party.span.line, "col": party.span.col + 1}
    if party.written_at is not None:
        site = party.written_at
        record["written_at"] = {"file": site.span.file, "line": site.span.line, "thread": site.thread}
    return record


def _point(span: Span, op: int) -> dict[str, Any]:
    return {"file": span.file, "line": span.line, "col": span.col + 1, "op": op}

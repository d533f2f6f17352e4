"""Verdicts, counterexamples and the report that holds them, with their JSON form (docs/interfaces.md, section 3).

A verdict is one rule at one place of the source. `proved` holds for every launch the kernel's `requires` allow,
within the printed bounds of its variables. `refuted` comes with a counterexample that the concrete interpreter has
confirmed. `unknown` says what could not be decided and never counts as proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from argus.check.certificate import Certificate
from argus.ir.kernel import Kernel
from argus.ir.types import Span

Status = Literal["proved", "refuted", "unknown"]


@dataclass(frozen=True, slots=True)
class Site:
    """Who wrote an element: the store's place and the thread."""

    span: Span
    thread: int

    def to_json(self) -> dict[str, Any]:
        return {"file": self.span.file, "line": self.span.line, "thread": self.thread}


@dataclass(frozen=True, slots=True)
class Party:
    """One party of a counterexample: a register element of a thread, or an access of a thread to memory."""

    name: str
    thread: int
    element: int
    does: str
    tensor: str = ""
    coords: Mapping[str, int] = field(default_factory=dict)
    span: Span | None = None
    written_at: Site | None = None

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "name": self.name,
            "thread": self.thread,
            "lane": self.thread % 64,
            "element": self.element,
            "does": self.does,
        }
        if self.tensor:
            record["tag"] = {"tensor": self.tensor, "coords": dict(self.coords)}
        if self.span is not None:
            record["at"] = {"file": self.span.file, "line": self.span.line, "col": self.span.col + 1}
        if self.written_at is not None:
            record["written_at"] = self.written_at.to_json()
        return record


@dataclass(frozen=True, slots=True)
class Counterexample:
    """One execution that breaks a rule, as small as the rule allows."""

    rule: str
    span: Span
    op: int
    message: str
    sizes: Mapping[str, int]
    block: tuple[int, int, int]
    loop: Mapping[str, int]
    wave: int
    operands: tuple[Party, ...]
    help: str
    table: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "program_point": point(self.span, self.op),
            "message": self.message,
            "where": {
                "sizes": dict(self.sizes),
                "loop": dict(self.loop),
                "block": list(self.block),
                "wave": self.wave,
            },
            "operands": [operand.to_json() for operand in self.operands],
            "help": self.help,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule at one place. `sites` counts the program points and iteration classes it covers."""

    rule: str
    status: Status
    span: Span
    op: int
    decided_by: str
    seconds: float = 0.0
    sites: int = 1
    bounds: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    reason: str = ""
    counterexample: Counterexample | None = None
    help: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "status": self.status,
            "decided_by": self.decided_by,
            "seconds": round(self.seconds, 6),
            "program_point": point(self.span, self.op),
            "sites": self.sites,
            "bounds": {name: list(bound) for name, bound in self.bounds.items()},
            "reason": self.reason,
            "help": self.help,
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
        }


def point(span: Span, op: int) -> dict[str, Any]:
    return {"file": span.file, "line": span.line, "col": span.col + 1, "op": op}


@dataclass(frozen=True, slots=True)
class ObligationState:
    """One thing that had to be shown, and what became of it; `sites` are the visits at which it was discharged."""

    id: int
    op: int
    line: int
    rule: str
    what: str
    status: Literal["discharged", "open"]
    reason: str
    sites: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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

    @property
    def status(self) -> Status:
        states = {v.status for v in self.verdicts}
        return "refuted" if "refuted" in states else "unknown" if "unknown" in states else "proved"

    @property
    def proved(self) -> bool:
        return self.status == "proved"

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
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "obligations": [one.to_json() for one in self.obligations],
        }

    def render(self) -> str:
        from argus.check.explain.render import render

        return render(self)

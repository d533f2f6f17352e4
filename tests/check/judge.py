"""A mutant before two courts: the interpreter (truth) and the checker (verdict)."""

from __future__ import annotations

from dataclasses import dataclass

from argus.check import Report, check
from argus.ir.passes.schedule import scheduled
from tests.check.mutants import Mutant
from tests.check.programs import Program
from tests.check.truth import execute

SLOW_RULES = frozenset({"bank_free", "vector", "coalesced"})


@dataclass(frozen=True)
class Judgement:
    """`truth` is empty for a harmless mutant. `status` is the checker's verdict on correctness rules."""

    mutant: Mutant
    truth: str
    status: str
    rules: tuple[str, ...]
    report: Report

    @property
    def slow(self) -> bool:
        """Only rules about speed have something against it."""
        return not self.rules and any(v.status == "refuted" for v in self.report.verdicts)

    @property
    def replayed(self) -> bool:
        """Every refutation has a counterexample (which the checker shows only after executing it)."""
        refuted = [v for v in self.report.verdicts if v.status == "refuted"]
        return bool(refuted) and all(v.counterexample is not None for v in refuted)

    @property
    def fault(self) -> str:
        """What must never happen."""
        if self.truth and self.status == "proved":
            return "a wrong mutant is proved"
        if not self.truth and self.status == "refuted":
            return "a harmless mutant is refuted"
        return ""


def judge(program: Program, mutant: Mutant) -> Judgement:
    report = check(scheduled(mutant.kernel))
    relevant = [v for v in report.verdicts if v.rule not in SLOW_RULES]
    refuted = tuple(dict.fromkeys(v.rule for v in relevant if v.status == "refuted"))
    states = {v.status for v in relevant}
    status = "refuted" if refuted else "unknown" if "unknown" in states else "proved"
    sizes = [*program.sizes, *_other_sizes(program, mutant)]
    for verdict in relevant:
        if verdict.counterexample is not None:
            sizes.append(dict(verdict.counterexample.sizes))
    truth = ""
    for one in sizes:
        truth = execute(program, mutant.kernel, one)
        if truth:
            break
    return Judgement(mutant, truth, status, refuted, report)


def _other_sizes(program: Program, mutant: Mutant) -> list[dict[str, int]]:
    """Where a requirement was dropped, sizes that only the mutant allows."""
    if mutant.kind != "tail":
        return []
    base = program.sizes[0]
    return [{**base, name: value + 8} for name, value in base.items()]

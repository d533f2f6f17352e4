"""Rule `conform`: every MFMA multiplies elements that belong together.

Proved: for every matrix instruction, every wave, every row i, column j and slot k, under every path that reaches it
and for all sizes that `requires` allows, the elements of A and B that meet carry the same coordinate on every axis
both have (the contracted one and batch axes alike); the elements of one row of A (column of B) agree on all other
axes, so that no element of D mixes rows; and the accumulator already belongs to the coordinates of D, or is zero or
plain.

Assumes: the lane maps of `argus.gfx942.mfma`; coordinates of loads as stated by their accesses, which `in_bounds`
checks against the addresses. Zeros pair with anything. Says nothing about which coordinates are summed: that is
`reduced`.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.check.domain.tags import Case
from argus.check.events import ProgramPoint
from argus.check.explain.pairing_witness import mismatched_pair
from argus.check.report import Counterexample, Verdict
from argus.check.rules.rule import Rule, RuleFindings
from argus.check.transfer.matrix import Mismatch, Product
from argus.check.walk import KernelWalk, bounds_of
from argus.ir import ops
from argus.ir.types import Span


@dataclass(frozen=True, slots=True)
class Failure:
    """A mismatch with the path it was found on and the tags of both operands."""

    op: ops.Mfma
    place: ProgramPoint
    mismatch: Mismatch
    a: Case
    b: Case
    c: Case


class Conform(Rule):
    """Listens to matrix products."""

    name = "conform"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: RuleFindings[Failure] = RuleFindings()

    def matrix(self, op: ops.Mfma, place: ProgramPoint, cases: tuple[Case, ...], found: Product) -> None:
        failures = [Failure(op, place, m, *cases) for m in found.mismatches]
        self.settle(op, "pairs", "enumeration", [m.why or f"a {m.kind} does not match" for m in found.mismatches])
        self.found.add(op, place.facts, failures)

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        return [self._verdict(flow, span) for span in self.found.spans()]

    def _verdict(self, flow: KernelWalk, span: Span) -> Verdict:
        entries = self.found.at(span)
        first = entries[0]
        failures = [f for entry in entries for f in entry.failures]
        certain = [f for f in failures if f.mismatch.kind != "unknown"]
        if not failures:
            by = "enumeration" if not flow.prover.queries else "enumeration+z3"
            facts = (*flow.prover.base, *first.facts)
            shown = flow.ledger.at("conform", span)
            return flow.ledger.conclude(shown, "conform", span, first.op.id, by, len(entries), bounds_of(facts))
        reason = failures[0].mismatch.why
        for failure in certain[:3]:
            example = mismatched_pair(flow, failure)
            if isinstance(example, Counterexample):
                return Verdict("conform", "refuted", span, failure.op.id, "enumeration", counterexample=example)
            reason = example
        return Verdict("conform", "unknown", span, first.op.id, "enumeration", sites=len(entries), reason=reason)

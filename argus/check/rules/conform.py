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
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.transfer.matrix import Mismatch, Product
from argus.check.walk import KernelWalk
from argus.ir import ops


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
        self.found: list[RuleEvent[Failure]] = []
        self.asked_prover = False

    def matrix(self, op: ops.Mfma, place: ProgramPoint, cases: tuple[Case, ...], found: Product) -> None:
        failures = tuple(Failure(op, place, m, *cases) for m in found.mismatches)
        self.settle(op, "pairs", "enumeration", [m.why or f"a {m.kind} does not match" for m in found.mismatches])
        self.found.append(RuleEvent(op, place.facts, failures))

    def finish(self) -> None:
        self.asked_prover = bool(self.flow.prover.queries)

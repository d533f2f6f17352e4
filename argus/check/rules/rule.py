"""What all rules share: they listen to the walk, discharge obligations, and keep what they could not show as findings.

A finding is data: the op, the path, and what was wrong. Texts, spans and counterexamples are made of findings by
`check/explain`, after the proof. A rule begins anew with every walk (`begin`): what it heard during a walk whose
certificate did not hold is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread
from argus.check.events import Event, ProgramPoint, RuleEvents
from argus.check.transfer.matrix import Product
from argus.check.transfer.ordering import OrderFinding
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Op
from argus.ir.types import Value
from argus.layout.expr import Expr

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class RuleEvent(Generic[F]):
    """One event: where it happened and what was wrong with it."""

    op: Op
    facts: tuple[Expr, ...]
    failures: tuple[F, ...]


class Rule:
    """A listener that hears nothing; rules override what they need."""

    name = ""

    flow: KernelWalk

    def begin(self, flow: KernelWalk) -> None:
        """The walk that is about to start."""
        self.flow = flow

    def hear(self, event: Event, heard: Callable[[RuleEvents], None]) -> None:
        del event
        heard(self)

    def matrix(self, op: ops.Mfma, place: ProgramPoint, cases: tuple[Case, ...], found: Product) -> None:
        del op, place, cases, found

    def counted(self, op: Op, place: ProgramPoint, numbers: tuple[Expr, ...]) -> None:
        del op, place, numbers

    def indexed(self, op: ops.Symbol, place: ProgramPoint) -> None:
        del op, place

    def global_load(self, op: ops.Load | ops.CopyToLds, place: ProgramPoint, access: Access) -> None:
        del op, place, access

    def global_store(self, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags) -> None:
        del op, place, access, value

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        del op, place, access, start, value

    def lds_order(self, op: Op, found: OrderFinding) -> None:
        del op, found

    def barrier(self, op: ops.Barrier, why: str) -> None:
        del op, why

    def registers(self, op: Op, missing: tuple[Value, ...]) -> None:
        del op, missing

    def stated(self, op: ops.Check, place: ProgramPoint, values: Mapping[Value, Tags]) -> None:
        del op, place, values

    def settle(self, op: Op, what: str, reason: str, doubts: Iterable[str] = ()) -> None:
        """What this rule asks of the op being met is shown, unless there are doubts."""
        self.flow.ledger.settle(op.id, self.name, what, reason, doubts)

    def finish(self) -> None:
        """The walk is over: what speaks of the whole kernel is decided now."""

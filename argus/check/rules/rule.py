"""What all rules share: they listen to the walk and collect findings per place.

A rule begins anew with every walk (`begin`): what it heard during a walk whose certificate did not hold is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from argus.check.domain.tags import Case, Tags
from argus.check.domain.threads import Spread
from argus.check.events import ProgramPoint
from argus.check.report import Verdict
from argus.check.transfer.matrix import Product
from argus.check.transfer.ordering import OrderFinding
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, Op
from argus.ir.types import Span, Value
from argus.layout.expr import Expr

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class RuleEvent(Generic[F]):
    """One event: where it happened and what was wrong with it."""

    op: Op
    facts: tuple[Expr, ...]
    failures: tuple[F, ...]


class RuleFindings(Generic[F]):
    """Events in the order they were heard, grouped by source place on request."""

    def __init__(self) -> None:
        self._entries: list[RuleEvent[F]] = []

    def add(self, op: Op, facts: tuple[Expr, ...], failures: list[F]) -> None:
        self._entries.append(RuleEvent(op, facts, tuple(failures)))

    def spans(self) -> list[Span]:
        return list(dict.fromkeys(entry.op.span for entry in self._entries))

    def at(self, span: Span) -> list[RuleEvent[F]]:
        return [entry for entry in self._entries if entry.op.span == span]


class Rule:
    """A listener that hears nothing; rules override what they need."""

    name = ""

    flow: KernelWalk

    def begin(self, flow: KernelWalk) -> None:
        """The walk that is about to start."""
        self.flow = flow

    def matrix(self, op: ops.Mfma, place: ProgramPoint, cases: tuple[Case, ...], found: Product) -> None:
        del op, place, cases, found

    def counted(self, op: Op, place: ProgramPoint, numbers: tuple[Expr, ...]) -> None:
        del op, place, numbers

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

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        del flow
        return []


@lru_cache(maxsize=8)
def _index(kernel: Kernel) -> dict[int, Op]:
    return {op.id: op for op in ops.walk(kernel.body)}


def op_at(kernel: Kernel, number: int) -> Op:
    """The op with this id."""
    return _index(kernel)[number]

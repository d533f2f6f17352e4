"""Findings of rules, grouped by place of the source.

for span in spans(rule.found): at(rule.found, span)      events of one line, in the order they were heard
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from argus.check.rules.rule import RuleEvent
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Op
from argus.ir.types import Span
from argus.layout.expr import Expr

F = TypeVar("F")


def spans(found: Iterable[RuleEvent[F]]) -> list[Span]:
    """The places, in the order they were met."""
    return list(dict.fromkeys(event.op.span for event in found))


def at(found: Iterable[RuleEvent[F]], span: Span) -> list[RuleEvent[F]]:
    return [event for event in found if event.op.span == span]


def failures(events: Sequence[RuleEvent[F]]) -> list[F]:
    return [failure for event in events for failure in event.failures]


@lru_cache(maxsize=8)
def _index(kernel: Kernel) -> dict[int, Op]:
    return {op.id: op for op in ops.walk(kernel.body)}


def op_at(kernel: Kernel, number: int) -> Op:
    """The op with this id."""
    return _index(kernel)[number]


def bounds_of(facts: Iterable[Expr]) -> Mapping[str, tuple[int | None, int | None]]:
    """Declared bounds of the variables a proof speaks about, to be printed with it."""
    named = {v for fact in facts for v in fact.free()}
    return {v.name: (v.lo, v.hi) for v in sorted(named, key=lambda v: v.name)}

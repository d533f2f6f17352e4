"""A loop seen from its rounds: `period` consecutive iterations, walked one after the other.

    for kt in range(0, n):      period 1: counter kt, from 0 by 1
        ring[kt % 3]            period 3: kt = 3*kt_round + r, r = 0, 1, 2; the slots of the ring are constants then

Any period is right; one that makes addresses constant lets the walk follow LDS. Exits in the middle of a round are
alternatives, told by the number of iterations modulo the period.
"""

from __future__ import annotations

from dataclasses import dataclass

from argus.ir import ops
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_PERIOD = 16


@dataclass(frozen=True, slots=True)
class LoopShape:
    """The loop seen from its rounds of `period` iterations: `counter` runs by `stride` from `first`."""

    op: ops.For
    lo: Expr
    hi: Expr
    period: int
    counter: Expr
    first: Expr
    stride: int

    def value(self, r: int) -> Expr:
        """The loop variable in iteration r of the round."""
        if self.period == 1:
            return self.op.var
        return self.lo + self.op.step * (self.period * self.counter + r)

    @property
    def previous(self) -> dict[Expr, Expr | int]:
        return {self.counter: self.counter - self.stride}

    @property
    def next(self) -> dict[Expr, Expr | int]:
        return {self.counter: self.counter + self.stride}

    @property
    def start(self) -> dict[Expr, Expr | int]:
        return {self.counter: self.first}

    @property
    def trips(self) -> Expr:
        return E.maximum(0, (self.hi - self.lo + (self.op.step - 1)) // self.op.step)

    def facts(self, r: int) -> tuple[Expr, ...]:
        """What holds in iteration r of a round."""
        facts = [self.value(r).lt(self.hi)]
        if self.period == 1:
            facts.append(self.op.var.ge(self.lo))
            if self.op.step > 1:
                facts.append(((self.op.var - self.lo) % self.op.step).eq(0))
        return tuple(f for f in facts if f is not E.TRUE)


def loop_shape(op: ops.For, lo: Expr, hi: Expr, period: int) -> LoopShape:
    """The loop in rounds of `period`; in single iterations where it does not start at a constant."""
    if not 1 < period <= MAX_PERIOD or lo.op != "const":
        return LoopShape(op, lo, hi, 1, op.var, lo, op.step)
    most = None if op.var.hi is None else max(0, (op.var.hi - lo.value) // (op.step * period))
    counter = E.var(f"{op.var.name}_round", 0, most)
    return LoopShape(op, lo, hi, period, counter, E.const(0), 1)

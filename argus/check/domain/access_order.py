"""Accesses that nothing has ordered yet: the part of the abstract state that races and waits are decided by.

    store sA            live: {store}
    barrier             the store has retired and all waves have met: nothing is live
    load sA             compared with the live accesses: none
    (back edge)         the load is live, its loop variable one step back
    store sA            compared with that load: a conflict, unless a barrier came first

Each access to LDS is an array of granules with one bit per wave, so "two different waves, one byte" is a few operations
on arrays. `younger` counts the accesses certainly issued after a live one on its counter: a wait for at most n
outstanding retires those with n or more younger. Registers that a load has still to fill are kept in the same way
(`argus.ir.passes.insert_waits.PendingLoads`).

Waves may run out of step: `if wave >= 4: barrier` puts four waves one barrier behind the others, until the others pass
one too. Wave w has then passed `lag[w]` barriers more than the text says, and what it does between two barriers happens
beside what the others do between the next two. An access of a wave that lags stays live for waves that lag less, for as
many barriers as they lie apart (`passed`, `lags`). What holds then holds in the order of the text: the other rules need
not know of lags.

Two accesses are the same if all their content is: op, bytes of every wave, counter and lags (`identity`). Less may be
known of one than of the other: `includes` says whether one state claims nothing that another one does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from argus.check.invariant.loop_shape import LoopShape
from argus.ir import ops
from argus.ir.ops import Op, Shared
from argus.ir.passes.insert_waits import PendingLoads
from argus.layout import expr as E
from argus.layout.expr import Expr

Waves = NDArray[np.uint32]
AccessIdentity = tuple[int, Expr, int, bytes, str, int, tuple[int, ...]]
OUT_OF_STEP = "waves pass different numbers of barriers"
MOST_YOUNGER = 64
"""No counter counts further."""


THEN = "_then"
"""In names of loop variables after their loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """The bytes of one access: `rest + granule` for every set entry of `waves` (bit w: wave w touches it)."""

    op: Op
    buffer: Shared
    write: bool
    rest: Expr
    start: int
    waves: Waves
    content: bytes
    """The same bits as `waves`, to compare accesses by."""


@dataclass(frozen=True, slots=True, eq=False)
class LiveAccess:
    """An access no barrier has ordered yet. `younger`: accesses on its counter certainly issued after it. `passed`:
    barriers since it retired, which order it only for waves that do not lag less than its own do (`lags`, by wave)."""

    touch: Touch
    counter: str
    younger: int
    retired: bool
    facts: tuple[Expr, ...]
    loops: tuple[tuple[Expr, Expr], ...]
    passed: int = 0
    lags: tuple[int, ...] = ()

    @property
    def identity(self) -> AccessIdentity:
        touch = self.touch
        return touch.op.id, touch.rest, touch.start, touch.content, self.counter, self.passed, self.lags

    def followed(self) -> LiveAccess:
        """One more access on its counter."""
        younger = min(self.younger + 1, MOST_YOUNGER)
        return LiveAccess(
            self.touch, self.counter, younger, self.retired, self.facts, self.loops, self.passed, self.lags
        )

    def waited(self, limit: int | None) -> LiveAccess:
        """At most `limit` accesses of its counter are outstanding."""
        return replace(self, retired=True) if limit is not None and self.younger >= limit else self

    def moved(self, mapping: Mapping[Expr, Expr | int]) -> LiveAccess:
        """With variables replaced."""
        return replace(
            self,
            touch=replace(self.touch, rest=self.touch.rest.subst(mapping)),
            facts=tuple(f.subst(mapping) for f in self.facts),
            loops=tuple((var, value.subst(mapping)) for var, value in self.loops),
        )

    def weakened(self, other: LiveAccess) -> LiveAccess:
        """What is true of both."""
        facts = tuple(f for f in self.facts if f in other.facts)
        return replace(
            self, younger=min(self.younger, other.younger), retired=self.retired and other.retired, facts=facts
        )

    def claims_no_more_than(self, other: LiveAccess) -> bool:
        return (
            self.younger <= other.younger
            and (other.retired or not self.retired)
            and set(self.facts) <= set(other.facts)
        )


LiveSet = Mapping[AccessIdentity, LiveAccess]


@dataclass(frozen=True, slots=True, eq=False)
class AccessOrder:
    """Live accesses to LDS, how far waves lag, and registers that loads have still to fill. `lost` says of which
    buffers (None: of all) live accesses are not known any more, and why."""

    live: LiveSet
    lag: tuple[int, ...]
    pending: PendingLoads
    lost: Mapping[Shared | None, str] = field(default_factory=dict)

    def without(self, buffer: Shared | None, why: str) -> AccessOrder:
        """Nothing is known any more of live accesses to the buffer."""
        return self if buffer in self.lost else replace(self, lost={**self.lost, buffer: why})

    def unknown(self, buffer: Shared) -> str:
        """Why live accesses to a buffer are not known; empty if they are."""
        return next((why for one, why in self.lost.items() if one is None or overlap(one, buffer)), "")

    def with_live(self, accesses: Iterable[LiveAccess]) -> AccessOrder:
        return replace(self, live=_united(accesses))

    def and_then(self, access: LiveAccess) -> AccessOrder:
        """One more live access."""
        identity = access.identity
        known = self.live.get(identity)
        return replace(self, live={**self.live, identity: access if known is None else known.weakened(access)})

    def join(self, other: AccessOrder) -> AccessOrder:
        """What is true of both; lags that differ are nothing that can be followed."""
        lost = {**other.lost, **self.lost}
        if self.lag != other.lag:
            lost.setdefault(None, OUT_OF_STEP)
        live = _united((*self.live.values(), *other.live.values()))
        return AccessOrder(live, self.lag, self.pending.meet(other.pending), lost)

    def includes(self, other: AccessOrder) -> bool:
        """Every live access and pending register of the other state is here, and no more is said of it."""
        if None not in self.lost and (self.lag != other.lag or not other.lost.keys() <= self.lost.keys()):
            return False
        for identity, access in other.live.items():
            mine = self.live.get(identity)
            if (mine is None or not mine.claims_no_more_than(access)) and not self.unknown(access.touch.buffer):
                return False
        for value in other.pending.at:
            mine_younger = self.pending.younger(value)
            for counter, younger in other.pending.younger(value).items():
                if counter not in mine_younger or mine_younger[counter] > younger:
                    return False
        return True

    def waited(self, vm: int | None, lgkm: int | None) -> AccessOrder:
        limits = {"vm": vm, "lgkm": lgkm}
        live = {k: x.waited(limits[x.counter]) for k, x in self.live.items()}
        return replace(self, live=live, pending=self.pending.waited(vm, lgkm))

    def arrived(self, vm: int | None, lgkm: int | None) -> AccessOrder:
        """Registers are filled; no access is ordered by it."""
        return replace(self, pending=self.pending.waited(vm, lgkm))

    def barrier(self, bare: bool) -> AccessOrder:
        """All waves meet. Unless it is bare, each has first waited for its own LDS accesses."""
        done = (x if bare else replace(x, retired=x.retired or x.counter == "lgkm") for x in self.live.values())
        pending = self.pending if bare else self.pending.waited(None, 0)
        return replace(self, pending=pending).after_barrier(done)

    def after_barrier(self, live: Iterable[LiveAccess]) -> AccessOrder:
        """What some wave may still meet: accesses that have not retired, and those of waves that lag."""
        moved = (
            replace(x, passed=x.passed + 1, lags=x.lags if x.passed else self.lag) if x.retired else x for x in live
        )
        return self.with_live(x for x in moved if not x.passed or x.passed + min(self.lag) - max(x.lags) < 1)

    def out_of_step(self, late: Iterable[bool], barriers: int) -> AccessOrder:
        """These waves pass so many barriers more; what all have passed is a barrier of all."""
        lag = tuple(n + barriers * int(more) for n, more in zip(self.lag, late, strict=True))
        order = replace(self, lag=lag)
        while min(order.lag) > 0:
            order = replace(order, lag=tuple(n - 1 for n in order.lag))
            waiting = [x for x in order.live.values() if not x.passed]
            ordered = order.after_barrier(x for x in order.live.values() if x.passed)
            order = order.with_live((*waiting, *ordered.live.values()))
        return order

    def at_next_head(self, shape: LoopShape) -> AccessOrder:
        """The state after an iteration as seen from the next one, with the fact that there was an earlier one."""
        op = shape.op
        earlier = (shape.counter - shape.stride).ge(shape.first)

        def back(live: LiveAccess) -> LiveAccess:
            moved = live.moved(shape.previous)
            inside = any(var is op.var for var, _ in live.loops)
            return replace(moved, facts=tuple(dict.fromkeys((*moved.facts, earlier)))) if inside else moved

        pending = self.pending.carried(op.yields, op.args)
        return replace(self.with_live(map(back, self.live.values())), pending=pending.meet(pending))

    def without_past(self) -> AccessOrder:
        """Without facts about the iterations of loops that are over: their names are those of one walk."""

        def lasting(fact: Expr) -> bool:
            return not any(THEN in v.name for v in fact.free())

        return self.with_live(replace(x, facts=tuple(filter(lasting, x.facts))) for x in self.live.values())

    def before_loop(self, op: ops.For) -> AccessOrder:
        """The state before a loop as seen from its first head."""
        pending = self.pending.carried(op.inits, op.args)
        return replace(self, pending=pending.meet(pending))


def overlap(x: Shared, y: Shared) -> bool:
    """Two buffers have bytes in common."""
    return x is y or (x.base < y.base + y.bytes and y.base < x.base + x.bytes)


def after_loop(live: LiveAccess, shape: LoopShape, number: int) -> LiveAccess:
    """After the loop its variable is some value it had; a later loop may use the name again."""
    if not any(shape.counter in f.free() for f in (live.touch.rest, *live.facts)):
        return live
    name = E.var(f"{shape.counter.name}{THEN}{number}", shape.counter.lo, shape.counter.hi)
    return live.moved({shape.counter: name})


def _united(accesses: Iterable[LiveAccess]) -> LiveSet:
    """Accesses with equal content are one, with what is true of all of them."""
    result: dict[AccessIdentity, LiveAccess] = {}
    for live in accesses:
        identity = live.identity
        known = result.get(identity)
        result[identity] = live if known is None else known.weakened(live)
    return result

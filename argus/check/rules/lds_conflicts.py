"""Which accesses to LDS can meet: a forward walk that keeps the accesses no barrier has ordered yet.

    store sA            live: {store}
    barrier             the store has retired and all waves have met: nothing is live
    load sA             compared with the live accesses: none
    (back edge)         the load is live, its loop variable one step back
    store sA            compared with that load: a conflict, unless a barrier came first

Each access is an array of granules with one bit per wave, so "two different waves, one byte" is a few operations on
arrays. `younger` counts the accesses certainly issued after a live one on its counter: a wait for at most n outstanding
retires those with n or more younger. A loop is walked until the set at its head no longer changes.

Waves may run out of step: `if wave >= 4: barrier` puts four waves one barrier behind the others, until the others pass
one too. Wave w has then passed `lag[w]` barriers more than the text says, and what it does between two barriers happens
beside what the others do between the next two. An access of a wave that lags stays live for waves that lag less, for as
many barriers as they lie apart (`passed`, `lags`). What holds then holds in the order of the text: the other rules need
not know of lags.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.threads import conditions
from argus.check.invariant.induction import Shape, shape_of
from argus.check.solve.limits import afford
from argus.check.walk import Flow
from argus.ir import ops
from argus.ir.ops import Access, Op, Shared
from argus.ir.passes.liveness import live as live_ops
from argus.layout import expr as E
from argus.layout.expr import Expr

MAX_ROUNDS = 6
OUT_OF_STEP = "waves pass different numbers of barriers {}"
Waves = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """The bytes of one access: `rest + granule` for every set entry of `waves` (bit w: wave w touches it)."""

    op: Op
    buffer: Shared
    write: bool
    rest: Expr
    start: int
    waves: Waves


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

    def followed(self) -> LiveAccess:
        """One more access on its counter."""
        return LiveAccess(
            self.touch, self.counter, self.younger + 1, self.retired, self.facts, self.loops, self.passed, self.lags
        )

    @property
    def key(self) -> LiveKey:
        return self.touch.op.id, self.touch.rest, self.touch.start, self.passed, self.lags


@dataclass(frozen=True, slots=True)
class LdsConflict:
    """Two accesses that may meet in a granule of LDS, `first` earlier in program order."""

    first: LiveAccess
    second: LiveAccess
    granule: int


LiveKey = tuple[int, Expr, int, int, tuple[int, ...]]
LiveSet = dict[LiveKey, LiveAccess]


class Races:
    """The walk. `conflicts` is what it finds, in program order."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.unit = flow.memory.unit
        self.facts: tuple[Expr, ...] = ()
        self.loops: tuple[tuple[Expr, Expr], ...] = ()
        self.active: NDArray[np.bool_] = np.ones(flow.threads.shape, dtype=np.bool_)
        self.conflicts: dict[tuple[int, int], LdsConflict] = {}
        self.unknown: list[tuple[Op, str]] = []
        self.touched: dict[Shared, Op] = {}
        self.pairs = 0
        self.touches: dict[tuple[int, Expr], Touch | None] = {}
        self.lag = (0,) * flow.threads.waves
        self.emitted = live_ops(flow.kernel.body).ops
        self._fresh = 0

    def run(self, body: Iterable[Op]) -> None:
        """The whole kernel."""
        whole = list(body)
        self.walk(whole, {})
        if any(self.lag):
            self.unknown.append((whole[-1], OUT_OF_STEP.format("at the end of the kernel")))

    def walk(self, block: Iterable[Op], live: LiveSet) -> LiveSet:
        for op in block:
            match op:
                case ops.For():
                    live = self.loop(op, live)
                case ops.If():
                    live = self.branch(op, live)
                case ops.Schedule():
                    live = self.walk(op.body, live)
                case ops.Barrier():
                    live = self.barrier(op, live)
                case ops.Wait():
                    limits = {"vm": op.vm, "lgkm": op.lgkm}
                    live = {k: _waited(x, limits[x.counter]) for k, x in live.items()}
                case ops.Load() | ops.Store() | ops.Atomic() | ops.CopyToLds():
                    live = self.access(op, live)
                case _:
                    pass
        return live

    def barrier(self, op: ops.Barrier, live: LiveSet) -> LiveSet:
        done = (
            live.values() if op.bare else [replace(x, retired=x.retired or x.counter == "lgkm") for x in live.values()]
        )
        return self.after_barrier(done, self.lag)

    def after_barrier(self, live: Iterable[LiveAccess], lags: tuple[int, ...]) -> LiveSet:
        """What some wave may still meet: accesses that have not retired, and those of waves that lag."""
        moved = (replace(x, passed=x.passed + 1, lags=x.lags if x.passed else lags) if x.retired else x for x in live)
        return {x.key: x for x in moved if not x.passed or x.passed + min(self.lag) - max(x.lags) < 1}

    def out_of_step(self, op: ops.If, live: LiveSet) -> LiveSet | None:
        """`if wave >= 4: barrier`: those waves lag by one barrier more. None if the branch is something else."""
        truth, _ = conditions(self.flow.threads, self.flow.here(op.cond))
        extra = len(op.then)
        plain = extra > 0 and not op.orelse and all(isinstance(inner, ops.Barrier) for inner in op.then)
        if truth is None or not plain or not (truth == truth[:, :1]).all() or not self.active.all():
            return None
        self.lag = tuple(n + extra * int(late) for n, late in zip(self.lag, truth[:, 0], strict=True))
        while min(self.lag) > 0:
            self.lag = tuple(n - 1 for n in self.lag)
            waiting = {k: x for k, x in live.items() if not x.passed}
            ordered = self.after_barrier((x for x in live.values() if x.passed), self.lag)
            live = {**waiting, **ordered}
        return live

    def access(self, op: Op, live: LiveSet) -> LiveSet:
        counter = op.counter
        assert counter is not None
        surely = op.surely_issued and op.id in self.emitted
        grown = {k: x.followed() if surely and x.counter == counter else x for k, x in live.items()}
        target = lds_target(op)
        if target is None:
            return grown
        buffer = target.memory
        assert isinstance(buffer, Shared)
        self.touched.setdefault(buffer, op)
        touch = self.touch(op, target)
        if touch is None:
            self.unknown.append((op, "the guard of this access to LDS depends on sizes and threads at once"))
            return grown
        mine = LiveAccess(touch, counter, 0, False, self.facts, self.loops)
        self.overlap_inside(mine, isinstance(op, ops.Atomic))
        for other in grown.values():
            self.compare(other, mine)
        return {**grown, mine.key: mine}

    def touch(self, op: Op, target: Access) -> Touch | None:
        buffer = target.memory
        assert isinstance(buffer, Shared)
        address = self.flow.here(target.address)
        key = (op.id, address)
        if key not in self.touches:
            self.touches[key] = self._bytes(op, target, buffer, address)
        return self.touches[key]

    def _bytes(self, op: Op, target: Access, buffer: Shared, address: Expr) -> Touch | None:
        spread = self.flow.threads.spread(address)
        active = self.active
        if target.guard is not None:
            truth, _ = conditions(self.flow.threads, self.flow.here(target.guard))
            if truth is not None:
                active = active & truth
        if spread.rest is None:
            return None
        constant = spread.rest.value if spread.rest.op == "const" else 0
        rest = E.const(0) if spread.rest.op == "const" else spread.rest
        first = (spread.offsets + constant + buffer.base) // self.unit
        count = target.count * buffer.dtype.bytes // self.unit
        low, high = int(first.min()), int(first.max()) + count
        afford(4 * (high - low))
        waves = np.zeros(high - low, dtype=np.uint32)
        for w in range(self.flow.threads.waves):
            where = (first[w][active[w]] - low)[:, None] + np.arange(count)
            waves[where.reshape(-1)] |= np.uint32(1 << w)
        return Touch(op, buffer, not isinstance(op, ops.Load), rest, low, waves)

    def overlap_inside(self, mine: LiveAccess, atomic: bool) -> None:
        """The same store executed by two waves at once."""
        touch = mine.touch
        if not touch.write or atomic:
            return
        several = (touch.waves & (touch.waves - np.uint32(1))) != 0
        if several.any():
            self.report(mine, mine, touch.start + int(np.argmax(several)))

    def compare(self, first: LiveAccess, second: LiveAccess, arms: bool = False) -> None:
        """Two accesses that no barrier orders. Those of the two `arms` of a branch have no order in one wave either."""
        x, y = first.touch, second.touch
        if not (x.write or y.write) or (isinstance(x.op, ops.Atomic) and isinstance(y.op, ops.Atomic)):
            return
        if not self.same_memory(x, y):
            return
        self.pairs += 1
        shift = E.as_expr(x.rest - y.rest)
        if shift.op != "const":
            self.unknown.append((y.op, f"the addresses {x.rest} and {y.rest} were not compared"))
            return
        low = max(x.start + shift.value // self.unit, y.start)
        high = min(x.start + shift.value // self.unit + len(x.waves), y.start + len(y.waves))
        if low >= high:
            return
        a = x.waves[low - x.start - shift.value // self.unit : high - x.start - shift.value // self.unit]
        b = y.waves[low - y.start : high - y.start]
        if first.passed:
            meet = self.not_yet_ordered(first, a, b)
        else:
            union = a | b
            meet = (a != 0) & (b != 0) & ((union & (union - np.uint32(1))) != 0)
        if arms or (first.counter != second.counter and not first.retired):
            meet |= (a & b) != 0
        if meet.any():
            self.report(first, second, low + int(np.argmax(meet)))

    def not_yet_ordered(self, first: LiveAccess, a: Waves, b: Waves) -> NDArray[np.bool_]:
        """Where a wave of `first` lags so far behind a wave that comes now that their barriers do not order them."""
        meet = np.zeros(a.shape, dtype=np.bool_)
        for lag in set(first.lags):
            late = _bits(n == lag for n in first.lags)
            ahead = _bits(first.passed + n - lag < 1 for n in self.lag)
            meet |= ((a & late) != 0) & ((b & ahead) != 0)
        return meet

    def same_memory(self, x: Touch, y: Touch) -> bool:
        one, other = x.buffer, y.buffer
        return one is other or (one.base < other.base + other.bytes and other.base < one.base + one.bytes)

    def report(self, first: LiveAccess, second: LiveAccess, granule: int) -> None:
        key = (first.touch.op.id, second.touch.op.id)
        if key in self.conflicts:
            return
        facts = (*first.facts, *second.facts)
        if self.flow.prover.possible(facts) is False:
            return
        self.conflicts[key] = LdsConflict(first, second, granule)

    # -- control flow ----------------------------------------------------------------------------------------------

    def branch(self, op: ops.If, live: LiveSet) -> LiveSet:
        staggered = self.out_of_step(op, live)
        if staggered is not None:
            return staggered
        truth, shared = conditions(self.flow.threads, self.flow.here(op.cond))
        for inner in ops.walk([*op.then, *op.orelse]):
            if isinstance(inner, ops.Barrier) and shared is None:
                self.unknown.append((inner, "a barrier under a condition that differs between threads"))
        if truth is not None:
            return self.some_threads(op, live, truth)
        before, lag = self.facts, self.lag
        ends = []
        for guard, block in ((shared, op.then), (None if shared is None else E.lnot(shared), op.orelse)):
            self.facts = before if guard is None else (*before, guard)
            if self.flow.prover.possible(self.facts) is not False:
                self.lag = lag
                ends.append(self.walk(block, live))
                self.in_step(op, lag, "after a branch")
        self.facts = before
        if shared is None:
            self.unordered(live, ends)
        return _union(ends)

    def unordered(self, before: LiveSet, ends: list[LiveSet]) -> None:
        """Both arms of a branch happen, in either order: what one did is compared with what the other did."""
        if len(ends) < 2:
            return
        made = [[x for x in end.values() if before.get(x.key) is None] for end in ends]
        for x in made[0]:
            for y in made[1]:
                self.compare(x, y, arms=True)

    def in_step(self, op: Op, lag: tuple[int, ...], where: str) -> None:
        if self.lag != lag:
            self.unknown.append((op, OUT_OF_STEP.format(where)))
            self.lag = lag

    def some_threads(self, op: ops.If, live: LiveSet, truth: NDArray[np.bool_]) -> LiveSet:
        """A condition on wave and lane: each side belongs to its threads, and both happen."""
        before = self.active
        ends = []
        for mask, block in ((before & truth, op.then), (before & ~truth, op.orelse)):
            if mask.any():
                self.active = mask
                ends.append(self.walk(block, live))
        self.active = before
        self.unordered(live, ends)
        return _union(ends)

    def loop(self, op: ops.For, live: LiveSet) -> LiveSet:
        shape = shape_of(self.flow, op)
        facts, loops, rename = self.facts, self.loops, dict(self.flow.rename)
        head = live
        leaving: list[LiveSet] = [live]
        for _ in range(MAX_ROUNDS):
            leaving = [live]
            current = head
            for r in range(shape.period):
                self.facts = (*facts, *_all_facts(shape, r))
                self.loops = (*loops, (op.var, shape.value(r)))
                if shape.period > 1:
                    self.flow.rename = {**rename, op.var: shape.value(r)}
                lag = self.lag
                current = self.walk(op.body, current)
                self.in_step(op, lag, "from one turn of a loop to the next")
                leaving.append(current)
            self.facts, self.loops, self.flow.rename = facts, loops, rename
            again = _union([head, _keyed(_back(x, shape) for x in current.values())])
            if _same(again, head):
                break
            head = again
        else:
            self.unknown.append((op, "accesses of ever more iterations stay unordered: the loop has no barrier"))
        return _union([_keyed(self.outside(x, shape) for x in end.values()) for end in leaving])

    def outside(self, live: LiveAccess, shape: Shape) -> LiveAccess:
        """After the loop its variable is some value it had; a later loop may use the name again."""
        if not any(shape.counter in f.free() for f in (live.touch.rest, *live.facts)):
            return live
        self._fresh += 1
        name = E.var(f"{shape.counter.name}_then{self._fresh}", shape.counter.lo, shape.counter.hi)
        return _moved(live, {shape.counter: name})


def _all_facts(shape: Shape, r: int) -> tuple[Expr, ...]:
    facts = shape.facts(r)
    return (*facts, shape.counter.ge(shape.first)) if shape.period > 1 else facts


def _bits(chosen: Iterable[bool]) -> np.uint32:
    return np.uint32(sum(1 << w for w, yes in enumerate(chosen) if yes))


def _waited(live: LiveAccess, limit: int | None) -> LiveAccess:
    return replace(live, retired=True) if limit is not None and live.younger >= limit else live


def _keyed(accesses: Iterable[LiveAccess]) -> LiveSet:
    """Accesses that have become equal are one, with what is true of all of them."""
    return _union([{x.key: x} for x in accesses])


def _back(live: LiveAccess, shape: Shape) -> LiveAccess:
    """The access as seen from the next iteration; that there was an earlier one is a fact of its own."""
    moved = _moved(live, shape.previous)
    inside = any(var is shape.op.var for var, _ in live.loops)
    return replace(moved, facts=(*moved.facts, (shape.counter - shape.stride).ge(shape.first))) if inside else moved


def _moved(live: LiveAccess, mapping: dict[Expr, Expr | int]) -> LiveAccess:
    return replace(
        live,
        touch=replace(live.touch, rest=live.touch.rest.subst(mapping)),
        facts=tuple(f.subst(mapping) for f in live.facts),
        loops=tuple((var, value.subst(mapping)) for var, value in live.loops),
    )


def _union(sets: list[LiveSet]) -> LiveSet:
    result: LiveSet = {}
    for one in sets:
        for key, live in one.items():
            if key in result:
                known = result[key]
                younger = min(known.younger, live.younger)
                facts = tuple(f for f in known.facts if f in live.facts)
                result[key] = replace(known, younger=younger, retired=known.retired and live.retired, facts=facts)
            else:
                result[key] = live
    return result


def _same(a: LiveSet, b: LiveSet) -> bool:
    return a.keys() == b.keys() and all(
        a[k].retired == b[k].retired and min(a[k].younger, 64) == min(b[k].younger, 64) and a[k].facts == b[k].facts
        for k in a
    )


def lds_target(op: Op) -> Access | None:
    """The access to LDS an op makes, if any."""
    if isinstance(op, ops.CopyToLds):
        return Access(op.into, op.lds_base + 4 * E.var("lane", 0, 63), op.access.count)
    if isinstance(op, ops.Load | ops.Store | ops.Atomic) and isinstance(op.access.memory, Shared):
        return op.access
    return None

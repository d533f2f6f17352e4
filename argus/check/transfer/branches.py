"""Tag transfer of `If`.

A condition on wave and lane alone is known for every thread and just selects threads. A condition all threads share
(on sizes, blocks, loop variables) makes guarded alternatives, dropped again where the path excludes them. A condition
that mixes both leaves only what the two sides agree on. Work that makes no difference where it is skipped
(`optional_work`) is taken as always done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.access_order import AccessOrder, LiveAccess
from argus.check.domain.tags import Case, Tags, merge, uniform
from argus.check.domain.threads import conditions
from argus.check.transfer import optional_work, ordering
from argus.ir import ops
from argus.ir.ops import Op, Shared
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk

Mask = NDArray[np.bool_]
MAX_SLOTS = 8


def branch(flow: KernelWalk, op: ops.If) -> None:
    truth, shared = conditions(flow.threads, flow.here(op.cond))
    if truth is not None:
        _select_threads(flow, op, truth)
    elif shared is not None:
        _select_path(flow, op, shared)
    else:
        _entangled(flow, op)


def by_slot(flow: KernelWalk, op: Op) -> bool:
    """A load from a ring's slot that depends on a size, `ring[K - 1]`: walked once for every slot that it may be, each
    under the condition that it is that one. False where the op is none, or its slot is known."""
    slot = _open_slot(flow, op)
    if slot is None:
        return False
    facts, order, renamed = flow.facts, flow.order, flow.rename
    ends: list[tuple[Expr, Tags]] = []
    orders: list[AccessOrder] = []
    for number in range(slot.args[1].value):
        guard = slot.eq(number)
        if flow.feasible(guard):
            flow.facts, flow.order, flow.rename = (*facts, guard), order, {**renamed, slot: E.const(number)}
            flow.guards.add(guard)
            flow.step(op)
            ends.append((guard, flow.values[op.results[0]]))
            orders.append(flow.order)
            flow.facts, flow.rename = facts, renamed
    if not ends:
        return False
    flow.order = reduce(AccessOrder.join, orders)
    flow.values[op.results[0]] = _joined(flow, ends)
    return True


def _open_slot(flow: KernelWalk, op: Op) -> Expr | None:
    """The remainder in a load's address of LDS, by a small number, that follows from sizes and blocks alone."""
    loads = [f for f in op.footprints if f.reads and not f.writes and isinstance(f.memory, Shared)]
    if len(loads) != 1 or not (remainders := _remainders(loads[0].address)):
        return None
    moving = {v for var, value in flow.loops for v in (var, *value.free())} | flow.threads.symbols.keys()
    slots = (node for node in remainders if node not in flow.rename and not node.free() & moving)
    return next(slots, None)


@lru_cache(maxsize=1 << 12)
def _remainders(address: Expr) -> tuple[Expr, ...]:
    """Remainders by small numbers that are the same for all threads, as far as names tell."""
    return tuple(
        node
        for node in E.postorder(address)
        if node.op == "mod"
        and node.args[1].op == "const"
        and 1 < node.args[1].value <= MAX_SLOTS
        and not any(v.name in ("lane", "wave") for v in node.free())
    )


def _select_threads(flow: KernelWalk, op: ops.If, truth: Mask) -> None:
    if ordering.puts_out_of_step(flow, op, truth):
        return
    before, facts, order = flow.active, flow.facts, flow.order
    arms: list[list[LiveAccess]] = []
    ends: list[AccessOrder] = []
    sides = ((before & truth, op.then, op.then_yields), (before & ~truth, op.orelse, op.else_yields))
    for mask, block, yields in sides:
        if mask.any():
            flow.active, flow.order = mask, order
            with _arm(flow, arms):
                flow.block(block)
            ends.append(_end(flow, op, yields))
            flow.facts = facts
        else:
            flow.ledger.unreachable(block, "no thread takes this way")
    flow.active, flow.order = before, reduce(AccessOrder.join, ends)
    split = [w for w in range(len(before)) if (before & truth)[w].any() and (before & ~truth)[w].any()]
    ordering.meeting_arms(flow, arms, sum(1 << w for w in split))
    for out, yes, no in zip(op.outs, op.then_yields, op.else_yields, strict=True):
        if not (before & ~truth).any():
            flow.values[out] = flow.values[yes]
        elif not (before & truth).any():
            flow.values[out] = flow.values[no]
        else:
            operands = (flow.values[yes], flow.values[no])
            flow.values[out] = flow.combined(op, out, operands, lambda cases: _choose(truth, cases))


@contextmanager
def _arm(flow: KernelWalk, arms: list[list[LiveAccess]]) -> Iterator[None]:
    """Accesses made inside are those of one arm."""
    mine: list[LiveAccess] = []
    arms.append(mine)
    around = flow.arms
    flow.arms = (*around, mine)
    yield
    flow.arms = around


def _end(flow: KernelWalk, op: ops.If, yields: tuple[Value, ...]) -> AccessOrder:
    """What is not ordered at the end of an arm: registers it hands on have still to be filled under their new names."""
    return replace(flow.order, pending=flow.order.pending.carried(yields, op.outs))


def _select_path(flow: KernelWalk, op: ops.If, shared: Expr) -> None:
    before, memory, order = flow.facts, flow.memory.tags, flow.order
    ends: list[tuple[Expr, Tags, list[Tags]]] = []
    orders: list[AccessOrder] = []
    sides = ((shared, op.then, op.then_yields), (E.lnot(shared), op.orelse, op.else_yields))
    for guard, block, yields in sides:
        if not flow.feasible(guard):
            flow.ledger.unreachable(block, f"here {guard} is impossible")
            continue
        flow.facts, flow.memory.tags, flow.order = (*before, guard), memory, order
        flow.guards.add(guard)
        flow.block(block)
        ends.append((guard, flow.memory.tags, [flow.values[v] for v in yields]))
        orders.append(_end(flow, op, yields))
        flow.facts = before
    flow.order = reduce(AccessOrder.join, orders) if orders else order
    flow.memory.tags = _joined(flow, [(g, m) for g, m, _ in ends])
    for n, out in enumerate(op.outs):
        joined = None
        if len(ends) == 2:
            joined = optional_work.same_where_skipped(flow, ends[0][2][n], ends[1][2][n], shared)
        flow.values[out] = joined or _joined(flow, [(g, values[n]) for g, _, values in ends])


def _joined(flow: KernelWalk, ends: list[tuple[Expr, Tags]]) -> Tags:
    if len(ends) == 1:
        return ends[0][1]
    return merge(Tags(tuple(c.under(guard) for guard, tags in ends for c in tags.cases)))


def _entangled(flow: KernelWalk, op: ops.If) -> None:
    """Threads disagree in a way that depends on sizes: only what both sides leave equal is still known."""
    why = "threads take different branches depending on sizes"
    memory, facts, around, order = flow.memory.tags, flow.facts, flow.entangled, flow.order
    after: list[Tags] = []
    arms: list[list[LiveAccess]] = []
    ends: list[AccessOrder] = []
    condition = flow.here(op.cond)
    sides = ((condition, op.then, op.then_yields), (E.lnot(condition), op.orelse, op.else_yields))
    for held, block, yields in sides:
        flow.memory.tags, flow.order = memory, order
        flow.entangled = (*around, held)
        with _arm(flow, arms):
            flow.block(block)
        ends.append(_end(flow, op, yields))
        flow.entangled, flow.facts = around, facts
        after.append(flow.memory.tags)
    flow.order = reduce(AccessOrder.join, ends)
    ordering.meeting_arms(flow, arms, (1 << flow.threads.waves) - 1)
    flow.memory.tags = _agreeing(flow, after, flow.tables.lost(why, op.id), None)
    for out, yes, no in zip(op.outs, op.then_yields, op.else_yields, strict=True):
        pair = [flow.values[yes], flow.values[no]]
        joined = optional_work.same_where_skipped(flow, pair[0], pair[1], flow.here(op.cond))
        flow.values[out] = joined or _agreeing(flow, pair, flow.tables.lost(why, op.id), condition)


def _agreeing(flow: KernelWalk, tags: list[Tags], lost: int, condition: Expr | None) -> Tags:
    if tags[0] is tags[1]:
        return tags[0]
    pairs = list(zip(tags[0].cases, tags[1].cases, strict=False))
    if len(tags[0].cases) == len(tags[1].cases) and all(x.guard is y.guard for x, y in pairs):
        places = [optional_work.without_difference(flow, x, y, condition) for x, y in pairs]
        if all(places):
            return Tags(tuple(case for case in places if case))
    if any(len(t.cases) != 1 for t in tags):
        return uniform(tags[0].shape, lost, flow.tables.width)
    x, y = tags[0].cases[0], tags[1].cases[0]
    same = (x.record == y.record) & (x.offset == y.offset).all(axis=-1)
    record = np.where(same, x.record, lost).astype(np.int32)
    offset = np.where(same[..., None], x.offset, 0).astype(np.int32)
    return Tags((Case(E.TRUE, record, offset, x.site),))


def _choose(truth: Mask, cases: tuple[Case, ...]) -> Case:
    yes, no = cases
    pick = truth[..., None]
    return Case(
        E.TRUE,
        np.where(pick, yes.record, no.record).astype(np.int32),
        np.where(pick[..., None], yes.offset, no.offset).astype(np.int32),
        np.where(pick, yes.site, no.site),
    )

"""Tag transfer of `If`.

A condition on wave and lane alone is known for every thread and just selects threads. A condition all threads share
(on sizes, blocks, loop variables) makes guarded alternatives, dropped again where the path excludes them. A condition
that mixes both leaves only what the two sides agree on. Work that makes no difference where it is skipped
(`optional_work`) is taken as always done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.tags import Case, Tags, merge, uniform
from argus.check.domain.threads import conditions
from argus.check.transfer import optional_work
from argus.ir import ops
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk

Mask = NDArray[np.bool_]


def branch(flow: KernelWalk, op: ops.If) -> None:
    truth, shared = conditions(flow.threads, flow.here(op.cond))
    if truth is not None:
        _select_threads(flow, op, truth)
    elif shared is not None:
        _select_path(flow, op, shared)
    else:
        _entangled(flow, op)


def _select_threads(flow: KernelWalk, op: ops.If, truth: Mask) -> None:
    before, facts = flow.active, flow.facts
    for mask, block in ((before & truth, op.then), (before & ~truth, op.orelse)):
        if mask.any():
            flow.active = mask
            flow.block(block)
            flow.facts = facts
    flow.active = before
    for out, yes, no in zip(op.outs, op.then_yields, op.else_yields, strict=True):
        if not (before & ~truth).any():
            flow.values[out] = flow.values[yes]
        elif not (before & truth).any():
            flow.values[out] = flow.values[no]
        else:
            operands = (flow.values[yes], flow.values[no])
            flow.values[out] = flow.combined(op, out, operands, lambda cases: _choose(truth, cases))


def _select_path(flow: KernelWalk, op: ops.If, shared: Expr) -> None:
    before, memory = flow.facts, flow.memory.tags
    ends: list[tuple[Expr, Tags, list[Tags]]] = []
    sides = ((shared, op.then, op.then_yields), (E.lnot(shared), op.orelse, op.else_yields))
    for guard, block, yields in sides:
        if not flow.feasible(guard):
            continue
        flow.facts, flow.memory.tags = (*before, guard), memory
        flow.guards.add(guard)
        flow.block(block)
        ends.append((guard, flow.memory.tags, [flow.values[v] for v in yields]))
        flow.facts = before
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
    memory, facts, around = flow.memory.tags, flow.facts, flow.entangled
    after: list[Tags] = []
    condition = flow.here(op.cond)
    for held, block in ((condition, op.then), (E.lnot(condition), op.orelse)):
        flow.memory.tags = memory
        flow.entangled = (*around, held)
        flow.block(block)
        flow.entangled, flow.facts = around, facts
        after.append(flow.memory.tags)
    flow.memory.tags = _agreeing(flow, after, flow.tables.lost(why, op.id))
    for out, yes, no in zip(op.outs, op.then_yields, op.else_yields, strict=True):
        pair = [flow.values[yes], flow.values[no]]
        joined = optional_work.same_where_skipped(flow, pair[0], pair[1], flow.here(op.cond))
        flow.values[out] = joined or _agreeing(flow, pair, flow.tables.lost(why, op.id))


def _agreeing(flow: KernelWalk, tags: list[Tags], lost: int) -> Tags:
    if tags[0] is tags[1]:
        return tags[0]
    pairs = list(zip(tags[0].cases, tags[1].cases, strict=False))
    if len(tags[0].cases) == len(tags[1].cases) and all(x.guard is y.guard for x, y in pairs):
        places = [optional_work.without_difference(flow, x, y) for x, y in pairs]
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

"""Tag transfer of memory accesses: tensors give elements, LDS gives back what was put there.

A load of A[m, k] yields the tag (A, m, k) for every thread and element. Outside the tensor the tag means zero, which is
what the guarded load delivers, provided that the address leaves the buffer there too; `in_bounds` proves that. A guard
that is false only outside the tensor therefore adds nothing. A guard that all threads share makes two alternatives,
the element and zero.

    x = load A[m, k], guard k < K          ->  element (A, m, k): the guard is the tensor's edge
    x = load A[m, k], guard kt + 1 < n     ->  {kt + 1 < n: element; else: zero}
    x = load A[m, k], guard k < last       ->  A[m, k] where @k < last, else 0: a value at the element's coordinates
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.record_numbers import distinct, distinct_rows
from argus.check.domain.records import ABSENT, Kind, Record, Tables, without_constant
from argus.check.domain.tags import Case, Records, Tags, uniform
from argus.check.domain.threads import JointCondition, Spread, conditions, joint
from argus.check.events import ProgramPoint
from argus.check.terms.atoms import ZERO as NOTHING
from argus.check.terms.atoms import own
from argus.check.terms.elementwise_terms import at_own_coordinates, comparison
from argus.check.transfer import masks
from argus.check.transfer.computed_places import leaf, seen_from
from argus.ir import ops
from argus.ir.ops import Access, Op, Shared, Tensor
from argus.ir.semantics import copied_to
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import KernelWalk


def load(flow: KernelWalk, op: ops.Load) -> Tags:
    if isinstance(op.access.memory, Shared):
        return lds_load(flow, op)
    flow.tell("global_load", lambda rule: rule.global_load(op, flow.place(), op.access))
    return flow.once(("load", op.id), lambda: elements(flow, op, op.access, op.result))


def elements(flow: KernelWalk, op: Op, access: Access, result: Value, source: bool = True) -> Tags:
    tensor = access.memory
    assert isinstance(tensor, Tensor)
    count = access.count
    kind: Kind = "value" if tensor.written else "element"
    shape = (*flow.threads.shape, count)
    offset = np.zeros((*shape, flow.tables.width), dtype=np.int32)
    rests: list[Spread] = []
    numbers: tuple[int, ...] = ()
    if len(access.coords) != len(tensor.axes):
        return flow.lost(result, f"the access names no coordinates of {tensor.name}", op)
    coords = tuple(flow.here(c) for c in access.coords)
    moving = access.axis % len(tensor.axes)
    found = seen_from(flow.tables, tensor, coords, moving, count, flow.threads.spread) if source else None
    at = tuple(own(axis) for axis in flow.tables.tensor_axes[tensor])
    remainders: dict[Expr, NDArray[np.int64]] = {}
    if found is not None:
        at, standing, remainders = found
    else:
        standing = {
            axis: (flow.threads.spread(c), int(position == moving))
            for position, (axis, c) in enumerate(zip(flow.tables.tensor_axes[tensor], coords, strict=True))
        }
    for axis, (spread, step) in standing.items():
        rests.append(spread)
        beyond = step * np.arange(count, dtype=np.int32) if isinstance(step, int) else step
        offset[..., axis] = spread.offsets[..., None] + beyond
        numbers = (*numbers, axis)
    for axis, tag in flow.tables.tags.get(tensor, ()):
        value = _tag_value(tag, access)
        if value is None:
            return flow.lost(result, f"the tag {tag.name} differs between the elements of one access", op)
        spread = flow.threads.spread(flow.here(value))
        rests.append(spread)
        offset[..., axis] = spread.offsets[..., None]
        numbers = (*numbers, axis)
    record = _element_records(flow, Record(kind, tensor.name), numbers, rests, offset)
    if not tensor.written:
        record = _with_terms(flow, tensor, at, remainders, record)
    full = Case(E.TRUE, record, offset, np.full(shape, -1, dtype=np.int64))
    return _guarded(flow, op, access, full, result)


def _with_terms(
    flow: KernelWalk, tensor: Tensor, at: tuple[Expr, ...], remainders: dict[Expr, NDArray[np.int64]], record: Records
) -> Records:
    """The records with what elements are worth: formulas of own coordinates, with a number of each in some of them."""
    variables = list(remainders)
    columns = [np.broadcast_to(remainders[v], record.shape) for v in variables]
    key = np.stack([record, *columns], axis=-1).reshape(-1, 1 + len(columns))
    found, _, inverse = distinct_rows(key)
    made = []
    for number, *values in found:
        there: dict[Expr, Expr | int] = dict(zip(variables, (int(v) for v in values), strict=True))
        term = flow.tables.terms.atom(leaf(flow.tables, tensor, tuple(place.subst(there) for place in at)))
        made.append(flow.tables.intern(replace(flow.tables[int(number)], term=term)))
    return np.array(made, dtype=np.int32)[inverse.reshape(-1)].reshape(record.shape)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a store to a tensor goes: coordinates per thread and element, and which threads store when.

    `active` are the threads that may store; `shared` is a condition all of them share; `own` one that differs.
    """

    case: Case
    active: NDArray[np.bool_]
    shared: Expr = E.TRUE
    own: JointCondition | None = None

    def condition(self, wave: int, lane: int) -> Expr:
        return self.shared if self.own is None else self.own.at(wave, lane)


def target(flow: KernelWalk, op: ops.Store | ops.Atomic, access: Access) -> Target:
    """The coordinates a store names, whether or not its guard lets it happen."""
    return flow.once(("target", op.id, access.coords, access.guard), lambda: _target(flow, op, access))


def _target(flow: KernelWalk, op: ops.Store | ops.Atomic, access: Access) -> Target:
    added = flow.spec is not None and flow.spec.update is not None and access.memory is flow.spec.output
    case = elements(flow, op, replace(access, guard=None), op.value, source=added).cases[0]
    active, shared, _ = flow.condition(access.guard)
    if active is not None:
        return Target(case, active)
    if shared is not None:
        return Target(case, flow.active, shared)
    assert access.guard is not None
    return Target(case, flow.active, own=joint(flow.threads, flow.here(access.guard)))


def as_amounts(
    flow: KernelWalk, op: ops.Store | ops.Atomic, place: ProgramPoint, access: Access, value: Tags
) -> Access | None:
    """An update of the result as a store of amounts (`scatter`): where the specification sums over an index that the
    result does not have, the amount says which it is, one and the same in all threads, and inside its axis whenever
    the update is made. Other accesses are what they are; None where that cannot be shown."""
    spec = flow.spec
    if spec is None or spec.amounts is None or access.memory is not spec.output:
        return access
    axis, extent = spec.axes[0], spec.shape[0]
    found: set[Expr | None] = set()
    for case in flow.prune(value).cases:
        rows = np.stack([case.record, case.offset[..., axis]], axis=-1)[place.active].reshape(-1, 2)
        found |= {flow.tables.coordinate(int(n), axis, int(offset)) for n, offset in distinct_rows(rows)[0]}
    where = found.pop() if len(found) == 1 else None
    if where is None:
        return None
    _, shared, _ = flow.condition(access.guard)
    facts = (*flow.everywhere_facts, *place.facts, *(() if shared is None else (shared,)))
    if flow.prover.holds(facts, E.land(where.ge(0), where.lt(extent))) is not True:
        return None
    moving = access.axis % len(access.coords) + 1
    return replace(access, memory=spec.amounts, coords=(where, *access.coords), axis=moving)


def _tag_value(tag: ops.Tag, access: Access) -> Expr | None:
    """The author's tag of a tensor's elements at an access; None when it moves along the access."""
    moving = tag.params[access.axis] if access.count > 1 and tag.params else None
    if moving is not None and moving in tag.exprs[0].free():
        return None
    return tag.exprs[0].subst(dict(zip(tag.params, access.coords, strict=True)))


def _element_records(
    flow: KernelWalk, one: Record, axes: tuple[int, ...], spreads: list[Spread], offset: NDArray[np.int32]
) -> NDArray[np.int32]:
    whole = all(s.rest is not None for s in spreads)
    record = np.empty(offset.shape[:-1], dtype=np.int32)
    places = [(0, 0)] if whole else [(w, lane) for w in range(flow.threads.waves) for lane in range(64)]
    for w, lane in places:
        rests = [ABSENT] * flow.tables.width
        for axis, spread in zip(axes, spreads, strict=True):
            constant, symbolic = without_constant(spread.at(w, lane))
            rests[axis] = flow.tables.rest(symbolic)
            if whole:
                offset[..., axis] += constant
            else:
                offset[w, lane, :, axis] += constant
        number = flow.tables.intern(replace(one, rests=tuple(rests)))
        if whole:
            record[...] = number
        else:
            record[w, lane] = number
    return record


def _guarded(flow: KernelWalk, op: Op, access: Access, full: Case, result: Value) -> Tags:
    active, shared, entangled = flow.condition(access.guard)
    if active is not None:
        if not active.all():
            record = np.where(active[..., None], full.record, Tables.ZERO).astype(np.int32)
            offset = np.where(active[..., None, None], full.offset, 0).astype(np.int32)
            full = Case(E.TRUE, record, offset, full.site)
        return Tags((full,))
    assert access.guard is not None
    if pads(flow, access, flow.here(access.guard)):
        return Tags((full,))
    if entangled or shared is None:
        masked = _masked(flow, flow.here(access.guard), full)
        if masked is not None:
            return Tags((masked,))
        return flow.lost(result, "the load's guard is neither the tensor's edge nor the same for all threads", op)
    zero = uniform(full.record.shape, Tables.ZERO, flow.tables.width).cases[0]
    return flow.prune(Tags((full.under(shared), zero.under(E.lnot(shared)))))


def _masked(flow: KernelWalk, guard: Expr, full: Case) -> Case | None:
    """The elements with their own coordinates, zero where the guard, as a condition on these, is false."""
    held = own_conditions(flow, guard, full)
    if held is None:
        return None
    record = flow.tables[distinct(full.record)[0]]
    held_term = flow.tables.terms.where(held, record.term, NOTHING)
    number = flow.tables.intern(replace(record, kind="value", label="", term=held_term))
    return Case(full.guard, np.full_like(full.record, number), full.offset, full.site)


def own_conditions(flow: KernelWalk, guard: Expr, full: Case) -> Expr | None:
    """The guard as a condition on the own coordinates of elements with one record."""
    parts = [_own_condition(flow, part, full) for part in (guard.args if guard.op == "land" else (guard,))]
    held = [part for part in parts if part is not None]
    return E.land(*held) if len(distinct(full.record)) == 1 and len(held) == len(parts) else None


def _own_condition(flow: KernelWalk, part: Expr, full: Case, chosen: NDArray[np.bool_] | None = None) -> Expr | None:
    """A comparison that moves from thread to thread as the elements' coordinates do, as a condition on these."""
    chosen = flow.active if chosen is None else chosen
    if part.op not in ("lt", "le"):
        return None
    spread = flow.threads.spread(part.args[0] - part.args[1])
    if spread.rest is None:
        return None
    index = np.broadcast_to(spread.offsets[..., None], full.record.shape)[chosen].reshape(-1, 1).astype(np.int32)
    record = flow.tables[int(full.record[chosen].flat[0])]
    rests = {axis: flow.tables.rests[rest] for axis, rest in enumerate(record.rests) if rest >= 0}
    condition = comparison(part.op, spread.rest, 0.0, swapped=False)
    if condition is None:
        return None
    return at_own_coordinates(condition, index, full.offset[chosen].reshape(-1, flow.tables.width), rests)


def threads_at_edge(flow: KernelWalk, access: Access) -> NDArray[np.bool_] | None:
    """The threads that take part, where the guard chooses threads and otherwise only keeps them inside the tensor."""
    chosen, chooses, others = _guard_parts(flow, access)
    return chosen if not others or pads(flow, access, E.land(*others), tuple(chooses)) else None


def _guard_parts(flow: KernelWalk, access: Access) -> tuple[NDArray[np.bool_], list[Expr], list[Expr]]:
    """The threads that an access's guard chooses, its parts that choose them, and the others."""
    guard = E.TRUE if access.guard is None else flow.here(access.guard)
    chosen = np.ones(flow.threads.shape, dtype=np.bool_)
    chooses: list[Expr] = []
    others: list[Expr] = []
    for part in guard.args if guard.op == "land" else (guard,):
        truth, _ = conditions(flow.threads, part)
        chosen = chosen if truth is None else chosen & truth
        (others if truth is None else chooses).append(part)
    return chosen, chooses, others


def kept_inside(flow: KernelWalk, access: Access, aim: Target) -> tuple[NDArray[np.bool_], Expr] | None:
    """(threads, condition on own coordinates): the threads that a store's guard chooses, and where it lets the elements
    they store through; None when the guard is no such condition."""
    chosen, _, others = _guard_parts(flow, access)
    chosen = chosen & flow.active
    if not chosen.any() or len(distinct(aim.case.record[chosen])) != 1:
        return None
    held = [_own_condition(flow, part, aim.case, chosen) for part in others]
    found = [condition for condition in held if condition is not None]
    return (chosen, E.land(*found)) if len(found) == len(held) else None


def stored_outside(flow: KernelWalk, access: Access, case: Case) -> bool:
    """An alternative of what is stored, where nothing is: on its path every element of the store lies outside."""
    adds = flow.spec is not None and flow.spec.update is not None
    return case.guard is not E.TRUE and not adds and pads(flow, access, E.lnot(case.guard))


def pads(flow: KernelWalk, access: Access, guard: Expr, given: tuple[Expr, ...] = ()) -> bool:
    """Where the guard is false every element lies outside the tensor, where its value counts as zero anyway."""
    tensor = access.memory
    assert isinstance(tensor, Tensor)
    outside: list[Expr] = []
    for position, (coordinate, extent) in enumerate(zip(access.coords, tensor.shape, strict=True)):
        c = flow.here(coordinate)
        last = access.count - 1 if position == access.axis % len(tensor.axes) else 0
        beyond = E.lor((c + last).lt(0), c.ge(extent))
        if beyond.free() & guard.free():
            outside.append(beyond)
    ends = {end for beyond in outside for end in (beyond.args if beyond.op == "lor" else (beyond,))}
    guard = E.land(*(part for part in (guard.args if guard.op == "land" else (guard,)) if E.lnot(part) not in ends))
    if guard is E.TRUE:
        return True
    facts = (*flow.facts, *given)
    if any(flow.prover.holds(facts, E.lor(guard, beyond)) is True for beyond in outside):
        return True
    return len(outside) > 1 and flow.prover.holds(facts, E.lor(guard, *outside)) is True


def lds_load(flow: KernelWalk, op: ops.Load) -> Tags:
    access = op.access
    buffer = access.memory
    assert isinstance(buffer, Shared)
    active, _, _ = flow.condition(access.guard)
    start = flow.threads.spread(flow.here(access.address))
    constant = start.constant()
    if constant is None or active is None:
        tags = flow.lost(op.result, f"the address in {buffer.name} stays symbolic", op)
    else:
        where = flow.memory.granules(constant + buffer.base, access.count, buffer.dtype.bytes)
        tags = flow.prune(flow.memory.load(op.id, where, active))
    flow.tell("lds_access", lambda rule: rule.lds_access(op, flow.place(), access, start, tags))
    return tags


def store(flow: KernelWalk, op: ops.Store | ops.Atomic) -> None:
    access, value = op.access, flow.values[op.value]
    if isinstance(access.memory, Tensor):
        value = value.each(lambda case: masks.by_element(case, flow.tables))
        flow.tell("global_store", lambda rule: rule.global_store(op, flow.place(), access, value))
        return
    start = flow.threads.spread(flow.here(access.address))
    flow.tell("lds_access", lambda rule: rule.lds_access(op, flow.place(), access, start, value))
    if isinstance(op, ops.Atomic):
        value = flow.lost(op.value, "an atomic operation combined it with what was there", op)
    _put(flow, op, access, start, value)


def _put(flow: KernelWalk, op: Op, access: Access, start: Spread, value: Tags) -> None:
    buffer = access.memory
    assert isinstance(buffer, Shared)
    active, shared, _ = flow.condition(access.guard)
    constant = start.constant()
    if flow.entangled:
        flow.memory.lose_range(buffer, "it is stored where threads branch by sizes or data", op.id)
        return
    if constant is None:
        flow.memory.lose_range(buffer, f"the address of a store to {buffer.name} stays symbolic", op.id)
        return
    where = flow.memory.granules(constant + buffer.base, access.count, buffer.dtype.bytes)
    if active is not None:
        flow.memory.store(op.id, where, active, value, flow.threads, flow.feasible)
    elif shared is not None:
        before = flow.memory.tags
        flow.memory.store(op.id, where, flow.active, value, flow.threads, flow.feasible)
        after = flow.memory.tags
        flow.memory.tags = flow.prune(
            Tags(
                (
                    *(c.under(shared) for c in after.cases),
                    *(c.under(E.lnot(shared)) for c in before.cases),
                )
            )
        )
    else:
        flow.memory.lose_range(buffer, "a store's guard differs from thread to thread", op.id)


def copy(flow: KernelWalk, op: ops.CopyToLds) -> None:
    """Direct copy: lane i of a wave writes the four bytes at lds_base + 4*i. Those past its elements hold nothing."""
    flow.tell("global_load", lambda rule: rule.global_load(op, flow.place(), op.access))
    value = Value(-1, op.access.memory.dtype, op.access.count)
    tags = elements(flow, op, op.access, value)
    target = copied_to(op)
    if target.count > op.access.count:
        number = flow.tables.lost("reads bytes that a direct copy of fewer than four has overwritten", op.id)
        tags = tags.each(lambda case: _filled(case, target.count, number))
    start = flow.threads.spread(flow.here(target.address))
    flow.tell("lds_access", lambda rule: rule.lds_access(op, flow.place(), target, start, tags))
    _put(flow, op, target, start, tags)


def _filled(case: Case, count: int, number: int) -> Case:
    """The case with more elements, all of one record."""
    extra = count - case.record.shape[-1]
    record = np.pad(case.record, ((0, 0), (0, 0), (0, extra)), constant_values=number)
    offset = np.pad(case.offset, ((0, 0), (0, 0), (0, extra), (0, 0)))
    return Case(case.guard, record, offset, np.pad(case.site, ((0, 0), (0, 0), (0, extra)), constant_values=-1))

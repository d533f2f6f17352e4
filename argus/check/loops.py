"""Loops with symbolic trip counts: a guessed invariant, then base, step and exit proved.

State at the head of a loop = tags of the carried values and of LDS. The guess comes from executing the body once with
*incoming* marks in place of the unknown state; what comes out shows how an iteration changes it:

    unchanged (incoming itself)            the initial tag holds always
    written by the iteration               {first iteration: initial tag; later: what iteration - 1 wrote}
    moved from another slot                the same, one iteration further back
    incoming accumulator + products        the initial tag plus the products of all iterations so far

The guess is then used as the state at the head and the body executed again, now with rules listening. It is an
invariant if what comes out equals the guess for the next iteration; base and exit hold by construction, since the
guess is the initial tag in the first iteration and the exit state is the guess at the exit value of the variable. If
the step fails, the result becomes the next guess; after three failures the differing slots are declared lost.

A ring whose slot is `kt % D` is handled by walking D consecutive iterations with kt = D*q + r, r = 0..D-1: then slots
are constants. Exits in the middle of a round are alternatives guarded by the number of iterations modulo D.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np

from argus.check.tables import Item, Record, Repeat, Slots, Sum, Tables, substitute_items
from argus.check.tags import MAX_CASES, Case, Tags, incoming, merge, translate, uniform
from argus.ir import ops
from argus.ir.ops import Shared
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.flow import Flow

MAX_PERIOD = 16
MAX_GUESSES = 4
MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Shape:
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
    def trips(self) -> Expr:
        return E.maximum(0, (self.hi - self.lo + (self.op.step - 1)) // self.op.step)

    def facts(self, r: int) -> tuple[Expr, ...]:
        facts = [self.value(r).lt(self.hi)]
        if self.period == 1:
            facts.append(self.op.var.ge(self.lo))
            if self.op.step > 1:
                facts.append(((self.op.var - self.lo) % self.op.step).eq(0))
        return tuple(f for f in facts if f is not E.TRUE)


State = list[Tags]
"""Tags of the carried values, then of LDS."""


def shape_of(flow: Flow, op: ops.For) -> Shape:
    lo, hi = flow.here(op.lo), flow.here(op.hi)
    period = _period(op) if lo.op == "const" else 1
    if period == 1:
        return Shape(op, lo, hi, 1, op.var, lo, op.step)
    most = None if op.var.hi is None else max(0, (op.var.hi - lo.value) // (op.step * period))
    counter = E.var(f"{op.var.name}_round", 0, most)
    return Shape(op, lo, hi, period, counter, E.const(0), 1)


def _period(op: ops.For) -> int:
    """After how many iterations LDS addresses repeat their dependence on the loop variable through `%`."""
    period = 1
    for inner in ops.walk(op.body):
        addresses: list[Expr] = []
        if isinstance(inner, ops.Load | ops.Store | ops.Atomic) and isinstance(inner.access.memory, Shared):
            addresses.append(inner.access.address)
        elif isinstance(inner, ops.CopyToLds):
            addresses.append(inner.lds_base)
        for address in addresses:
            for node in E.postorder(address):
                if node.op == "mod" and node.args[1].op == "const" and op.var in node.free():
                    coefficient = E.linear(node.args[0])[0].get(op.var, 0) * op.step
                    if coefficient:
                        modulus = node.args[1].value
                        period = lcm(period, modulus // gcd(modulus, coefficient))
    return period if period <= MAX_PERIOD else 1


def run(flow: Flow, op: ops.For) -> None:
    """Transfer of a whole loop."""
    shape = shape_of(flow, op)
    start: State = [*(flow.values[v] for v in op.inits), flow.memory.tags]
    if flow.prover.possible((*flow.facts, shape.lo.lt(shape.hi))) is False:
        flow.values.update(zip(op.outs, start[:-1], strict=True))
        return
    flow.sound.muted += 1
    out = _round(flow, shape, [incoming(t.shape, n, flow.tables) for n, t in enumerate(start)])[-1]
    head = _guess(flow, shape, start, out)
    flow.sound.muted -= 1
    for _ in range(MAX_GUESSES):
        mark = [listener_mark(x) for x in flow.sound.listeners]
        ends = _round(flow, shape, head)
        wrong = _step_fails(flow, shape, head, ends[-1])
        if not wrong:
            _leave(flow, shape, head, ends)
            return
        for listener, position in zip(flow.sound.listeners, mark, strict=True):
            listener_rewind(listener, position)
        head = _next_guess(flow, shape, start, ends[-1])
    _give_up(flow, shape, head, ends[-1])


def listener_mark(listener: object) -> int:
    mark = getattr(listener, "mark", None)
    return int(mark()) if mark is not None else 0


def listener_rewind(listener: object, position: int) -> None:
    rewind = getattr(listener, "rewind", None)
    if rewind is not None:
        rewind(position)


def _round(flow: Flow, shape: Shape, head: State) -> list[State]:
    """Execute the iterations of one round from `head`; the state after each of them."""
    facts, loops, rename = flow.facts, flow.loops, dict(flow.rename)
    flow.memory.tags = head[-1]
    carried = head[:-1]
    ends: list[State] = []
    for r in range(shape.period):
        flow.facts = (*flow.facts, *(f for f in shape.facts(r) if f not in flow.facts))
        flow.loops = (*loops, (shape.op.var, shape.value(r)))
        if shape.period > 1:
            flow.rename = {**rename, shape.op.var: shape.value(r)}
        flow.values.update(zip(shape.op.args, (flow.prune(t) for t in carried), strict=True))
        flow.memory.tags = flow.prune(flow.memory.tags)
        flow.walk(shape.op.body)
        carried = [flow.values[v] for v in shape.op.yields]
        ends.append([*carried, flow.memory.tags])
    flow.facts, flow.loops, flow.rename = facts, loops, rename
    return ends


# -- guessing ----------------------------------------------------------------------------------------------------------


def _guess(flow: Flow, shape: Shape, start: State, out: State) -> State:
    return [_slot_guess(flow, shape, start, out, n) for n in range(len(start))]


def _inside(flow: Flow, shape: Shape) -> tuple[Expr, ...]:
    return (*flow.facts, *shape.facts(0))


def _is_first(shape: Shape) -> Expr:
    return shape.counter.eq(shape.first)


def _is_later(shape: Shape) -> Expr:
    return shape.counter.gt(shape.first)


def _slot_guess(flow: Flow, shape: Shape, start: State, out: State, n: int) -> Tags:
    if _identity(flow, out[n], n).all():
        return start[n]
    cases = [c.under(_is_first(shape)) for c in start[n].cases]
    cases += _earlier(flow, shape, start, out, out[n], n, _is_later(shape), shape.previous, 0)
    return _tidy(flow, shape, _accumulated(flow, shape, start[n], out[n], n, cases))


def _identity(flow: Flow, tags: Tags, n: int) -> np.ndarray:
    """Positions that an iteration leaves alone on every path."""
    same = np.ones(tags.shape, dtype=bool)
    position = np.arange(int(np.prod(tags.shape))).reshape(tags.shape)
    for case in tags.cases:
        same &= (case.record == flow.tables.incoming(n)) & (case.offset[..., 0] == position)
    return same


def _earlier(
    flow: Flow,
    shape: Shape,
    start: State,
    out: State,
    tags: Tags,
    n: int,
    guard: Expr,
    back: dict[Expr, Expr | int],
    depth: int,
) -> list[Case]:
    """`tags` as written by the iteration that `back` leads to; incoming marks are followed further back."""
    result: list[Case] = []
    inside = _inside(flow, shape)
    for case in translate(tags, flow.tables, back).cases:
        condition = E.land(guard, case.guard)
        if flow.prover.possible((*inside, condition)) is False:
            continue
        marks = [int(m) for m in np.unique(case.record) if flow.tables[int(m)].kind == "incoming"]
        if not marks:
            result.append(Case(condition, case.record, case.offset, case.site))
        elif depth >= MAX_DEPTH or len(result) > MAX_CASES:
            result.append(_without_marks(flow, case, condition, marks))
        else:
            result += _followed(flow, shape, start, out, case, condition, marks, back, depth)
    return result


def _without_marks(flow: Flow, case: Case, condition: Expr, marks: list[int]) -> Case:
    lost = flow.tables.lost("it depends on a value carried through more iterations than are followed", -1)
    record = np.where(np.isin(case.record, marks), lost, case.record).astype(np.int32)
    return Case(condition, record, case.offset, case.site)


def _followed(
    flow: Flow,
    shape: Shape,
    start: State,
    out: State,
    case: Case,
    condition: Expr,
    marks: list[int],
    back: dict[Expr, Expr | int],
    depth: int,
) -> list[Case]:
    """Replace incoming marks of a case by the state at the head of the iteration it came from."""
    counter = E.as_expr(back[shape.counter])
    fixed = [_fill(flow, case, marks, _initial_everywhere(flow, start, out))]
    if not any(flow.tables[int(m)].kind == "incoming" for m in np.unique(fixed[0].record)):
        return [Case(condition, fixed[0].record, fixed[0].offset, fixed[0].site)]
    result: list[Case] = []
    at_first = E.land(condition, counter.eq(shape.first))
    if flow.prover.possible((*_inside(flow, shape), at_first)) is not False:
        for option in _options(start):
            filled = _fill(flow, fixed[0], marks, option)
            result.append(Case(at_first, filled.record, filled.offset, filled.site))
    at_later = E.land(condition, counter.gt(shape.first))
    if flow.prover.possible((*_inside(flow, shape), at_later)) is not False:
        if any(len(t.cases) > 1 for t in (*start, *out)):
            result.append(_without_marks(flow, fixed[0], at_later, marks))
        else:
            filled = _fill(flow, fixed[0], marks, {n: t.cases[0] for n, t in enumerate(out)}, back)
            further: dict[Expr, Expr | int] = {shape.counter: counter - shape.stride}
            step = Tags((Case(E.TRUE, filled.record, filled.offset, filled.site),))
            result += _resolve_rest(flow, shape, start, out, step, at_later, further, depth + 1)
    return result


def _resolve_rest(
    flow: Flow,
    shape: Shape,
    start: State,
    out: State,
    tags: Tags,
    guard: Expr,
    back: dict[Expr, Expr | int],
    depth: int,
) -> list[Case]:
    case = tags.cases[0]
    marks = [int(m) for m in np.unique(case.record) if flow.tables[int(m)].kind == "incoming"]
    if not marks:
        return [Case(guard, case.record, case.offset, case.site)]
    if depth >= MAX_DEPTH:
        return [_without_marks(flow, case, guard, marks)]
    return _followed(flow, shape, start, out, case, guard, marks, back, depth)


def _options(start: State) -> list[dict[int, Case]]:
    if any(len(t.cases) > 1 for t in start):
        return [{n: t.cases[0] for n, t in enumerate(start) if len(t.cases) == 1}]
    return [{n: t.cases[0] for n, t in enumerate(start)}]


def _initial_everywhere(flow: Flow, start: State, out: State) -> dict[int, Case]:
    """Slots no iteration changes keep their initial tags."""
    return {n: t.cases[0] for n, t in enumerate(start) if len(t.cases) == 1 and bool(_identity(flow, out[n], n).all())}


def _fill(
    flow: Flow, case: Case, marks: list[int], sources: dict[int, Case], back: dict[Expr, Expr | int] | None = None
) -> Case:
    """Incoming marks replaced by the tags at the positions they name, where the slot is in `sources`."""
    record, offset, site = case.record.copy(), case.offset.copy(), case.site.copy()
    for mark in marks:
        slot = int(flow.tables[mark].label)
        here = case.record == mark
        if slot not in sources or not here.any():
            continue
        source = sources[slot]
        if back is not None:
            source = translate(Tags((source,)), flow.tables, back).cases[0]
        position = case.offset[..., 0][here]
        record[here] = source.record.reshape(-1)[position]
        offset[here] = source.offset.reshape(-1, flow.tables.width)[position]
        site[here] = source.site.reshape(-1)[position]
    return Case(case.guard, record, offset, site)


def _accumulated(flow: Flow, shape: Shape, start: Tags, out: Tags, n: int, cases: list[Case]) -> list[Case]:
    """Sums that grow on top of the incoming accumulator become sums over all iterations so far."""
    if len(out.cases) != 1 or len(start.cases) != 1:
        return [_without_open_sums(flow, c) for c in cases]
    made = out.cases[0]
    numbers, inverse = np.unique(made.record, return_inverse=True)
    initial = start.cases[0]
    grown = np.zeros(made.record.shape, dtype=bool)
    record = made.record.copy()
    where = inverse.reshape(made.record.shape)
    for index, number in enumerate(numbers):
        one = flow.tables[int(number)]
        if one.sums is None or one.sums.root != f"slot:{n}":
            continue
        here = where == index
        for below in np.unique(initial.record[here]):
            total = _total(flow.tables, shape, flow.tables[int(below)], one)
            if total is not None:
                chosen = here & (initial.record == below)
                record[chosen] = flow.tables.intern(total)
                grown |= chosen
    if not grown.any():
        return [_without_open_sums(flow, c) for c in cases]

    def patch(case: Case) -> Case:
        new = np.where(grown, record, case.record).astype(np.int32)
        offset = np.where(grown[..., None], made.offset, case.offset).astype(np.int32)
        return _without_open_sums(flow, Case(case.guard, new, offset, case.site))

    return [patch(c) for c in cases]


def _total(tables: Tables, shape: Shape, below: Record, one: Record) -> Record | None:
    if any(rest >= 0 and shape.counter in tables.rests[rest].free() for rest in one.rests):
        return None
    assert one.sums is not None
    items: tuple[Item, ...] = ()
    if below.kind == "zero":
        root = "zero"
    elif below.kind == "plain":
        return None
    elif below.sums is not None and below.rests == one.rests:
        root, items = below.sums.root, below.sums.items
    else:
        return None
    repeat = Repeat(shape.counter, shape.first, shape.counter, shape.stride, one.sums.items)
    return replace(one, sums=Sum(root, (*items, repeat)))


def _without_open_sums(flow: Flow, case: Case) -> Case:
    """Sums that still stand on an incoming mark are not known."""
    numbers, inverse = np.unique(case.record, return_inverse=True)
    changed = []
    for number in numbers:
        one = flow.tables[int(number)]
        if one.sums is not None and one.sums.root.startswith("slot:"):
            one = replace(one, sums=None)
        changed.append(flow.tables.intern(one))
    record = np.array(changed, dtype=np.int32)[inverse].reshape(case.record.shape)
    return Case(case.guard, record, case.offset, case.site)


def _tidy(flow: Flow, shape: Shape, cases: list[Case]) -> Tags:
    """Merge equal alternatives, also when the first iteration's tag is the later ones' at that iteration."""
    if len(cases) > MAX_CASES:
        why = "too many alternatives at the head of a loop"
        return uniform(cases[0].record.shape, flow.tables.lost(why, shape.op.id), flow.tables.width)
    tags = merge(Tags(tuple(cases)))
    if len(tags.cases) == 2 and tags.cases[0].guard is _is_first(shape):
        first, later = tags.cases
        at_first = translate(Tags((later,)), flow.tables, {shape.counter: shape.first}).cases[0]
        if at_first.same_tags(first):
            return Tags((Case(E.TRUE, later.record, later.offset, later.site),))
    return tags


def _next_guess(flow: Flow, shape: Shape, start: State, out: State) -> State:
    result = []
    inside = _inside(flow, shape)
    for before, after in zip(start, out, strict=True):
        cases = [c.under(_is_first(shape)) for c in before.cases]
        for case in translate(after, flow.tables, shape.previous).cases:
            condition = E.land(_is_later(shape), case.guard)
            if flow.prover.possible((*inside, condition)) is not False:
                cases.append(Case(condition, case.record, case.offset, case.site))
        result.append(_tidy(flow, shape, cases))
    return result


# -- proving -----------------------------------------------------------------------------------------------------------


def _step_fails(flow: Flow, shape: Shape, head: State, out: State) -> list[int]:
    """Slots whose state after an iteration is not the guess for the next one."""
    again = tuple(f.subst(shape.next) for f in shape.facts(0))
    facts = (*flow.facts, *shape.facts(0), *(shape.facts(shape.period - 1)), *again)
    wrong = []
    for n, (claimed, made) in enumerate(zip(head, out, strict=True)):
        target = translate(claimed, flow.tables, shape.next)
        for x in target.cases:
            for y in made.cases:
                both = E.land(x.guard, y.guard)
                if flow.prover.possible((*facts, both)) is False:
                    continue
                if not x.same_tags(_folded(flow, shape, y)) and n not in wrong:
                    wrong.append(n)
    return wrong


def _folded(flow: Flow, shape: Shape, case: Case) -> Case:
    """Sums over all earlier iterations plus this one's products become sums up to and including this one."""
    numbers, inverse = np.unique(case.record, return_inverse=True)
    changed = []
    for number in numbers:
        one = flow.tables[int(number)]
        if one.sums is not None:
            one = replace(one, sums=Sum(one.sums.root, _fold(shape, one.sums.items)))
        changed.append(flow.tables.intern(one))
    record = np.array(changed, dtype=np.int32)[inverse].reshape(case.record.shape)
    return Case(case.guard, record, case.offset, case.site)


def _fold(shape: Shape, items: tuple[Item, ...]) -> tuple[Item, ...]:
    for n, item in enumerate(items):
        if isinstance(item, Repeat) and item.var is shape.counter and item.hi is shape.counter:
            once = substitute_items(item.items, {item.var: shape.counter})
            if items[n + 1 : n + 1 + len(once)] == once:
                longer = replace(item, hi=shape.counter + shape.stride)
                return (*items[:n], longer, *items[n + 1 + len(once) :])
    return items


def _leave(flow: Flow, shape: Shape, head: State, ends: list[State]) -> None:
    """State after the loop: the invariant at the exit value of the counter."""
    trips = shape.trips
    if shape.period == 1:
        final = [translate(t, flow.tables, {shape.counter: shape.lo + trips * shape.op.step}) for t in head]
    else:
        final = _exit_of_ring(flow, shape, head, ends, trips)
    final = [flow.prune(t) for t in final]
    flow.values.update(zip(shape.op.outs, final[:-1], strict=True))
    flow.memory.tags = final[-1]


def _exit_of_ring(flow: Flow, shape: Shape, head: State, ends: list[State], trips: Expr) -> State:
    rounds = {shape.counter: trips // shape.period}
    options: list[tuple[Expr, State]] = []
    for r in range(shape.period):
        guard = (trips % shape.period).eq(r)
        if flow.prover.possible((*flow.facts, guard)) is not False:
            state = head if r == 0 else ends[r - 1]
            options.append((guard, [translate(t, flow.tables, rounds) for t in state]))
    if len(options) == 1:
        return options[0][1]
    joined: State = []
    for n in range(len(head)):
        cases = [c.under(guard) for guard, state in options for c in state[n].cases]
        joined.append(_tidy(flow, shape, cases))
    return joined


def _give_up(flow: Flow, shape: Shape, head: State, out: State) -> None:
    """No invariant: forget the slots that do not settle, check the rest of the program with that."""
    why = f"the loop over {shape.op.var.name} carries it in a way no invariant was found for"
    lost = flow.tables.lost(why, shape.op.id)
    wrong = set(_step_fails(flow, shape, head, out))
    while True:
        head = [uniform(t.shape, lost, flow.tables.width) if n in wrong else t for n, t in enumerate(head)]
        marks = [listener_mark(x) for x in flow.sound.listeners]
        ends = _round(flow, shape, head)
        more = set(_step_fails(flow, shape, head, ends[-1])) - wrong
        if not more:
            _leave(flow, shape, head, ends)
            return
        for listener, position in zip(flow.sound.listeners, marks, strict=True):
            listener_rewind(listener, position)
        wrong |= more


__all__ = ["Shape", "Slots", "run", "shape_of"]

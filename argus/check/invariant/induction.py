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

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import gcd, lcm
from typing import TYPE_CHECKING

from argus.check.domain.record_numbers import distinct, relabelled
from argus.check.domain.records import Item, Repeat, Sum, substitute_items
from argus.check.domain.tags import Case, Tags, incoming, translate, uniform
from argus.check.invariant import symbolic_slots
from argus.check.invariant.carried_terms import claims, forgotten, named, settled, standing_for_themselves
from argus.check.invariant.loop_head_candidates import State, first_guess, next_guess, tidy
from argus.check.terms.atoms import Carried
from argus.ir import ops
from argus.ir.ops import Op, Shared
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

if TYPE_CHECKING:
    from argus.check.walk import Flow

MAX_PERIOD = 16
MAX_GUESSES = 4


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
    flow.first[op.id] = shape.first
    start: State = [*(flow.values[v] for v in op.inits), flow.memory.tags]
    _check_bounds(flow, shape)
    if flow.prover.possible((*flow.facts, shape.lo.lt(shape.hi))) is False:
        flow.values.update(zip(op.outs, start[:-1], strict=True))
        return
    flow.sound.muted += 1
    head = _guessed(flow, shape, start)
    flow.sound.muted -= 1
    tries = MAX_GUESSES
    while tries:
        mark = [listener.mark() for listener in flow.sound.listeners]
        ends = _round(flow, shape, head)
        wrong = _step_fails(flow, shape, head, ends[-1])
        if not wrong:
            _leave(flow, shape, start, head, ends)
            return
        for listener, position in zip(flow.sound.listeners, mark, strict=True):
            listener.rewind(position)
        vague = [forgotten(flow.tables, t) if n in wrong else t for n, t in enumerate(head)]
        if any(n not in _step_fails(flow, shape, vague, ends[-1], wrong) for n in wrong):
            head = vague
        else:
            later = next_guess(flow, shape, start, ends[-1], range(len(head)))
            head = [later[n] for n in range(len(head))]
            tries -= 1
    _give_up(flow, shape, start, head, ends[-1])


def _accumulators(op: ops.For) -> list[int]:
    """Slots that what an iteration leaves in them is computed from."""
    moved = {arg: 1 << n for n, arg in enumerate(op.args)}  # value -> bits of the slots it is moved from
    computed: dict[Value, int] = {}
    _followed(op.body, moved, computed)
    return [n for n, value in enumerate(op.yields) if computed.get(value, 0) >> n & 1]


def _followed(block: list[Op], moved: dict[Value, int], computed: dict[Value, int]) -> None:
    for inner in block:
        for body in inner.blocks:
            _followed(body, moved, computed)
        if isinstance(inner, ops.If):
            for out, *sides in zip(inner.outs, inner.then_yields, inner.else_yields, strict=True):
                for known in (moved, computed):
                    known[out] = known.get(sides[0], 0) | known.get(sides[1], 0)
        elif isinstance(inner, ops.Map | ops.Mfma | ops.Registers | ops.Convert | ops.Lanes):
            made = at_rest = 0
            for v in inner.operands:
                made |= computed.get(v, 0)
                at_rest |= moved.get(v, 0)
            if isinstance(inner, ops.Map | ops.Mfma):
                computed[inner.result] = made | at_rest
            else:
                computed[inner.result], moved[inner.result] = made, at_rest


def _guessed(flow: Flow, shape: Shape, start: State) -> State:
    """The first guess. Operands that come from the iteration before have to be known before sums of their products can
    be: data is settled first, by the ops it depends on, then one whole iteration shows how accumulators grow."""
    sums = _accumulators(shape.op)
    data = [n for n in range(len(start)) if n not in sums]
    lean = _needed(shape.op, data)
    head = [incoming(t.shape, n, flow.tables) for n, t in enumerate(start)]
    out = _round(flow, shape, head, lean)[-1]
    guessed = first_guess(flow, shape, start, out, data)
    head = [guessed.get(n, t) for n, t in enumerate(head)]
    for _ in range(MAX_GUESSES if sums else 0):
        out = _round(flow, shape, head, lean)[-1]
        wrong = _step_fails(flow, shape, head, out, data)
        if not wrong:
            break
        later = next_guess(flow, shape, start, out, wrong)
        head = [later.get(n, t) for n, t in enumerate(head)]
    grown = symbolic_slots.tops(flow, shape, start, out) if sums else None
    if grown is not None:
        start, head = symbolic_slots.with_names(flow, grown, start, out, head)
        out = _round(flow, shape, head, lean)[-1]
        head = symbolic_slots.known_again(flow, shape, start, head, out, data)
        sums = [n for n in sums if n not in grown.scales]
    if sums:
        out = _round(flow, shape, head)[-1]
        guessed = first_guess(flow, shape, start, out, sums)
        head = [guessed.get(n, t) for n, t in enumerate(head)]
    return head


def _needed(op: ops.For, slots: list[int]) -> frozenset[int]:
    """Ops of the body that these slots, and LDS, depend on within one iteration."""
    kept: set[int] = set()
    wanted = {op.yields[n] for n in slots if n < len(op.yields)}
    _collect(op.body, wanted, kept)
    return frozenset(kept)


def _collect(block: list[Op], wanted: set[Value], kept: set[int]) -> None:
    for op in reversed(block):
        if isinstance(op, ops.Schedule):
            kept.add(op.id)
            _collect(op.body, wanted, kept)
            continue
        inner = [op, *(o for b in op.blocks for o in ops.walk(b))]
        if wanted & set(op.results) or any(_changes_lds(o) or isinstance(o, ops.Symbol) for o in inner):
            kept.update(o.id for o in inner)
            wanted.update(v for o in inner for v in o.operands)
            if isinstance(op, ops.If):
                wanted.update((*op.then_yields, *op.else_yields))
            if isinstance(op, ops.For):
                wanted.update(op.yields)


def _changes_lds(op: Op) -> bool:
    if isinstance(op, ops.Store | ops.Atomic):
        return isinstance(op.access.memory, Shared)
    return isinstance(op, ops.CopyToLds)


def _check_bounds(flow: Flow, shape: Shape) -> None:
    """Expressions were simplified with the variable's declared bounds, so the loop must stay within them."""
    var = shape.op.var
    if any(v.name in ("lane", "wave") for v in shape.lo.free() | shape.hi.free()):
        flow.problems.append((shape.op, f"the range of {var.name} must be the same for all threads"))
    limits = [E.TRUE if var.lo is None else shape.lo.ge(var.lo), E.TRUE if var.hi is None else shape.hi.le(var.hi + 1)]
    for limit in limits:
        if flow.prover.holds(flow.facts, limit) is not True:
            flow.problems.append((shape.op, f"{var.name} may leave its stated bounds {var.lo}..{var.hi}"))


def _round(flow: Flow, shape: Shape, head: State, only: frozenset[int] | None = None) -> list[State]:
    """Execute the iterations of one round from `head`; the state after each of them. With `only`, just these ops: what
    they do not compute stays as it was."""
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
        whole = flow.only
        if only is not None:
            for v in set(shape.op.yields) - set(shape.op.args):
                flow.values.pop(v, None)
            flow.only = only if whole is None else whole & only
        flow.walk(shape.op.body)
        flow.only = whole
        carried = [flow.values.get(v, before) for v, before in zip(shape.op.yields, carried, strict=True)]
        ends.append([*carried, flow.memory.tags])
    flow.facts, flow.loops, flow.rename = facts, loops, rename
    return ends


# -- proving -----------------------------------------------------------------------------------------------------------


def _step_fails(
    flow: Flow, shape: Shape, head: State, out: State, slots: Iterable[int] | None = None, last: bool = False
) -> list[int]:
    """Slots whose state after an iteration is not the guess for the next one; with `last`, there may be no next one."""
    again = () if last else tuple(f.subst(shape.next) for f in shape.facts(0))
    facts = (*flow.facts, *shape.facts(0), *(shape.facts(shape.period - 1)), *again)
    wrong = []
    left = standing_for_themselves(flow.tables, shape, head, out)
    for n in range(len(head)) if slots is None else slots:
        claimed, made = head[n], out[n]
        target = translate(claimed, flow.tables, shape.next).each(lambda c: named(flow.tables, c, left))
        for x in target.cases:
            for y in made.cases:
                both = E.land(x.guard, y.guard)
                if flow.prover.possible((*facts, both)) is False:
                    continue
                after = settled(flow.tables, shape, _folded(flow, shape, y))
                if not claims(flow.tables, x, after) and n not in wrong:
                    wrong.append(n)
    return wrong


def _folded(flow: Flow, shape: Shape, case: Case) -> Case:
    """Sums over all earlier iterations plus this one's products become sums up to and including this one."""
    changed = {}
    for number in distinct(case.record):
        one = flow.tables[number]
        if one.sums is not None:
            one = replace(one, sums=Sum(one.sums.root, _fold(shape, one.sums.items)))
        changed[number] = flow.tables.intern(one)
    return Case(case.guard, relabelled(case.record, changed), case.offset, case.site)


def _fold(shape: Shape, items: tuple[Item, ...]) -> tuple[Item, ...]:
    for n, item in enumerate(items):
        if isinstance(item, Repeat) and item.var is shape.counter and item.hi is shape.counter:
            once = substitute_items(item.items, {item.var: shape.counter})
            if items[n + 1 : n + 1 + len(once)] == once:
                longer = replace(item, hi=shape.counter + shape.stride)
                return (*items[:n], longer, *items[n + 1 + len(once) :])
    return items


def _leave(flow: Flow, shape: Shape, start: State, head: State, ends: list[State]) -> None:
    """State after the loop: untouched if it did not run, else what its last iteration left. Where both are said by the
    form it has at the head of every iteration, it is that at the head of the one that is not done any more."""
    trips = shape.trips
    options: list[tuple[Expr, State]] = []
    if flow.prover.possible((*flow.facts, trips.eq(0))) is not False:
        options.append((trips.eq(0), start))
    for r in range(shape.period):
        guard = E.land(trips.gt(0), (trips % shape.period).eq((r + 1) % shape.period))
        if flow.prover.possible((*flow.facts, guard)) is False:
            continue
        last = shape.lo + (trips - 1) * shape.op.step if shape.period == 1 else (trips - 1) // shape.period
        made = [t.each(lambda c: settled(flow.tables, shape, _folded(flow, shape, c))) for t in ends[r]]
        options.append((guard, [translate(t, flow.tables, {shape.counter: last}) for t in made]))
    final: State = []
    plain = shape.period == 1 and not any(_stands_for_itself(flow, tags) for tags in head)
    for n in range(len(start)):
        cases = [c.under(guard) for guard, state in options for c in state[n].cases]
        after = flow.prune(tidy(flow, shape, [], cases))
        one_form = plain and len(after.cases) > 1 and _has_one_form(flow, head[n])
        if one_form and not _step_fails(flow, shape, head, ends[-1], [n], last=True):
            after = translate(head[n], flow.tables, {shape.counter: shape.lo + trips * shape.op.step})
        final.append(after)
    flow.values.update(zip(shape.op.outs, final[:-1], strict=True))
    flow.memory.tags = final[-1]


def _has_one_form(flow: Flow, claimed: Tags) -> bool:
    """What the slot holds is said by one expression for all iterations, the first included."""
    if len(claimed.cases) != 1 or claimed.cases[0].guard is not E.TRUE:
        return False
    return all(flow.tables[number].kind in ("element", "value") for number in distinct(claimed.cases[0].record))


def _stands_for_itself(flow: Flow, claimed: Tags) -> bool:
    """Something in the slot is known by its name only: a running maximum, or what is relative to it."""
    terms = {flow.tables[number].term for case in claimed.cases for number in distinct(case.record)}
    return any(isinstance(atom, Carried) for term in terms for atom in flow.tables.terms.inside(term))


def _give_up(flow: Flow, shape: Shape, start: State, head: State, out: State) -> None:
    """No invariant: forget the slots that do not settle, check the rest of the program with that."""
    why = f"the loop over {shape.op.var.name} carries it in a way no invariant was found for"
    lost = flow.tables.lost(why, shape.op.id)
    wrong = set(_step_fails(flow, shape, head, out))
    while True:
        head = [uniform(t.shape, lost, flow.tables.width) if n in wrong else t for n, t in enumerate(head)]
        marks = [listener.mark() for listener in flow.sound.listeners]
        ends = _round(flow, shape, head)
        more = set(_step_fails(flow, shape, head, ends[-1])) - wrong
        if not more:
            _leave(flow, shape, start, head, ends)
            return
        for listener, position in zip(flow.sound.listeners, marks, strict=True):
            listener.rewind(position)
        wrong |= more

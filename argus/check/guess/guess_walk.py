"""The guessing walk: a walk without rules that looks for what holds at the heads of loops, and writes a certificate.

The state at a head is guessed from executing the body once with *incoming* marks in place of the unknown state; what
comes out shows how an iteration changes it:

    unchanged (incoming itself)            the initial tag holds always
    written by the iteration               {first iteration: initial tag; later: what iteration - 1 wrote}
    moved from another slot                the same, one iteration further back
    incoming accumulator + products        the initial tag plus the products of all iterations so far

The candidate is then used as the state at the head and the body executed again. Where what comes out does not equal
the candidate for the next iteration, terms are given up, then the result becomes the next candidate; after a few tries
the differing slots are declared lost. The last candidate is written down, right or not: the proof decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from argus.check.certificate import Certificate, LoopClaim, LoopPath
from argus.check.domain.access_order import AccessOrder
from argus.check.domain.record_numbers import distinct
from argus.check.domain.tags import Tags, bare, uniform
from argus.check.guess import symbolic_slots
from argus.check.guess.carried_slots import accumulators, needed_ops
from argus.check.guess.certificate_writer import CertificateWriter, order_claim
from argus.check.guess.loop_heads import State, first_candidate, next_candidate
from argus.check.guess.marks import incoming, parted
from argus.check.guess.period import period_of
from argus.check.invariant.induction import (
    ORDER,
    base_fails,
    claims_fail,
    leave,
    leave_order,
    skip,
    step_fails,
    uncovered,
    walk_round,
)
from argus.check.invariant.loop_shape import LoopShape, loop_shape
from argus.check.solve.prover import Prover
from argus.check.transfer.shifted_places import brought
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Control, Op

MAX_CANDIDATES = 4
MAX_ROUNDS = 8
MAX_TURNS = 48
UNORDERED = "accesses of ever more iterations stay unordered: the loop has no barrier"
WHY_LOST = "the loop over {} carries it in a way no invariant was found for"


def guess(kernel: Kernel, prover: Prover, given_up: Mapping[LoopPath, Collection[int]] | None = None) -> Certificate:
    """A certificate for the kernel; of slots that are `given_up` it says nothing."""
    walk = GuessWalk(kernel, prover, given_up or {})
    walk.block(_to_last_loop(kernel.body))
    return walk.writer.certificate


def _to_last_loop(body: list[Op]) -> list[Op]:
    """What has to be walked: after the last loop there is nothing to claim."""
    loops = [any(inner.declared.control is Control.LOOP for inner in ops.walk([op])) for op in body]
    return body[: max((n for n, holds in enumerate(loops, 1) if holds), default=0)]


class GuessWalk(KernelWalk):
    """Walks the kernel without listeners; finds claims where it meets loops."""

    def __init__(self, kernel: Kernel, prover: Prover, given_up: Mapping[LoopPath, Collection[int]]) -> None:
        super().__init__(kernel, prover)
        self.tables.parted = cache(lambda op, term: parted(self.tables.terms, op, term))
        self.writer = CertificateWriter(self.tables)
        self.given_up = given_up
        self.only: frozenset[int] | None = None
        """Ops to walk, while just a part of a loop's state is looked for."""
        self.walked_whole = False
        """The last round before the first candidate was one of all ops."""

    def block(self, block: list[Op]) -> None:
        for op in block:
            if self.only is None or op.id in self.only:
                self.step(op)

    def order_step(self, op: Op) -> None:
        if self.only is None:
            super().order_step(op)

    def yielded(self, op: ops.For, carried: list[Tags]) -> list[Tags]:
        """What ops that are left out do not compute stays as it was."""
        return [self.values.get(v, before) for v, before in zip(op.yields, carried, strict=True)]

    def part_of_round(self, shape: LoopShape, head: State, only: frozenset[int]) -> State:
        """The state after one round of just these ops."""
        whole = self.only
        for v in set(shape.op.yields) - set(shape.op.args):
            self.values.pop(v, None)
        self.only = only if whole is None else whole & only
        ends = walk_round(self, shape, head, self.order)
        self.only = whole
        return ends[-1][0]

    def loop(self, op: ops.For) -> None:
        path = self.path(op)
        lo, hi = self.here(op.lo), self.here(op.hi)
        start: State = [*(self.values[v] for v in op.inits), self.memory.tags]
        if self.prover.possible((*self.facts, lo.lt(hi))) is False:
            skip(self, op, start)
            return
        shape = loop_shape(op, lo, hi, period_of(op))
        self.first[op.id] = shape.first
        self._forget_claims(op, range(len(start)))
        before, arms = self.order.before_loop(op), [len(arm) for arm in self.arms]
        lost = set(self.given_up.get(path, ()))
        head, order, ends = self._settled_head(shape, start, before, lost)
        never, settled = (
            frozenset(n for loop, n in claimed if loop == op.id) for claimed in (self.never, self.settled)
        )
        claim = LoopClaim(shape.period, self.writer.slots(head), never, settled, *order_claim(order))
        self.writer.certificate.claims[path] = claim
        leave(self, shape, start, head, [state for state, _ in ends])
        leave_order(self, shape, before, [end for _, end in ends], arms)

    def _forget_claims(self, op: ops.For, slots: Iterable[int]) -> None:
        for n in slots:
            self.never.discard((op.id, n))
            self.settled.discard((op.id, n))

    def _settled_head(
        self, shape: LoopShape, start: State, before: AccessOrder, lost: set[int]
    ) -> tuple[State, AccessOrder, list[tuple[State, AccessOrder]]]:
        """The last candidate, and the states after the iterations of a round from it."""
        self.order = before
        head = self._without(shape, self._candidate(shape, start), lost)
        order = before.join(self.order.at_next_head(shape)) if self.walked_whole else before.join(before)
        order = order.without_past()
        tries, rounds = MAX_CANDIDATES, 0
        for turn in count():
            if turn == MAX_TURNS:  # candidates that alternate: nothing is said, and the proof shows what stands
                lost |= {ORDER, *range(len(head))}
                head = self._without(shape, head, lost)
            if ORDER in lost or rounds > MAX_ROUNDS:
                order = before.without(None, UNORDERED)
            ends = walk_round(self, shape, head, order)
            out, again = ends[-1][0], self.order.at_next_head(shape)
            wrong = self._wrong(shape, start, head, out)
            if tries > 0:
                more = self._improvable(head, out, [n for n in range(len(head)) if n not in lost])
                wrong = sorted({*wrong, *more})
            ordered = order.includes(again)
            if (not wrong and ordered) or turn > MAX_TURNS + MAX_ROUNDS:
                return head, order, ends
            order, rounds = order.join(again), rounds + (not ordered)
            if not wrong:
                continue
            vague = [t.each(lambda c: bare(self.tables, c)) if n in wrong else t for n, t in enumerate(head)]
            changed = any(not _alike(vague[n], head[n]) for n in wrong)
            if changed and any(n not in self._slots_wrong(shape, start, vague, out, wrong) for n in wrong):
                head = vague
            elif tries > 0:
                later = next_candidate(self, shape, start, out, range(len(head)))
                head = self._without(shape, [later[n] for n in range(len(head))], lost)
                tries -= 1
            else:
                lost |= set(wrong)
                head = self._without(shape, head, lost)
            self._forget_claims(shape.op, wrong)
        raise AssertionError("turns end")

    def _wrong(self, shape: LoopShape, start: State, head: State, out: State) -> list[int]:
        wrong = {*self._slots_wrong(shape, start, head, out, range(len(head))), *uncovered(self, shape, head)}
        unproved = claims_fail(self, shape, start, head, out)
        self._forget_claims(shape.op, [n for n in unproved if n not in wrong])
        return sorted(wrong | set(unproved))

    def _slots_wrong(self, shape: LoopShape, start: State, head: State, out: State, slots: Iterable[int]) -> list[int]:
        slots = list(slots)
        base = set(base_fails(self, shape, start, head, slots))
        return sorted(base.intersection(slots) | set(step_fails(self, shape, head, out, slots)))

    def _improvable(self, head: State, out: State, slots: Iterable[int]) -> list[int]:
        """Slots of which more is known after an iteration than the head says."""

        def lost(tags: Tags) -> NDArray[np.bool_]:
            numbers = [n for c in tags.cases for n in distinct(c.record) if self.tables[n].kind == "lost"]
            return np.asarray(np.any([np.isin(case.record, numbers) for case in tags.cases], axis=0))

        return [n for n in slots if bool((lost(head[n]) & ~lost(out[n])).any())]

    def _without(self, shape: LoopShape, head: State, lost: set[int]) -> State:
        """The head with nothing said of these slots."""
        number = self.tables.lost(WHY_LOST.format(shape.op.var.name), shape.op.id)
        return [uniform(t.shape, number, self.tables.width) if n in lost else t for n, t in enumerate(head)]

    def _candidate(self, shape: LoopShape, start: State) -> State:
        """The first candidate. Operands that come from the iteration before have to be known before sums of their
        products can be: data is settled first, by the ops it depends on, then one whole iteration shows how
        accumulators grow."""
        sums, before = accumulators(shape.op), self.order
        data = [n for n in range(len(start)) if n not in sums]
        lean = needed_ops(shape.op, data)
        head = [incoming(t.shape, n, self.tables) for n, t in enumerate(start)]
        out = self.part_of_round(shape, head, lean)
        found = first_candidate(self, shape, start, out, data)
        head = [found.get(n, t) for n, t in enumerate(head)]
        for _ in range(MAX_CANDIDATES if sums else 0):
            out = self.part_of_round(shape, head, lean)
            wrong = sorted({*step_fails(self, shape, head, out, data), *self._improvable(head, out, data)})
            if not wrong:
                break
            later = next_candidate(self, shape, start, out, wrong)
            head = [later.get(n, t) for n, t in enumerate(head)]
        grown = symbolic_slots.tops(self, shape, start, out) if sums else None
        if grown is not None:
            start, head = symbolic_slots.with_names(self, grown, start, out, head)
            out = self.part_of_round(shape, head, lean)
            head = symbolic_slots.known_again(self, shape, start, head, out, data)
            sums = [n for n in sums if n not in grown.scales]
        self.walked_whole = bool(sums)
        if sums:
            self.order = before
            out = self._beside(start, walk_round(self, shape, head, before)[-1][0], sums)
            found = first_candidate(self, shape, start, out, sums)
            head = [found.get(n, t) for n, t in enumerate(head)]
            whole = symbolic_slots.tops(self, shape, start, out)
            if whole is not None:
                symbolic_slots.claim_not_low(self, whole, start)
        return head

    def _beside(self, start: State, out: State, slots: Collection[int]) -> State:
        """What neighbors were summed into, at the place it has before the loop (`shifted_places`)."""
        made = list(out)
        for n in slots if self.tables.hints.shifted else ():
            at = start[n].cases[0]
            rests = self.tables.rests_of(at.record)
            made[n] = Tags(tuple(brought(self.tables, case, rests, at.offset) for case in out[n].cases))
        return made


def _alike(x: Tags, y: Tags) -> bool:
    return all(a.same_tags(b) for a, b in zip(x.cases, y.cases, strict=True))

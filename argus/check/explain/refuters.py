"""From findings to verdicts: one refuter per rule, called when the proof is over.

    in_bounds, line 12     no findings                   proved, if the ledger says so (`Ledger.conclude`)
                           a finding, replayed           refuted, with the counterexample
                           findings no replay shows      unknown, with the first reason

A rule leaves findings: what it did not show, with op, path and reason. Its refuter groups them by place, looks for an
execution that shows one of them, and writes the verdict. Nothing here can make a verdict `proved`: it may ask the
ledger for one, and `prove.conclusions` refuses any that the ledger did not make and adds what is open.

A refuter works within its rule's budget. If that is used up by the search, the verdicts are made once more without
one. A rule that none of these knows gives no verdicts: the ledger says what it left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from argus.check.advice.speed import Speed
from argus.check.explain.bounds_witness import misplaced_access
from argus.check.explain.cover_witness import miswritten_element
from argus.check.explain.findings import at, bounds_of, failures, spans
from argus.check.explain.lost_term import lost_at
from argus.check.explain.pairing_witness import mismatched_pair
from argus.check.explain.place_witness import far, interfering_input, misplaced_value
from argus.check.explain.race_witness import overlap_verdict, refutation
from argus.check.explain.search_budget import searching
from argus.check.explain.stale_witness import missing_waits_verdicts, stale_read, written_and_read
from argus.check.explain.statement_witness import broken_statement
from argus.check.explain.sum_witness import miscounted_index
from argus.check.explain.surroundings import with_surroundings
from argus.check.explain.term_text import shown
from argus.check.explain.value_witness import counterexample
from argus.check.prove import Proof
from argus.check.report import Counterexample, Verdict
from argus.check.rules.conform import Conform
from argus.check.rules.covers import NOTHING, UPDATED, Covers
from argus.check.rules.fits import Fits, sentence
from argus.check.rules.fresh import Fresh
from argus.check.rules.in_bounds import InBounds
from argus.check.rules.isolation import HELP, Shielded
from argus.check.rules.placed import Placed
from argus.check.rules.race_free import RaceFree
from argus.check.rules.reduced import Reduced
from argus.check.rules.relations import Relations
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.rules.value import NOT_FOLLOWED, OVERWRITTEN, Differs, Valued
from argus.check.solve.limits import Budget
from argus.check.transfer.ordering import lds_target
from argus.check.walk import KernelWalk
from argus.ir.ops import Op, Shared, Tensor
from argus.ir.types import Span

F = TypeVar("F")
RUN = "compare the result of a run with the specification: argus run"
SMALLER_NUMBERS = "bound the sizes in requires=…, or compare smaller numbers"
ONE_SUM = f"only the coordinates of one sum, or a multiple of it, are counted; {RUN}"
TILES = "let every store's coordinates be a block or loop variable times the tile, plus an offset"
COVER_ADVICE = {UPDATED: RUN, NOTHING: "store the result, or name the tensor that holds it in computes=…"}


def explained(proof: Proof, search: bool = True) -> dict[Shielded, list[Verdict]]:
    """Verdicts by rule; with `search`, counterexamples are looked for. `value` comes last: it runs the kernel, but not
    if another rule has refuted it."""
    made: dict[Shielded, list[Verdict]] = {}
    for rule in sorted(proof.views, key=lambda rule: rule.name == "value"):
        statuses = {v.status for verdicts in made.values() for v in verdicts}
        about = RuleExplanation(proof.views[rule], "refuted" in statuses, "unknown" in statuses)
        made[rule] = _within_budget(rule, about, search)
    return {rule: [_placed(proof.views[rule], one) for one in verdicts] for rule, verdicts in made.items()}


def _placed(flow: KernelWalk, verdict: Verdict) -> Verdict:
    return verdict if verdict.status != "refuted" else with_surroundings(flow.kernel, verdict)


def _within_budget(rule: Shielded, about: RuleExplanation, search: bool) -> list[Verdict]:
    if rule.failed:
        return []
    made: list[Verdict] = []
    with searching(search):
        rule.tell(lambda: made.extend(about.of(rule.rule)))
    if rule.failed and rule.help != HELP:  # the budget was used up
        rule.failed = ""
        spent, rule.budget = rule.budget.effort, Budget(rule.name, rule.budget.limits, late=True)
        rule.budget.effort = spent
        made.clear()
        with searching(False):
            rule.tell(lambda: made.extend(about.of(rule.rule)))
    return made


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """The walk as one rule saw it, whether another rule has refuted the kernel, and whether one left something open."""

    flow: KernelWalk
    refuted: bool
    left_open: bool

    def of(self, rule: Rule) -> list[Verdict]:
        """The verdicts of a rule."""
        match rule:
            case Conform():
                return [self._conform(rule, span) for span in spans(rule.found)]
            case InBounds():
                return [self._in_bounds(rule, span) for span in spans(rule.found)]
            case Fits():
                return [self._fits(rule, span) for span in spans(rule.found)]
            case Fresh():
                return self._fresh(rule)
            case RaceFree():
                return list(self._race_free(rule)) if self.flow.kernel.shared else []
            case Valued():
                kept = [span for span in spans(rule.found) if set(failures(at(rule.found, span))) != {OVERWRITTEN}]
                return [self._value(rule, span) for span in kept]
            case Placed():
                return [self._placed(rule, span) for span in spans(rule.found)]
            case Reduced():
                return [self._reduced(rule, span) for span in spans(rule.found)]
            case Covers():
                return [self._covers(rule, tensor) for tensor in rule.asked]
            case Relations():
                return list(self._relations(rule))
            case Speed():
                return rule.verdicts(self.flow)
            case _:
                return []

    def _concluded(self, rule: str, span: Span, by: str, events: list[RuleEvent[F]]) -> Verdict:
        """No findings at this place: what the ledger says."""
        first, flow = events[0], self.flow
        shown = [one for one in flow.ledger.at(rule, span) if one.what != "waited"]
        bounds = bounds_of((*flow.prover.base, *first.facts))
        return flow.ledger.conclude(shown, rule, span, first.op.id, by, len(events), bounds)

    def _conform(self, rule: Conform, span: Span) -> Verdict:
        events = at(rule.found, span)
        found = failures(events)
        if not found:
            return self._concluded("conform", span, "enumeration+z3" if rule.asked_prover else "enumeration", events)
        reason = found[0].mismatch.why
        for failure in [f for f in found if f.mismatch.kind != "unknown"][:3]:
            example = mismatched_pair(self.flow, failure)
            if isinstance(example, Counterexample):
                return Verdict("conform", "refuted", span, failure.op.id, "enumeration", counterexample=example)
            reason = example
        return Verdict("conform", "unknown", span, events[0].op.id, "enumeration", sites=len(events), reason=reason)

    def _in_bounds(self, rule: InBounds, span: Span) -> Verdict:
        events = at(rule.found, span)
        doubts = failures(events)
        if not doubts:
            return self._concluded("in_bounds", span, "structural+z3", events)
        for doubt in doubts[:4]:
            example = misplaced_access(self.flow, doubt)
            if example is not None:
                return Verdict("in_bounds", "refuted", span, doubt.op.id, "z3", counterexample=example)
        reason = f"this access may be wrong: {doubts[0].what}"
        return Verdict("in_bounds", "unknown", span, doubts[0].op.id, "z3", sites=len(events), reason=reason)

    def _fits(self, rule: Fits, span: Span) -> Verdict:
        first = at(rule.found, span)[0]
        reason = sentence(first.failures[0])
        return Verdict("fits", "unknown", span, first.op.id, "z3", reason=reason, help=SMALLER_NUMBERS)

    def _fresh(self, rule: Fresh) -> list[Verdict]:
        made = [self._read(rule, span) for span in spans(rule.found)]
        for op, reason in rule.unreadable:
            made.append(Verdict("fresh", "unknown", op.span, op.id, "structural", reason=reason))
        return made + missing_waits_verdicts(self.flow, rule.missing) + written_and_read(self.flow)

    def _read(self, rule: Fresh, span: Span) -> Verdict:
        events = at(rule.found, span)
        stale = failures(events)
        if not stale:
            return self._concluded("fresh", span, "enumeration", events)
        for one in [s for s in stale if s.kind != "unknown"][:3]:
            example = stale_read(self.flow, one)
            if example is not None:
                return Verdict("fresh", "refuted", span, one.op.id, "enumeration", counterexample=example)
        return Verdict("fresh", "unknown", span, events[0].op.id, "enumeration", reason=f"this read {stale[0].what}")

    def _race_free(self, rule: RaceFree) -> Iterator[Verdict]:
        """One verdict for each buffer."""
        flow = self.flow
        for buffer, first_op in rule.touched.items():
            span = buffer.span if buffer.span.line else first_op.span
            conflicts = [c for c in rule.conflicts.values() if buffer in (c.first.touch.buffer, c.second.touch.buffer)]
            clashes = [c for c in rule.clashes if c.buffer is buffer]
            unclear = [why for op, why in rule.undecided if op is None or _touches(op, buffer)]
            if conflicts:
                yield refutation(flow, conflicts, span)
            elif clashes:
                yield overlap_verdict(flow, clashes[0])
            elif unclear:
                yield Verdict("race_free", "unknown", span, first_op.id, "enumeration", reason=unclear[0])
            else:
                shown, bounds = flow.ledger.about("race_free", buffer), bounds_of(flow.prover.base)
                yield flow.ledger.conclude(shown, "race_free", span, first_op.id, "enumeration", rule.pairs, bounds)

    def _value(self, rule: Valued, span: Span) -> Verdict:
        """What is stored is right if accesses are where they say; where another rule leaves that open, it is tried."""
        events = at(rule.found, span)
        found, op = failures(events), events[0].op.id
        if not found and (self.refuted or not self.left_open):
            return self._concluded("value", span, "terms+z3", events)
        terms = next((f for f in found if isinstance(f, Differs)), None)
        example = None if self.refuted else counterexample(self.flow, span, op, terms)
        if example is not None:
            return Verdict("value", "refuted", span, op, "interpreter", counterexample=example)
        if not found:
            return self._concluded("value", span, "terms+z3", events)
        return Verdict("value", "unknown", span, op, "terms+z3", reason=self._difference(found[0], events), help=RUN)

    def _difference(self, why: str | Differs, events: Sequence[RuleEvent[str | Differs]]) -> str:
        if isinstance(why, str):
            values = [value for event in events for value in event.op.operands] if why == NOT_FOLLOWED else []
            lost = next((op for value in values if (op := lost_at(self.flow, value)) is not None), None)
            return why if lost is None else f"{why}, from {lost.span} on"
        tables = self.flow.tables
        stored, specified = shown(why.stored, tables), shown(why.specified, tables)
        return f"what is stored is `{stored}`, the specification says `{specified}`"

    def _placed(self, rule: Placed, span: Span) -> Verdict:
        events = at(rule.found, span)
        found, op = failures(events), events[0].op.id
        if not found:
            return self._concluded("placed", span, "enumeration", events)
        for failure in [f for f in found if f.axis >= 0][:3]:
            example = misplaced_value(self.flow, failure)
            if example is not None:
                return Verdict("placed", "refuted", span, failure.op.id, "enumeration", counterexample=example)
        assert rule.spec is not None
        computed = all(f.why in rule.spec.computed for f in found)  # `value` looks for a launch that shows it
        example = None
        if not self.refuted and not computed:
            example = (far if rule.spec.computed else interfering_input)(self.flow, found[0])
        if example is not None:
            return Verdict("placed", "refuted", span, op, "interpreter", counterexample=example)
        reason = found[0].why or "a stored value may belong elsewhere, but no replay shows it"
        return Verdict("placed", "unknown", span, op, "enumeration", reason=reason, help=RUN)

    def _reduced(self, rule: Reduced, span: Span) -> Verdict:
        events = at(rule.found, span)
        gaps, op = failures(events), events[0].op.id
        if not gaps:
            return self._concluded("reduced", span, "enumeration+z3", events)
        spec = rule.spec  # an element whose partner lies outside of its tensor is summed up, and does not show
        countable = spec is not None and spec.plain and not spec.hints.windows and not self.refuted
        for axis in dict.fromkeys(g.axis for g in gaps if g.axis >= 0 and countable):
            example = miscounted_index(self.flow, axis, span, op)
            if example is not None:
                return Verdict("reduced", "refuted", span, op, "interpreter", counterexample=example)
        return Verdict("reduced", "unknown", span, op, "enumeration+z3", reason=gaps[0].why, help=ONE_SUM)

    def _covers(self, rule: Covers, tensor: Tensor) -> Verdict:
        flow, stores, doubt = self.flow, rule.stores_to(tensor), rule.doubts[tensor]
        span, op = rule.asked[tensor]
        if stores and op < 0:
            span, op = stores[0].op.span, stores[0].op.id
        if doubt is None:
            shown, bounds = flow.ledger.about("covers", tensor), bounds_of(flow.prover.base)
            return flow.ledger.conclude(shown, "covers", span, op, "enumeration+z3", len(stores), bounds)
        updated = any(f.reads for w in stores for f in w.op.footprints)
        example = self._far(tensor, span, op) if updated else miswritten_element(flow, tensor, span, op)
        if example is not None:
            return Verdict("covers", "refuted", span, op, "interpreter", counterexample=example)
        reason, advice = f"{tensor.name}: {doubt}", COVER_ADVICE.get(doubt, TILES)
        return Verdict("covers", "unknown", span, op, "enumeration+z3", reason=reason, help=advice)

    def _far(self, tensor: Tensor, span: Span, op: int) -> Counterexample | None:
        """For an output that is updated, where counting stores says nothing: a launch far from the specification."""
        if self.refuted or self.flow.spec is None or self.flow.spec.output is not tensor:
            return None
        found = counterexample(self.flow, span, op)
        return None if found is None else replace(found, rule="covers")

    def _relations(self, rule: Relations) -> Iterator[Verdict]:
        flow = self.flow
        for op, doubt in rule.made:
            example = None if doubt is None else broken_statement(flow, op, doubt)
            if doubt is None:
                shown, bounds = flow.ledger.at(op.rule, op.span), bounds_of(flow.prover.base)
                yield flow.ledger.conclude(shown, op.rule, op.span, op.id, "z3", 1, bounds)
            elif example is not None:
                yield Verdict(op.rule, "refuted", op.span, op.id, "z3", counterexample=example)
            else:
                yield Verdict(op.rule, "unknown", op.span, op.id, "z3", reason=doubt.reason)


def _touches(op: Op, buffer: Shared) -> bool:
    target = lds_target(op)
    return target is not None and target.memory is buffer

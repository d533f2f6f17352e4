"""Runs all rules over a kernel and collects their verdicts.

Implied rules need no statement: conform, race_free, fresh, in_bounds, and, where the kernel says what it computes,
placed, reduced and covers. Stated rules are decided where they stand. A statement no rule answers is `unknown`, never
ignored; so is a specification that cannot be read, and a rule that fails (`shield`).
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

from argus.check.conform import Conform
from argus.check.covers import Covers
from argus.check.flow import Flow, launch_facts
from argus.check.fresh import Fresh
from argus.check.in_bounds import InBounds
from argus.check.placed import Placed
from argus.check.prover import Prover, question
from argus.check.race_free import RaceFree
from argus.check.reduced import Reduced
from argus.check.relations import RULES as RELATIONS
from argus.check.relations import Relations
from argus.check.report import Report, Verdict
from argus.check.rule import Rule
from argus.check.shield import HELP, Shielded, internal
from argus.check.speed import RULES as SPEED
from argus.check.speed import Speed
from argus.check.stats import effort
from argus.check.value import Valued
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value
from argus.ir.waits import insert_waits

ANSWERED = frozenset({"conform", "race_free", "fresh", "in_bounds", "reduced", "covers", *SPEED, *RELATIONS})


MAX_QUESTIONS = 20
"""How many undecided questions a report carries."""
SPECIFIED = ("value", "placed", "reduced", "covers")
"""Rules that a specification implies."""


def check(kernel: Kernel) -> Report:
    """Decide every implied and stated rule of the kernel."""
    return decide(
        kernel,
        [Conform(), RaceFree(), Fresh(), InBounds(), Valued(), Placed(), Reduced(), Covers(), Relations(), Speed()],
    )


def decide(kernel: Kernel, rules: Iterable[Rule]) -> Report:
    """Decide these rules. Nothing raised on the way escapes: it makes verdicts `unknown`."""
    start = perf_counter()
    shielded = [Shielded(rule) for rule in rules]
    try:
        kernel = insert_waits(kernel)
        flow = Flow(kernel, Prover(launch_facts(kernel)), shielded)
        for rule in shielded:
            rule.begin(flow)
        flow.run()
    except Exception as error:
        for rule in shielded:
            rule.failed = internal(error)
        return Report(kernel, tuple(rule.failure(kernel) for rule in shielded), perf_counter() - start)
    stats = {"walk": perf_counter() - start - sum(rule.seconds for rule in shielded)}
    verdicts: list[Verdict] = []
    for rule in sorted(shielded, key=lambda rule: rule.name == "value"):  # last: it runs the kernel if nobody refuted
        verdicts += rule.verdicts(flow)
        flow.refuted = any(v.status == "refuted" for v in verdicts)
        stats[rule.name] = rule.seconds
    try:
        verdicts += _problems(flow)
    except Exception as error:
        verdicts.append(Verdict("check", "unknown", kernel.span, -1, "none", reason=internal(error), help=HELP))
    stats |= effort(flow.prover)
    open_questions = flow.prover.undecided[:MAX_QUESTIONS] if any(v.status == "unknown" for v in verdicts) else []
    questions = tuple(question(facts) for facts in open_questions)
    return Report(kernel, tuple(verdicts), perf_counter() - start, stats, _notes(flow, verdicts), questions)


def _notes(flow: Flow, verdicts: list[Verdict]) -> tuple[str, ...]:
    """What nobody asked about, and what a reader may think was checked."""
    if not flow.kernel.computes:
        silent = [rule for rule in SPECIFIED if all(v.rule != rule for v in verdicts)]
        if not silent:
            return ()
        listed = " and ".join(part for part in (", ".join(silent[:-1]), *silent[-1:]) if part)
        return (f"no specification (computes=…): {listed} {'was' if len(silent) == 1 else 'were'} not checked",)
    if flow.spec is None:
        return ()
    others = [t.name for t in flow.kernel.tensors if t.written and t is not flow.spec.output]
    if not others:
        return ()
    return (f"the specification says nothing about {', '.join(others)}: placed and covers were not checked there",)


def _problems(flow: Flow) -> list[Verdict]:
    """Assumptions that failed, launches that cannot exist, and statements nobody answers."""
    found = [Verdict("bounds", "unknown", op.span, op.id, "z3", reason=why) for op, why in dict.fromkeys(flow.problems)]
    if flow.unread:
        reason = f"the specification `{flow.kernel.computes}` cannot be read: {flow.unread}"
        advice = "write one assignment over the kernel's arguments, such as C[m, n] = sum(A[m, k] * B[n, k], k)"
        found += [
            Verdict(rule, "unknown", flow.kernel.span, -1, "structural", reason=reason, help=advice)
            for rule in SPECIFIED
        ]
    if flow.prover.possible(()) is not True:
        reason = "no sizes satisfy what the kernel requires, so every proof would be empty"
        found.append(Verdict("requires", "unknown", flow.kernel.span, -1, "z3", reason=reason))
    for op in ops.walk(flow.kernel.body):
        if isinstance(op, ops.Check) and op.rule not in ANSWERED:
            reason = f"there is no rule `{op.rule}`"
            found.append(Verdict(op.rule, "unknown", op.span, op.id, "structural", reason=reason))
        if isinstance(op, ops.Tag) and isinstance(op.target, Value):
            reason = f"the tag {op.name} is the author's word: nothing here derives it"
            found.append(Verdict("tag", "unknown", op.span, op.id, "structural", reason=reason))
    return found

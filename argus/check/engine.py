"""Runs all rules over a kernel and collects their verdicts.

Implied rules need no statement: conform, race_free, fresh, in_bounds, and, where the kernel says what it computes,
placed, reduced and covers. Stated rules are decided where they stand. A statement no rule answers is `unknown`, never
ignored.
"""

from __future__ import annotations

from time import perf_counter

from argus.check.conform import Conform
from argus.check.covers import Covers
from argus.check.flow import Flow, launch_facts
from argus.check.fresh import Fresh
from argus.check.in_bounds import InBounds
from argus.check.placed import Placed
from argus.check.prover import Prover
from argus.check.race_free import RaceFree
from argus.check.reduced import Reduced
from argus.check.relations import RULES as RELATIONS
from argus.check.relations import Relations
from argus.check.report import Report, Verdict
from argus.check.rule import Rule
from argus.check.speed import RULES as SPEED
from argus.check.speed import Speed
from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Value
from argus.ir.waits import insert_waits

ANSWERED = frozenset({"conform", "race_free", "fresh", "in_bounds", "reduced", "covers", *SPEED, *RELATIONS})


def check(kernel: Kernel) -> Report:
    """Decide every implied and stated rule of the kernel."""
    start = perf_counter()
    kernel = insert_waits(kernel)
    prover = Prover(launch_facts(kernel))
    rules: list[Rule] = [
        Conform(), RaceFree(), Fresh(), InBounds(), Placed(), Reduced(), Covers(), Relations(), Speed()
    ]  # fmt: skip
    flow = Flow(kernel, prover, rules)
    for rule in rules:
        rule.begin(flow)
    flow.run()
    walked = perf_counter()
    stats = {"walk": walked - start}
    verdicts: list[Verdict] = []
    for rule in rules:
        began = perf_counter()
        verdicts += rule.verdicts(flow)
        flow.refuted = any(v.status == "refuted" for v in verdicts)
        stats[rule.name] = perf_counter() - began
    verdicts += _problems(flow)
    stats |= {"solver": prover.seconds, "queries": float(prover.decided["z3"])}
    return Report(kernel, tuple(verdicts), perf_counter() - start, stats)


def _problems(flow: Flow) -> list[Verdict]:
    """Assumptions that failed, launches that cannot exist, and statements nobody answers."""
    found = [Verdict("bounds", "unknown", op.span, op.id, "z3", reason=why) for op, why in dict.fromkeys(flow.problems)]
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

"""Runs all rules over a kernel and collects their verdicts."""

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
from argus.check.report import Report, Verdict
from argus.check.rule import Rule
from argus.ir.kernel import Kernel
from argus.ir.waits import insert_waits


def check(kernel: Kernel) -> Report:
    """Decide every implied and stated rule of the kernel."""
    start = perf_counter()
    prover = Prover(launch_facts(kernel))
    kernel = insert_waits(kernel)
    rules: list[Rule] = [Conform(), RaceFree(), Fresh(), InBounds(), Placed(), Reduced(), Covers()]
    flow = Flow(kernel, prover, rules)
    for rule in rules:
        rule.begin(flow)
    flow.run()
    walked = perf_counter()
    verdicts = [verdict for rule in rules for verdict in rule.verdicts(flow)]
    verdicts += [
        Verdict("bounds", "unknown", op.span, op.id, "z3", reason=why) for op, why in dict.fromkeys(flow.problems)
    ]
    end = perf_counter()
    stats = {"walk": walked - start, "rules": end - walked, "solver": prover.seconds}
    return Report(kernel, tuple(verdicts), end - start, stats)

"""Runs all rules over a kernel and collects their verdicts."""

from __future__ import annotations

from time import perf_counter

from argus.check.conform import Conform
from argus.check.flow import Flow, launch_facts
from argus.check.prover import Prover
from argus.check.race_free import RaceFree
from argus.check.report import Report
from argus.check.rule import Rule
from argus.ir.kernel import Kernel
from argus.ir.waits import insert_waits


def check(kernel: Kernel) -> Report:
    """Decide every implied and stated rule of the kernel."""
    start = perf_counter()
    prover = Prover(launch_facts(kernel))
    kernel = insert_waits(kernel)
    rules: list[Rule] = [Conform(), RaceFree()]
    flow = Flow(kernel, prover, rules)
    flow.run()
    walked = perf_counter()
    verdicts = [verdict for rule in rules for verdict in rule.verdicts(flow)]
    end = perf_counter()
    stats = {"walk": walked - start, "rules": end - walked, "solver": prover.seconds}
    return Report(kernel, tuple(verdicts), end - start, stats)

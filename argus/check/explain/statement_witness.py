"""Counterexamples of statements about index expressions: an execution on which one is false, or two threads agree."""

from __future__ import annotations

from argus.check.explain.witness import replay, smallest_execution
from argus.check.report import Counterexample, Party
from argus.check.rules.relations import Unshown
from argus.check.walk import KernelWalk
from argus.ir import interp, ops
from argus.layout import expr as E


def broken_statement(flow: KernelWalk, op: ops.Check, doubt: Unshown) -> Counterexample | None:
    """The smallest execution that breaks what the op states."""
    if doubt.place is None or not doubt.breaking:
        return None
    return _equal_threads(flow, op, doubt) if op.rule == "distinct" else _false_condition(flow, op, doubt)


def _false_condition(flow: KernelWalk, op: ops.Check, doubt: Unshown) -> Counterexample | None:
    assert doubt.place is not None
    goal = doubt.said
    found = smallest_execution(flow.kernel, flow.prover, doubt.place, doubt.breaking)
    if found is None or any(node.op == "apply" for node in E.postorder(goal)):
        return None
    execution, values = found
    env = {v.name: n for v, n in values.items()}
    env.setdefault("lane", 0)
    env.setdefault("wave", 0)
    reached: list[bool] = []

    def watch(event: interp.OpEvent) -> None:
        if event.wave == env["wave"] and event.loops == execution.loops:
            reached.append(True)

    if replay(flow.kernel, execution, {op.id: watch}) is None or not reached or E.evaluate(goal, env):
        return None
    thread = 64 * env["wave"] + env["lane"]
    operand = Party("statement", thread, 0, f"finds `{goal}` false", span=op.span)
    message = "a stated condition does not hold"
    return Counterexample(
        op.rule, op.span, op.id, message, execution.sizes, execution.block, execution.loops, env["wave"],
        (operand,), "correct the statement or the indices it speaks about",
    )  # fmt: skip


def _equal_threads(flow: KernelWalk, op: ops.Check, doubt: Unshown) -> Counterexample | None:
    assert doubt.place is not None
    found = smallest_execution(flow.kernel, flow.prover, doubt.place, doubt.breaking)
    if found is None:
        return None
    execution, values = found
    env = {v.name: n for v, n in values.items()}
    if not E.evaluate(doubt.said, {"lane": 0, "wave": 0, "lane_other": 0, "wave_other": 0, **env}):
        return None
    threads = [64 * env.get(f"wave{x}", 0) + env.get(f"lane{x}", 0) for x in ("", "_other")]
    operands = tuple(Party("thread", t, 0, "has the same value", span=op.span) for t in threads)
    return Counterexample(
        op.rule, op.span, op.id, "two threads have the same value", execution.sizes, execution.block,
        execution.loops, threads[0] // 64, operands, "make the expression different for every thread",
    )  # fmt: skip

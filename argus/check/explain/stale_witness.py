"""Counterexamples of `fresh`: reads of bytes nobody wrote or of another version, uses before the wait, global races."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from argus.check.events import ProgramPoint
from argus.check.explain.small_executions import launches
from argus.check.explain.witness import Execution, decode, replay, smallest_execution
from argus.check.report import Counterexample, Party, Verdict
from argus.check.walk import KernelWalk
from argus.ir import interp, ops
from argus.ir.ops import Op
from argus.ir.types import Value
from argus.layout import expr as E

if TYPE_CHECKING:
    from argus.check.rules.fresh import Stale

GLOBAL = (ops.Load, ops.CopyToLds, ops.Store, ops.Atomic)


def stale_read(flow: KernelWalk, stale: Stale) -> Counterexample | None:
    found = smallest_execution(flow.kernel, flow.prover, stale.place, (stale.condition,))
    if found is None:
        return None
    execution, values = found
    seen: list[int] = []

    def arrived(event: interp.OpEvent) -> None:
        if event.wave == stale.thread // 64 and event.loops == execution.loops:
            seen.append(int(event.operands[0].code[stale.thread % 64, stale.element]))

    outcome = replay(flow.kernel, execution, {}, results={stale.op.id: arrived})
    if outcome is None or not seen:
        return None
    env = {v.name: n for v, n in values.items()}
    what = stale.what
    if stale.kind == "unwritten":
        if seen[0] != interp.UNWRITTEN:
            return None
    else:
        held = decode(flow.kernel, seen[0], execution.sizes)
        name = flow.tables.axis_names[stale.axis]
        if held.tensor is None or stale.version is None or name not in held.tensor.axes:
            return None
        k = held.coords[held.tensor.axes.index(name)]
        low, high = (int(E.evaluate(x, env)) for x in stale.version)
        if low <= k < high:
            return None
        what = f"sees {name}={k} of {held.tensor.name}, not the version {low}..{high - 1}"
    operand = Party("read", stale.thread, stale.element, what, span=stale.op.span)
    hint = "write the whole tile before it is read, also for the first iteration"
    if stale.kind == "version":
        hint = "read the slot of this iteration, after the store of this iteration"
    message = "a read of LDS sees bytes that were never written"
    if stale.kind == "version":
        message = "a read of LDS sees another version than stated"
    return Counterexample(
        "fresh", stale.op.span, stale.op.id, message, execution.sizes, execution.block,
        dict(execution.loops) | dict(stale.op.site), stale.thread // 64, (operand,), hint,
    )  # fmt: skip


def written_and_read(flow: KernelWalk) -> list[Verdict]:
    """Tensors the kernel both stores to and loads from: refuted where the interpreter meets a race, else unknown."""
    result = []
    for tensor in flow.kernel.tensors:
        touching = [op for op in ops.walk(flow.kernel.body) if isinstance(op, GLOBAL) and op.access.memory is tensor]
        stores = [op for op in touching if isinstance(op, ops.Store | ops.Atomic)]
        loads = [op for op in touching if isinstance(op, ops.Load | ops.CopyToLds)]
        if not stores or not loads:
            continue
        load = loads[0]
        reason = f"{tensor.name} is stored to and loaded from: the order of the two is not decided"
        verdict = Verdict("fresh", "unknown", load.span, load.id, "interpreter", reason=reason)
        for sizes in launches(flow.kernel, 4):
            outcome = _try(flow, sizes)
            races = [h for h in outcome.hazards if h.memory == tensor.name and h.kind == "race"] if outcome else []
            if races:
                text = f"meets a store of another wave at byte {races[0].byte} of {tensor.name}"
                operand = Party("load", 64 * races[0].second[1], 0, text, tensor.name, span=load.span)
                message = f"a load of {tensor.name} meets a store of the same kernel that nothing orders before it"
                hint = "wait for the store (ag.wait(vm=0)) before the barrier that publishes it"
                example = Counterexample(
                    "fresh", load.span, load.id, message, sizes, (0, 0, 0), {}, 0, (operand,), hint
                )  # fmt: skip
                verdict = Verdict("fresh", "refuted", load.span, load.id, "interpreter", counterexample=example)
                break
        result.append(verdict)
    return result


def missing_waits_verdicts(flow: KernelWalk, missing: list[tuple[Op, Value]]) -> list[Verdict]:
    """Registers used before the load that fills them has been waited for."""
    if not missing:
        return []
    op, value = missing[0]
    place = ProgramPoint((), (), flow.active)
    found = smallest_execution(flow.kernel, flow.prover, place)
    if found is not None:
        execution, _ = found
        for sizes in (execution.sizes, dict(flow.kernel.example)):
            outcome = _try(flow, sizes)
            if outcome is not None and any(h.kind == "unwaited" and h.second[0] == op.id for h in outcome.hazards):
                text = f"uses register {value} before its load has been waited for"
                operand = Party("use", 0, 0, text, span=op.span)
                example = Counterexample(
                    "fresh", op.span, op.id, "a register is read while its load is still in flight", sizes,
                    (0, 0, 0), dict(op.site), 0, (operand,), "wait for the load (vm for global memory, lgkm for LDS)",
                )  # fmt: skip
                return [Verdict("fresh", "refuted", op.span, op.id, "enumeration", counterexample=example)]
    reason = "a register is used before its load has been waited for, but the replay does not show it"
    return [Verdict("fresh", "unknown", op.span, op.id, "enumeration", reason=reason)]


def _try(flow: KernelWalk, sizes: Mapping[str, int]) -> interp.InterpOutcome | None:
    if set(sizes) < {v.name for v in flow.kernel.shapes}:
        return None
    return replay(flow.kernel, Execution(dict(sizes), (0, 0, 0), {}), {})

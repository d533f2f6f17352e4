"""Watching the walk and the interpreter: the one file that knows how both are built.

`watched_walk` gives a snapshot for every op the final walk steps over: the tags of its operands and results, LDS, and
the path (facts, loop variables). What a failed guess of an invariant heard is taken back, as for rules. `watched_run`
calls a function after every op a wave executes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.domain.records import Tables
from argus.check.domain.tags import Tags
from argus.check.engine import check
from argus.check.report import Report
from argus.check.walk import Flow
from argus.ir.interp.wave import InterpWave
from argus.ir.ops import Op
from argus.ir.stages import Scheduled
from argus.ir.types import Value
from argus.layout.expr import Expr


@dataclass(frozen=True)
class Snapshot:
    """The walk after one op: what it says of the op's values and of LDS, and where it is."""

    op: Op
    values: Mapping[Value, Tags]
    memory: Tags
    facts: tuple[Expr, ...]
    loops: tuple[tuple[Expr, Expr], ...]
    active: NDArray[np.bool_]


@dataclass
class WatchedWalk:
    """All snapshots of one check, by op, and the tables their records are numbers of."""

    report: Report
    tables: Tables
    unit: int
    snapshots: dict[int, list[Snapshot]]


class _Recorder:
    """A listener that hears nothing and takes back what failed guesses left."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.heard: list[Snapshot] = []

    def mark(self) -> int:
        return len(self.heard)

    def rewind(self, position: int) -> None:
        del self.heard[position:]

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **words: None


def watched_walk(program: Scheduled) -> WatchedWalk:
    """Check the program and keep what its walk said; of several walks the first, which all rules share."""
    recorders: list[_Recorder] = []
    step, run = Flow.step, Flow.run

    def watched_run_of(flow: Flow) -> None:
        recorder = _Recorder(flow)
        recorders.append(recorder)
        flow.sound.listeners = (*flow.sound.listeners, recorder)  # type: ignore[arg-type]
        run(flow)

    def watched_step(flow: Flow, op: Op) -> None:
        before = {v: flow.values[v] for v in op.operands if v in flow.values}
        step(flow, op)
        recorder = next((r for r in recorders if r.flow is flow), None)
        if recorder is not None and flow.tell():
            after = {v: flow.values[v] for v in op.results if v in flow.values}
            facts, loops = flow.facts, flow.loops
            recorder.heard.append(Snapshot(op, before | after, flow.memory.tags, facts, loops, flow.active))

    Flow.step, Flow.run = watched_step, watched_run_of  # type: ignore[method-assign]
    try:
        report = check(program)
    finally:
        Flow.step, Flow.run = step, run  # type: ignore[method-assign]
    first = recorders[0]
    by_op: dict[int, list[Snapshot]] = {}
    for one in first.heard:
        by_op.setdefault(one.op.id, []).append(one)
    return WatchedWalk(report, first.flow.tables, first.flow.memory.unit, by_op)


AfterOp = Callable[[InterpWave, Op, NDArray[np.bool_]], None]


@contextmanager
def watched_run(after: AfterOp) -> Iterator[None]:
    """While this holds, `after(wave, op, active lanes)` is called when a wave has executed an op."""
    execute = InterpWave.execute

    def one_by_one(wave: InterpWave, block: list[Op], active: NDArray[np.bool_]) -> Any:
        for op in block:
            yield from execute(wave, [op], active)
            after(wave, op, active)

    InterpWave.execute = one_by_one  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        InterpWave.execute = execute  # type: ignore[method-assign]

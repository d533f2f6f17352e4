"""Watching the walk and the interpreter: the one file that knows how both are built.

`watched_walk` gives a snapshot for every op the proof's walk steps over: the tags of its operands and results, LDS, and
the path (facts, loop variables). Walks that only guess are not heard. `watched_run` calls a function after every op a
wave executes.
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
from argus.check.walk import KernelWalk
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
    in_step: bool
    """All waves have passed as many barriers: they stand at this op together."""


@dataclass(frozen=True)
class WatchedWalk:
    """All snapshots of one check, by op, and the tables their records are numbers of."""

    report: Report
    tables: Tables
    unit: int
    snapshots: dict[int, list[Snapshot]]


def watched_walk(program: Scheduled) -> WatchedWalk:
    """Check the program and keep what its proof's walk said; a walk whose certificate did not replay is forgotten."""
    heard: dict[KernelWalk, list[Snapshot]] = {}
    step = KernelWalk.step

    def watched_step(walk: KernelWalk, op: Op) -> None:
        before = {v: walk.values[v] for v in op.operands if v in walk.values}
        step(walk, op)
        if type(walk) is KernelWalk:
            after = {v: walk.values[v] for v in op.results if v in walk.values}
            in_step = len(set(walk.order.lag)) == 1
            one = Snapshot(op, before | after, walk.memory.tags, walk.facts, walk.loops, walk.active, in_step)
            heard.setdefault(walk, []).append(one)

    setattr(KernelWalk, "step", watched_step)  # noqa: B010 - mypy takes an assignment to a method for a mistake
    try:
        report = check(program)
    finally:
        setattr(KernelWalk, "step", step)  # noqa: B010
    walk, snapshots = list(heard.items())[-1]
    by_op: dict[int, list[Snapshot]] = {}
    for one in snapshots:
        by_op.setdefault(one.op.id, []).append(one)
    return WatchedWalk(report, walk.tables, walk.memory.unit, by_op)


AfterOp = Callable[[InterpWave, Op, NDArray[np.bool_]], None]


@contextmanager
def watched_run(after: AfterOp) -> Iterator[None]:
    """While this holds, `after(wave, op, active lanes)` is called when a wave has executed an op."""
    execute = InterpWave.execute

    def one_by_one(wave: InterpWave, block: list[Op], active: NDArray[np.bool_]) -> Any:
        for op in block:
            yield from execute(wave, [op], active)
            after(wave, op, active)

    setattr(InterpWave, "execute", one_by_one)  # noqa: B010
    try:
        yield
    finally:
        setattr(InterpWave, "execute", execute)  # noqa: B010

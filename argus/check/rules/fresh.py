"""Rule `fresh`: a read sees the intended version, complete.

Proved, for every read of LDS, every thread, element, path and iteration: each byte read has been written before on
the path (also in the first iteration); and for every op: the registers it needs have been waited for. Together with
`race_free`, which orders the writes of other waves before the read, this means the read delivers exactly the tags the
walk computed. A tensor that the kernel both stores to and loads from is never proved: refuted where the interpreter
meets a race between the two, otherwise `unknown`.

Stated with a coordinate, `ag.check.fresh(sA, K="kt*BK")`, it also proves that what is read belongs to that version:
every element's K lies in [kt*BK, kt*BK + the step of that expression per iteration).

Assumes explicit waits (`argus.ir.passes.insert_waits`); counters retire in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.check.domain.record_numbers import distinct
from argus.check.domain.tags import Tags
from argus.check.domain.threads import Spread
from argus.check.events import ProgramPoint
from argus.check.rules.rule import Rule, RuleEvent
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.ops import Access, Op, Shared
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

Interval = tuple[Expr, Expr]


@dataclass(frozen=True, slots=True)
class Stale:
    """A read that may deliver something else. `condition` holds on the executions that show it."""

    op: Op
    place: ProgramPoint
    thread: int
    element: int
    condition: Expr
    kind: str
    what: str
    axis: int = -1
    version: Interval | None = None


class Fresh(Rule):
    """Listens to LDS reads; looks at waits once."""

    name = "fresh"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.found: list[RuleEvent[Stale]] = []
        self.missing: list[tuple[Op, Value]] = []
        self.versions: dict[Shared, list[tuple[int, Expr]]] = {}
        self.unreadable: list[tuple[ops.Check, str]] = []
        self.emitted = flow.emitted
        for op in ops.walk(flow.kernel.body):
            if isinstance(op, ops.Check) and op.rule == "fresh":
                self._state(op)

    def _state(self, op: ops.Check) -> None:
        for name, expr in op.args.items():
            axis = self.flow.tables.axes.get(name)
            if axis is None or not isinstance(expr, Expr | int):
                self.unreadable.append((op, f"`{name}` is not an axis with an index expression"))
                continue
            for target in op.targets:
                if isinstance(target, Shared):
                    self.versions.setdefault(target, []).append((axis, E.as_expr(expr)))

    def lds_access(self, op: Op, place: ProgramPoint, access: Access, start: Spread, value: Tags) -> None:
        if not isinstance(op, ops.Load):
            return
        unwritten, older = self._unwritten(op, place, value), self._versions(op, place, access, value)
        self.settle(op, "written", "enumeration", [s.what for s in unwritten])
        self.settle(op, "version", "enumeration", [s.what for s in older])
        self.found.append(RuleEvent(op, place.facts, (*unwritten, *older)))

    def registers(self, op: Op, missing: tuple[Value, ...]) -> None:
        arrived = self.flow.registers_arrive
        doubts = [] if arrived else [f"register {value} may not have arrived" for value in missing]
        self.settle(op, "waited", "found on the object" if arrived else "structural", doubts)
        if doubts:
            self.missing.append((op, missing[0]))

    def _unwritten(self, op: ops.Load, place: ProgramPoint, value: Tags) -> list[Stale]:
        if op.id not in self.emitted:  # nobody uses what it reads: it is not in the code
            return []
        for case in value.cases:
            for number in distinct(case.record):
                record = self.flow.tables[number]
                if record.kind not in ("unwritten", "lost"):
                    continue
                w, lane, e = (int(v) for v in np.argwhere(case.record == number)[0])
                kind = record.kind if record.kind == "unwritten" else "unknown"
                what = record.why or "reads LDS that nobody has written"
                return [Stale(op, place, 64 * w + lane, e, case.guard, kind, what)]
        return []

    def _versions(self, op: ops.Load, place: ProgramPoint, access: Access, value: Tags) -> list[Stale]:
        assert isinstance(access.memory, Shared)
        for axis, version in self.versions.get(access.memory, ()):
            first = self.flow.here(version)
            width = _width(version, place)
            name = self.flow.tables.axis_names[axis]
            for case in value.cases:
                for number in distinct(case.record):
                    record = self.flow.tables[number]
                    here = case.record == number
                    if record.kind in ("zero", "unwritten", "lost"):
                        continue
                    if record.rests[axis] < 0 or width is None:
                        return [Stale(op, place, 0, 0, E.TRUE, "unknown", f"has no single {name}, or no step of it")]
                    rest = self.flow.tables.rests[record.rests[axis]]
                    for at in (np.argmin, np.argmax):
                        offsets = np.where(here, case.offset[..., axis], case.offset[..., axis][here][0])
                        w, lane, e = (int(v) for v in np.unravel_index(int(at(offsets)), offsets.shape))
                        k = rest + int(offsets[w, lane, e])
                        good = E.land(k.ge(first), k.lt(first + width))
                        if self.flow.prover.holds((*place.facts, case.guard), good) is not True:
                            bad = E.land(case.guard, E.lnot(good))
                            what = f"sees {name} = {k}, not the version at {first}"
                            version_seen = (first, first + width)
                            return [Stale(op, place, 64 * w + lane, e, bad, "version", what, axis, version_seen)]
        return []


def _width(version: Expr, place: ProgramPoint) -> int | None:
    """How far the version moves from one iteration to the next."""
    for var, _ in place.loops:
        if var in version.free():
            step = E.as_expr(version.subst({var: var + 1}) - version)
            return step.value if step.op == "const" and step.value > 0 else None
    return None

"""Rules the author states about values and index expressions: `same`, `distinct`, `aligned`, `invariant`.

    ag.check.same(x, y)              index expressions: equal for every thread, block, iteration and size
    ag.check.distinct(i)             index expression: different for different threads of a workgroup
    ag.check.aligned(den, o, "Sq")   values: every element a lane holds, of all of them, has the same Sq
    ag.check.invariant(c)            condition: true whenever the program comes here

On values `same` compares the tags element by element on the named axis. Everything is decided at the place of the
statement, with the path that leads there; what the prover cannot decide is `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.check.domain.tags import Case, Tags
from argus.check.events import ProgramPoint
from argus.check.obligations import STATED_OF_VALUES
from argus.check.rules.rule import Rule
from argus.check.walk import KernelWalk
from argus.ir import ops
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr


@dataclass(frozen=True, slots=True)
class Unshown:
    """Why a statement was not shown; with what it says, and what holds on executions that break it, if there may be."""

    reason: str
    place: ProgramPoint | None = None
    said: Expr = E.TRUE
    breaking: tuple[Expr, ...] = ()


class Relations(Rule):
    """Answers each statement where it stands."""

    name = "relations"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.made: list[tuple[ops.Check, Unshown | None]] = []

    def stated(self, op: ops.Check, place: ProgramPoint, values: Mapping[Value, Tags]) -> None:
        if op.rule not in STATED_OF_VALUES:
            return
        exprs = op.args.get("exprs", ())
        expressions = tuple(e for e in exprs if isinstance(e, Expr)) if isinstance(exprs, tuple) else ()
        axis = self.flow.tables.axes.get(str(op.args.get("axis", "")))
        match op.rule:
            case "invariant" if expressions:
                self._condition(op, place, E.land(*(E.as_condition(self.flow.here(e)) for e in expressions)))
            case "same" if len(expressions) > 1:
                equal = [self.flow.here(x).eq(self.flow.here(expressions[0])) for x in expressions[1:]]
                self._condition(op, place, E.land(*equal))
            case "distinct" if expressions:
                self._distinct(op, place, expressions)
            case "same" | "aligned" if values and axis is not None:
                self._values(op, place, list(values.values()), axis, across=op.rule == "aligned")
            case _:
                self._unknown(op, f"{op.rule} needs index expressions, or values and the name of an axis")

    def _add(self, op: ops.Check, doubt: Unshown | None = None) -> None:
        """What the statement came to at one visit."""
        how = self.flow.prover.reason()
        self.flow.ledger.settle(op.id, op.rule, "stated", how, [] if doubt is None else [doubt.reason])
        self.made.append((op, doubt))

    def _unknown(self, op: ops.Check, reason: str) -> None:
        self._add(op, Unshown(reason))

    def _condition(self, op: ops.Check, place: ProgramPoint, goal: Expr) -> None:
        answer = self.flow.prover.holds(place.facts, goal)
        breaking = (E.lnot(goal),) if answer is False else ()
        self._add(op, None if answer is True else Unshown(f"`{goal}` was not decided", place, goal, breaking))

    def _distinct(self, op: ops.Check, place: ProgramPoint, expressions: tuple[Expr, ...]) -> None:
        lane, wave = E.var("lane", 0, 63), E.var("wave", 0, self.flow.kernel.waves - 1)
        spreads = [self.flow.threads.spread(self.flow.here(e)) for e in expressions]
        if all(s.rest is not None for s in spreads):
            points = np.stack([s.offsets.reshape(-1) for s in spreads], axis=1)[place.active.reshape(-1)]
            if len(np.unique(points, axis=0)) == len(points):
                self._add(op)
                return
        other = {lane: E.var("lane_other", 0, 63), wave: E.var("wave_other", 0, self.flow.kernel.waves - 1)}
        same = E.land(*(self.flow.here(e).eq(self.flow.here(e).subst(dict(other))) for e in expressions))
        differ = E.lor(*(v.ne(o) for v, o in other.items()))
        if self.flow.prover.possible((*place.facts, same, differ)) is False:
            self._add(op)
            return
        self._add(op, Unshown("whether two threads have the same value was not decided", place, same, (same, differ)))

    def _values(self, op: ops.Check, place: ProgramPoint, values: list[Tags], axis: int, across: bool) -> None:
        """Equal coordinate on the axis: of all elements of a lane (`aligned`), or element by element (`same`)."""
        name = self.flow.tables.axis_names[axis]
        tables = self.flow.tables
        columns = []
        for value in values:
            found = [self._coordinates(c, axis) for c in value.cases]
            zero = [tables.kinds(c.record) == {"zero"} for c in value.cases]
            found = [column for column, nothing in zip(found, zero, strict=True) if not nothing] or found
            if any(not all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True)) for other in found):
                self._unknown(op, f"the values have several alternatives for {name}")
                return
            columns.append(found[0])
        if any((rest < 0).any() for rest, _ in columns):
            self._unknown(op, f"a value has no single {name}")
            return
        if not across and len({rest.shape for rest, _ in columns}) != 1:
            self._unknown(op, "the values have different numbers of elements")
            return
        reference = columns[0]
        for rest, offset in columns:
            like = (reference[0][..., :1], reference[1][..., :1]) if across else reference
            wrong = ((rest != like[0]) | (offset != like[1])) & place.active[..., None]
            if wrong.any():
                w, lane, e = (int(v) for v in np.argwhere(wrong)[0])
                self._unknown(op, f"element {e} of thread {64 * w + lane} belongs to another {name}")
                return
        self._add(op)

    def _coordinates(self, case: Case, axis: int) -> tuple[np.ndarray, np.ndarray]:
        return self.flow.tables.rests_of(case.record)[..., axis], case.offset[..., axis]

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

import numpy as np

from argus.check.domain.tags import Case, Tags
from argus.check.events import ProgramPoint
from argus.check.explain.witness import replay, smallest_execution
from argus.check.report import Counterexample, Party, Status, Verdict
from argus.check.rules.rule import Rule
from argus.check.walk import KernelWalk, bounds_of
from argus.ir import interp, ops
from argus.ir.types import Value
from argus.layout import expr as E
from argus.layout.expr import Expr

RULES = ("same", "distinct", "aligned", "invariant")


class Relations(Rule):
    """Answers each statement where it stands."""

    name = "relations"

    def begin(self, flow: KernelWalk) -> None:
        super().begin(flow)
        self.made: list[tuple[ops.Check, Status, str, Counterexample | None]] = []

    def stated(self, op: ops.Check, place: ProgramPoint, values: Mapping[Value, Tags]) -> None:
        if op.rule not in RULES:
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
                reason = f"{op.rule} needs index expressions, or values and the name of an axis"
                self._add(op, "unknown", reason)

    def _add(self, op: ops.Check, status: Status, reason: str = "", example: Counterexample | None = None) -> None:
        """What the statement came to at one visit."""
        how = self.flow.prover.reason()
        doubts = [] if status == "proved" else [reason or "it is refuted"]
        self.flow.ledger.settle(op.id, op.rule, "stated", how, doubts)
        self.made.append((op, status, reason, example))

    def _condition(self, op: ops.Check, place: ProgramPoint, goal: Expr) -> None:
        answer = self.flow.prover.holds(place.facts, goal)
        if answer is True:
            self._add(op, "proved")
            return
        example = self._example(op, place, goal) if answer is False else None
        if example is not None:
            self._add(op, "refuted", example=example)
        else:
            self._add(op, "unknown", f"`{goal}` was not decided")

    def _example(self, op: ops.Check, place: ProgramPoint, goal: Expr) -> Counterexample | None:
        found = smallest_execution(self.flow.kernel, self.flow.prover, place, (E.lnot(goal),))
        if found is None:
            return None
        execution, values = found
        if any(node.op == "apply" for node in E.postorder(goal)):
            return None
        env = {v.name: n for v, n in values.items()}
        env.setdefault("lane", 0)
        env.setdefault("wave", 0)
        reached: list[bool] = []

        def watch(event: interp.OpEvent) -> None:
            if event.wave == env["wave"] and event.loops == execution.loops:
                reached.append(True)

        if replay(self.flow.kernel, execution, {op.id: watch}) is None or not reached:
            return None
        if E.evaluate(goal, env):
            return None
        thread = 64 * env["wave"] + env["lane"]
        operand = Party("statement", thread, 0, f"finds `{goal}` false", span=op.span)
        message = "a stated condition does not hold"
        return Counterexample(
            op.rule, op.span, op.id, message, execution.sizes, execution.block, execution.loops, env["wave"],
            (operand,), "correct the statement or the indices it speaks about",
        )  # fmt: skip

    def _distinct(self, op: ops.Check, place: ProgramPoint, expressions: tuple[Expr, ...]) -> None:
        lane, wave = E.var("lane", 0, 63), E.var("wave", 0, self.flow.kernel.waves - 1)
        spreads = [self.flow.threads.spread(self.flow.here(e)) for e in expressions]
        if all(s.rest is not None for s in spreads):
            points = np.stack([s.offsets.reshape(-1) for s in spreads], axis=1)[place.active.reshape(-1)]
            if len(np.unique(points, axis=0)) == len(points):
                self._add(op, "proved")
                return
        other = {lane: E.var("lane_other", 0, 63), wave: E.var("wave_other", 0, self.flow.kernel.waves - 1)}
        same = E.land(*(self.flow.here(e).eq(self.flow.here(e).subst(dict(other))) for e in expressions))
        differ = E.lor(*(v.ne(o) for v, o in other.items()))
        if self.flow.prover.possible((*place.facts, same, differ)) is False:
            self._add(op, "proved")
            return
        self._clash(op, place, same, differ)

    def _clash(self, op: ops.Check, place: ProgramPoint, same: Expr, differ: Expr) -> None:
        found = smallest_execution(self.flow.kernel, self.flow.prover, place, (same, differ))
        if found is None:
            self._add(op, "unknown", "whether two threads have the same value was not decided")
            return
        execution, values = found
        env = {v.name: n for v, n in values.items()}
        threads = [64 * env.get(f"wave{x}", 0) + env.get(f"lane{x}", 0) for x in ("", "_other")]
        if not E.evaluate(same, {"lane": 0, "wave": 0, "lane_other": 0, "wave_other": 0, **env}):
            self._add(op, "unknown", "whether two threads have the same value was not decided")
            return
        operands = tuple(Party("thread", t, 0, "has the same value", span=op.span) for t in threads)
        example = Counterexample(
            op.rule, op.span, op.id, "two threads have the same value", execution.sizes, execution.block,
            execution.loops, threads[0] // 64, operands, "make the expression different for every thread",
        )  # fmt: skip
        self._add(op, "refuted", example=example)

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
                self._add(op, "unknown", f"the values have several alternatives for {name}")
                return
            columns.append(found[0])
        if any((rest < 0).any() for rest, _ in columns):
            self._add(op, "unknown", f"a value has no single {name}")
            return
        if not across and len({rest.shape for rest, _ in columns}) != 1:
            self._add(op, "unknown", "the values have different numbers of elements")
            return
        reference = columns[0]
        for rest, offset in columns:
            like = (reference[0][..., :1], reference[1][..., :1]) if across else reference
            wrong = ((rest != like[0]) | (offset != like[1])) & place.active[..., None]
            if wrong.any():
                w, lane, e = (int(v) for v in np.argwhere(wrong)[0])
                self._add(op, "unknown", f"element {e} of thread {64 * w + lane} belongs to another {name}")
                return
        self._add(op, "proved")

    def _coordinates(self, case: Case, axis: int) -> tuple[np.ndarray, np.ndarray]:
        return self.flow.tables.rests_of(case.record)[..., axis], case.offset[..., axis]

    def verdicts(self, flow: KernelWalk) -> list[Verdict]:
        found: list[Verdict] = []
        for op, status, reason, example in self.made:
            if status == "proved":
                shown, bounds = flow.ledger.at(op.rule, op.span), bounds_of(flow.prover.base)
                found.append(flow.ledger.conclude(shown, op.rule, op.span, op.id, "z3", 1, bounds))
            else:
                made = Verdict(op.rule, status, op.span, op.id, "z3", reason=reason, counterexample=example)
                found.append(made)
        return found

"""Rule `reduced`: every index of a contraction is accumulated exactly once.

Proved: the accumulator starts at zero, and the coordinates its MFMAs add on the axis, over all unrolled steps and all
iterations of its loops, are every integer of the stated range exactly once. Beyond the end of the axis indices may be
added too: elements there are zero. Loops enter with their symbolic trip count; each iteration's share must be a
contiguous block, and the blocks of successive iterations adjacent.

Implied for sums of the specification, at the stores of its output; stated by `ag.check.reduced(acc, K=(0, K))`.
A refutation is a launch executed by the interpreter with ones at one index and zeros elsewhere: the result counts how
often that index was accumulated. It is tried only where the specification is nothing but a sum of a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from argus.check.flow import Flow, Place, bounds_of
from argus.check.report import Counterexample, Operand, Verdict
from argus.check.rule import Findings, Rule
from argus.check.search import launches
from argus.check.tables import Item, Slots, Sum
from argus.check.tags import Tags
from argus.ir import interp, ops
from argus.ir.kernel import Kernel
from argus.ir.ops import Access, Op, Tensor
from argus.ir.types import Span, Value
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

Interval = tuple[Expr, Expr]
ADVICE = "only sums accumulated by MFMAs are counted; compare the result of a run with the specification: argus run"


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a contraction was not proved complete."""

    axis: int
    why: str


class Reduced(Rule):
    """Listens to stores of the specification's output and to stated checks."""

    name = "reduced"

    def begin(self, flow: Flow) -> None:
        super().begin(flow)
        self.found: Findings[Gap] = Findings()
        self.spec = flow.spec

    def mark(self) -> int:
        return self.found.mark()

    def rewind(self, position: int) -> None:
        self.found.rewind(position)

    def global_store(self, op: ops.Store | ops.Atomic, place: Place, access: Access, value: Tags) -> None:
        self._statistics(op, place, value)
        if self.spec is None or access.memory is not self.spec.output:
            return
        if self.spec.unreduced:
            self.found.add(op, place.facts, [Gap(-1, why) for why in self.spec.unreduced])
        for axis in sorted(self.spec.summed):
            extent = _extent(self.flow, axis)
            if extent is not None:
                self._decide(op, place, value, axis, E.const(0), extent)
            else:
                name = self.flow.tables.axis_names[axis]
                self.found.add(op, place.facts, [Gap(-1, f"{name} has different extents in different tensors")])

    def _statistics(self, op: ops.Store | ops.Atomic, place: Place, value: Tags) -> None:
        """Sums and maxima by elementwise functions and lane exchanges: what went into them is not tracked."""
        behind = {a for c in value.cases for n in np.unique(c.record) for a in self.flow.tables[int(n)].statistics}
        for axis in sorted(behind):
            name = self.flow.tables.axis_names[axis]
            self.found.add(
                op, place.facts, [Gap(-1, f"a reduction over {name} went into it that is not proved complete")]
            )

    def stated(self, op: ops.Check, place: Place, values: Mapping[Value, Tags]) -> None:
        if op.rule != "reduced":
            return
        for name, bounds in op.args.items():
            axis = self.flow.tables.axes.get(name)
            if axis is None or not isinstance(bounds, tuple) or len(bounds) != 2:
                self.found.add(op, place.facts, [Gap(-1, f"`{name}` does not name an axis with a range (from, to)")])
                continue
            for tags in values.values():
                self._decide(op, place, tags, axis, E.as_expr(bounds[0]), E.as_expr(bounds[1]))

    def _decide(self, op: Op, place: Place, value: Tags, axis: int, low: Expr, high: Expr) -> None:
        gaps = []
        for case in self.flow.prune(value).cases:
            facts = (*place.facts, case.guard)
            for number in np.unique(case.record[place.active]):
                record = self.flow.tables[int(number)]
                sums = Sum("zero", ()) if record.kind == "zero" else record.sums
                why = complete(self.flow, facts, sums, axis, low, high)
                if why is not None:
                    gaps.append(Gap(axis, why))
        self.found.add(op, place.facts, gaps)

    def verdicts(self, flow: Flow) -> list[Verdict]:
        return [self._verdict(flow, span) for span in self.found.spans()]

    def _verdict(self, flow: Flow, span: Span) -> Verdict:
        entries = self.found.at(span)
        first = entries[0]
        gaps = [g for entry in entries for g in entry.failures]
        if not gaps:
            bounds = bounds_of((*flow.prover.base, *first.facts))
            return Verdict("reduced", "proved", span, first.op.id, "enumeration+z3", sites=len(entries), bounds=bounds)
        countable = self.spec is not None and self.spec.plain and not flow.refuted
        for axis in dict.fromkeys(g.axis for g in gaps if g.axis >= 0 and countable):
            example = _counterexample(flow, axis, span, first.op.id)
            if example is not None:
                return Verdict("reduced", "refuted", span, first.op.id, "interpreter", counterexample=example)
        return Verdict("reduced", "unknown", span, first.op.id, "enumeration+z3", reason=gaps[0].why, help=ADVICE)


def _extent(flow: Flow, axis: int) -> Expr | None:
    """The common extent of an axis in all tensors that are read."""
    found = {
        tensor.shape[numbers.index(axis)]
        for tensor, numbers in flow.tables.tensor_axes.items()
        if tensor.read and axis in numbers
    }
    return next(iter(found)) if len(found) == 1 else None


def complete(flow: Flow, facts: tuple[Expr, ...], sums: Sum | None, axis: int, low: Expr, high: Expr) -> str | None:
    """None when the sum takes every index of [low, high) exactly once; else what is missing."""
    name = flow.tables.axis_names[axis]
    if sums is None:
        return f"which {name} were accumulated is not known"
    if sums.root != "zero":
        return "the accumulator does not start at zero"
    pieces = intervals(flow, facts, sums.items, axis)
    if isinstance(pieces, str):
        return pieces
    edge, left = low, list(pieces)
    while left:
        following = next((p for p in left if flow.prover.holds(facts, p[0].eq(edge)) is True), None)
        if following is None:
            return f"the accumulated {name} do not join up at {edge}"
        left.remove(following)
        edge = following[1]
    if flow.prover.holds(facts, edge.eq(high)) is True:
        return None
    padded = _extent(flow, axis)
    if padded is high and flow.prover.holds(facts, edge.ge(high)) is True:
        return None
    return f"the accumulated {name} end at {edge}, not at {high}"


def intervals(flow: Flow, facts: tuple[Expr, ...], items: tuple[Item, ...], axis: int) -> list[Interval] | str:
    """The indices as disjoint intervals [from, to), each index once; or why that is not so."""
    by_start: dict[Expr, list[int]] = {}
    result: list[Interval] = []
    for item in items:
        if isinstance(item, Slots):
            if item.axis != axis:
                return f"the sum also runs over {flow.tables.axis_names[item.axis]}"
            by_start.setdefault(item.rest, []).extend(item.offsets)
    for rest, offsets in by_start.items():
        ordered = sorted(offsets)
        if len(set(ordered)) != len(ordered):
            twice = next(x for x, y in pairwise(ordered) if x == y)
            return f"{flow.tables.axis_names[axis]} {rest + twice} is accumulated twice"
        result += [(rest + first, rest + (last + 1)) for first, last in _runs(ordered)]
    for item in items:
        if not isinstance(item, Slots):
            bound = (*facts, item.var.ge(item.lo), item.var.lt(item.hi))
            inner = intervals(flow, bound, item.items, axis)
            if isinstance(inner, str):
                return inner
            joined = _joined(flow, bound, inner)
            if len(joined) != 1:
                return "an iteration accumulates several separate ranges"
            start, end = joined[0]
            width = E.as_expr(end - start)
            step = E.as_expr(start.subst({item.var: item.var + item.step}) - start)
            if flow.prover.holds(bound, step.eq(width)) is not True or item.var in width.free():
                return f"an iteration accumulates {width} indices but the next one starts {step} further"
            result.append((start.subst({item.var: item.lo}), start.subst({item.var: item.hi})))
    return result


def _runs(ordered: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for value in ordered:
        if runs and runs[-1][1] + 1 == value:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs


def _joined(flow: Flow, facts: tuple[Expr, ...], pieces: list[Interval]) -> list[Interval]:
    """Adjacent intervals put together."""
    result = list(pieces)
    changed = True
    while changed and len(result) > 1:
        changed = False
        for x in result:
            y = next((p for p in result if p is not x and flow.prover.holds(facts, x[1].eq(p[0])) is True), None)
            if y is not None:
                result = [p for p in result if p is not x and p is not y] + [(x[0], y[1])]
                changed = True
                break
    return result


def _counterexample(flow: Flow, axis: int, span: Span, op: int) -> Counterexample | None:
    """Launch small sizes with ones at chosen indices; a sum that counts wrong is narrowed down to one index."""
    kernel, name = flow.kernel, flow.tables.axis_names[axis]
    outputs = [t for t in kernel.tensors if t.written and not t.read]
    extent = _extent(flow, axis)
    if extent is None or len(outputs) != 1:
        return None
    for sizes in _by_length(kernel, extent):
        sets = _subsets(int(E.evaluate(extent, sizes)))
        indices = next((s for s in sets if _count(flow, axis, s, sizes, outputs[0]) is not None), [])
        while len(indices) > 1:
            half = indices[: len(indices) // 2]
            rest = indices[len(indices) // 2 :]
            indices = half if _count(flow, axis, half, sizes, outputs[0]) is not None else rest
        last = _count(flow, axis, indices, sizes, outputs[0]) if indices else None
        if last is None:
            continue
        at, times = last
        coords = dict(zip(outputs[0].axes, at, strict=True))
        where = ", ".join(f"{a}={c}" for a, c in coords.items())
        how = "is never accumulated" if times == 0 else f"is accumulated {times:g} times"
        text = f"for {outputs[0].name}[{where}] the index {name}={indices[0]} {how}"
        operand = Operand("sum", 0, 0, text, outputs[0].name, coords, span=span)
        message = f"{name}={indices[0]} {how}"
        hint = f"let the loop and its fragments visit every {name} exactly once"
        return Counterexample("reduced", span, op, message, sizes, (0, 0, 0), {}, 0, (operand,), hint)
    return None


def _subsets(extent: int) -> list[list[int]]:
    """All indices, then sets that tell permuted operands apart: halves, every other one, every other group of eight."""
    every = list(range(extent))
    return [s for s in (every, every[: extent // 2], every[::2], [k for k in every if k // 8 % 2 == 0]) if s]


def _by_length(kernel: Kernel, extent: Expr) -> list[dict[str, int]]:
    """Small launches with different lengths of the sum, shortest first."""
    by_extent: dict[int, dict[str, int]] = {}
    for sizes in launches(kernel):
        by_extent.setdefault(int(E.evaluate(extent, sizes)), sizes)
    return [by_extent[n] for n in sorted(by_extent)][:6]


def _count(
    flow: Flow, axis: int, indices: list[int], sizes: Mapping[str, int], output: Tensor
) -> tuple[tuple[int, ...], float] | None:
    """The first output element of block 0 whose sum over ones at `indices` is not their number."""
    arrays: dict[str, np.ndarray] = {}
    for tensor, numbers in flow.tables.tensor_axes.items():
        if not tensor.read:
            continue
        array = np.ones(interp.extents(tensor, sizes))
        if axis in numbers:
            position = numbers.index(axis)
            keep = np.zeros(array.shape[position])
            keep[indices] = 1
            array = array * keep.reshape([-1 if a == position else 1 for a in range(array.ndim)])
        arrays[tensor.name] = array
    try:
        outcome = interp.run(flow.kernel, arrays, sizes, blocks=[(0, 0, 0)])
    except (interp.InterpError, ExprError):
        return None
    shape = interp.extents(output, sizes)
    strides = tuple(4 * int(E.evaluate(s, sizes)) for s in output.strides)
    written = np.lib.stride_tricks.as_strided(outcome.writes[output.name], shape, strides) > 0
    got = outcome.arrays[output.name].astype(np.float64)
    wrong = written & (got != len(indices))
    if not wrong.any():
        return None
    at = tuple(int(v) for v in np.argwhere(wrong)[0])
    return at, float(got[at])

"""Runs of a candidate's object and what they showed: reports of the machine, results against the specification.

Small shapes run on the checking interpreter under several orders of waves (whole, or some workgroups where there are
many), then whole and translated on several kinds of data; large ones run a few workgroups, translated. Outputs hold a
pattern before every run, inputs are compared with themselves after it. Data come from seeds the judge keeps to itself
and are drawn once for all candidates of a problem.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from argus.agent.judge.data import KINDS, SPREADS, Arrays, Kind, inputs, largest_of, poisoned, scalars, written
from argus.agent.judge.examine import examined
from argus.agent.judge.launches import Launches, OnData, WrongRun
from argus.agent.judge.problem import Problem, Sizes, Verdict, Violation, shape_text
from argus.agent.judge.references import Known, References
from argus.agent.judge.results import ResultComparison, biased, judged, judged_part
from argus.check.rounding import ErrorBound
from argus.device.guards import launch_grid, tensor_shapes
from argus.ir.kernel import Kernel
from argus.machine import Options
from argus.spec import ResultSpec, evaluate

WHOLE = 1 << 16
SAMPLED = 3
DRAWN_AGAIN = 16
JUDGED = 0.5
"""The share of results that wide data must leave with a finite bound of their error."""
CHECKED_WAVES = 4
CHECKED: tuple[tuple[Kind, Options], ...] = (
    ("normal", Options(checks="all")),
    ("wide", Options(checks="all", schedule="random", quantum=7)),
)
KEPT_BYTES = 1 << 30


Array = np.ndarray[Any, Any]


class Ended(Exception):
    """A stage found something; the judgement is made."""

    def __init__(self, verdict: Verdict, stage: str, violations: tuple[Violation, ...]) -> None:
        super().__init__(stage)
        self.verdict, self.stage, self.violations = verdict, stage, violations


@dataclass
class TrialBench:
    """What all candidates of a problem share: the naive kernel, the specification, the data."""

    problem: Problem
    naive: Kernel = field(init=False)
    spec: ResultSpec = field(init=False)
    _kept: dict[tuple[str, str, Kind, int], Arrays] = field(default_factory=dict, init=False)
    _known: References = field(default_factory=References, init=False)

    def __post_init__(self) -> None:
        self.naive, self.spec = examined(self.problem)
        self.problem = self.problem.ordered(self.naive)

    def given(self, stage: str, sizes: Sizes, kind: Kind, seed: int) -> Arrays:
        """The inputs of a run; the arrays are shared and must not be written to. Every kind has a seed of its own."""
        key = (stage, shape_text(sizes), kind, seed)
        if key not in self._kept:
            if sum(array.nbytes for arrays in self._kept.values() for array in arrays.values()) > KEPT_BYTES:
                self._kept.clear()
            hidden = random.Random(f"{' '.join(map(str, key))} {self.problem.digest()}").getrandbits(48)
            wide = kind == "wide" and stage == "small"
            self._kept[key] = self._wide(sizes, seed, hidden) if wide else self._drawn(sizes, kind, hidden)
        return self._kept[key]

    def _drawn(self, sizes: Sizes, kind: Kind, hidden: int, spread: int = SPREADS[0]) -> Arrays:
        return inputs(self.naive, sizes, kind, hidden, self.problem.routing, spread)

    def _wide(self, sizes: Sizes, seed: int, hidden: int) -> Arrays:
        """Wide data, as wide as the output's type bears: an exponential of them may be beyond it everywhere, or its
        error without a bound, and where a right kernel may give an infinity or a NaN nothing is compared."""
        symbols = {**sizes, **self.scalars("wide", seed)}
        shown = poisoned(self.naive, sizes)
        largest = largest_of(shown[self.spec.result].dtype)
        for spread in SPREADS:
            given = self._drawn(sizes, "wide", hidden, spread)
            want = evaluate(self.spec, {**shown, **given}, symbols)
            judged = np.isfinite(want.value) & np.isfinite(want.error)
            if not (np.abs(want.value) > largest).any() and judged.mean() >= JUDGED:
                break
        return given

    def scalars(self, kind: Kind, seed: int) -> dict[str, float]:
        """The scalar arguments beside inputs of a kind."""
        return scalars(self.naive, kind, seed)

    def known(self, stage: str, sizes: Sizes, kind: Kind, seed: int) -> Known:
        """The values specified for those inputs, as far as they have been computed."""
        return self._known.of((stage, shape_text(sizes), kind, seed))


@dataclass
class Trials:
    """One candidate's runs; the first that goes wrong raises `Ended`. `passed` are those that did not. `bound`: the
    error bound of the candidate's arithmetic."""

    bench: TrialBench
    kernel: Kernel
    code: bytes
    seed: int
    bound: ErrorBound | None = None
    passed: list[list[Any]] = field(default_factory=list)
    launches: Launches = field(init=False)
    executed: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.launches = Launches(self.kernel, self.code)

    def small(self) -> None:
        """Every small shape, whole."""
        problem = self.bench.problem
        kinds: tuple[Kind, ...] = (*KINDS, "specials") if problem.specials else KINDS
        data = {
            (number, kind): self._on("small", sizes, kind)
            for number, sizes in enumerate(problem.small)
            for kind in kinds
        }
        checked: dict[tuple[int, Kind], Array] = {}
        for kind, options in CHECKED:
            for number, sizes in enumerate(problem.small):
                checked[number, kind] = self._checked(data[number, kind], sizes, number, kind, options)
            if kind == CHECKED[0][0]:
                self.launches.translate_ahead(len(kinds) * sum(self.executed.values()))
        for (number, kind), on in data.items():
            sizes = problem.small[number]
            seen = self._whole(on, sizes, "small", kind, Options())
            if (number, kind) in checked:
                mine = written(checked[number, kind])
                if problem.deterministic and not _alike(checked[number, kind][mine], seen[mine]):
                    message = f"two runs on the same data at {shape_text(sizes)} give different bits"
                    raise Ended("fail", "small", (Violation("determinism", message),))
            self._unchanged(on, "small")

    def _on(self, stage: str, sizes: Sizes, kind: Kind) -> OnData:
        given = self.bench.given(stage, sizes, kind, self.seed)
        return self.launches.on(sizes, given, self.bench.scalars(kind, self.seed))

    def _checked(self, on: OnData, sizes: Sizes, number: int, kind: Kind, options: Options) -> Array:
        """On the checking interpreter: all workgroups if they are few, else some that write, drawn by lot.

        What those write is compared bit by bit with a translated run of the whole, which is judged.
        """
        groups = int(np.prod(launch_grid(self.kernel, sizes)))
        few = max(1, 64 * CHECKED_WAVES // self.kernel.threads)
        fresh = poisoned(self.kernel, sizes)
        name = shape_text(sizes)
        if groups <= few or not self.bench.problem.deterministic or self.bench.spec.result not in fresh:
            seen = self._whole(on, sizes, "small", kind, options).copy()
            self.executed[name] = on.instructions
            return seen
        seen = fresh[self.bench.spec.result]
        dice = random.Random(f"{kind} {number} {self.seed}")
        chosen = deque(dice.sample(range(groups), few))
        idle = 0
        while chosen:
            got = self._run(on, replace(options, workgroups=[chosen.popleft()]), "small")
            mine = written(got)
            if idle < DRAWN_AGAIN and not mine.any():
                idle += 1
                chosen.append(dice.randrange(groups))
                continue
            seen[mine] = got[mine]
            self.executed[name] = on.instructions * groups
        return seen

    def sampled(self, stage: str, shapes: tuple[Sizes, ...]) -> None:
        """Every shape: whole if it is small, else the first, the last and some other workgroup."""
        for number, sizes in enumerate(shapes):
            kind = KINDS[number % 2]
            on = self._on(stage, sizes, kind)
            elements = int(np.prod(tensor_shapes(self.kernel, sizes)[self.bench.spec.result], dtype=np.int64))
            if elements <= WHOLE:
                self._whole(on, sizes, stage, kind, Options())
                self._unchanged(on, stage)
                continue
            self._parts(on, sizes, number, stage, kind)
            self._unchanged(on, stage)

    def _parts(self, on: OnData, sizes: Sizes, number: int, stage: str, kind: Kind) -> None:
        """The first workgroup, the last and some other; for one that writes nothing (a grid may be larger than its
        work) another is drawn, so that as many are judged."""
        groups = int(np.prod(launch_grid(self.kernel, sizes)))
        dice = random.Random(f"{stage} {number} {self.seed}")
        chosen = deque(sorted({0, groups - 1, *(dice.randrange(groups) for _ in range(SAMPLED - 2))}))
        given = self.bench.given(stage, sizes, kind, self.seed)
        known = self.bench.known(stage, sizes, kind, self.seed)
        idle = 0
        while chosen:
            group = chosen.popleft()
            got = self._run(on, Options(workgroups=[group]), stage)
            if group == 0:
                self.executed[shape_text(sizes)] = on.instructions
            if idle < DRAWN_AGAIN and not written(got).any():
                idle += 1
                chosen.append(dice.randrange(groups))
                continue
            found = judged_part(self.bench.spec, given, self._symbols(sizes, kind), got, known, self.bound)
            self._right(found, stage, sizes, f"workgroup {group}")

    def _whole(self, on: OnData, sizes: Sizes, stage: str, kind: Kind, options: Options) -> Array:
        """Run everything; the result."""
        got = self._run(on, options, stage)
        given = self.bench.given(stage, sizes, kind, self.seed)
        how = "checked" if options.checks else "translated"
        known = self.bench.known(stage, sizes, kind, self.seed)
        found = judged(self.bench.spec, given, self._symbols(sizes, kind), got, known, self.bound)
        self._right(found, stage, sizes, f"{kind} data, {how}")
        return got

    def _symbols(self, sizes: Sizes, kind: Kind) -> dict[str, float]:
        return {**sizes, **self.bench.scalars(kind, self.seed)}

    def _run(self, on: OnData, options: Options, stage: str) -> Array:
        try:
            return on.run(options)[self.bench.spec.result]
        except WrongRun as wrong:
            raise Ended("fail", stage, wrong.violations) from wrong

    def _unchanged(self, on: OnData, stage: str) -> None:
        try:
            on.inputs_unchanged()
        except WrongRun as wrong:
            raise Ended("fail", stage, wrong.violations) from wrong

    def _right(self, compared: ResultComparison | None, stage: str, sizes: Sizes, what: str) -> None:
        place = f"{shape_text(sizes)}, {what}"
        if compared is None:
            message = f"{place}: what was written is no whole block of the output"
            raise Ended("fail", stage, (Violation("result", message),))
        comparison = compared.comparison
        if not comparison.ok:
            message = (
                f"{place}: {comparison.wrong} of {comparison.elements} elements are wrong, the first at "
                f"{list(comparison.first_wrong or ())}: {comparison.got:g} instead of {comparison.want:g}"
            )
            raise Ended("fail", stage, (Violation("result", message, detail=comparison.to_json()),))
        if biased(compared):
            message = f"{place}: results lean by {compared.bias:.2f} half units of the output: truncated, not rounded"
            raise Ended("fail", stage, (Violation("bias", message),))
        self.passed.append([stage, place, comparison.elements])


def _alike(a: Array, b: Array) -> bool:
    """The same bits; a NaN is a NaN."""
    same = a.view(f"u{a.dtype.itemsize}") == b.view(f"u{b.dtype.itemsize}")
    if a.dtype.kind in "iu":
        return bool(same.all())
    return bool((same | (np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64)))).all())

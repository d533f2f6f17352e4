"""A candidate's object in exact algebra: what no tolerance hides.

    found = exactly(kernel, code, spec, sizes, given, scalars, seed, instructions)
    found.comparison.verdict      "equal", "different" or "not followed"

A kernel that drops one addend in a thousand is within every error bound, and its stored values are other numbers
(docs/algebra.md). One workgroup of a small shape is executed, drawn by lot among those that write. If it is long, the
arithmetic of one of its waves is followed, drawn by lot too; values that other waves computed are then *not followed*,
which ends nothing and is part of the evidence.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argus import machine
from argus.agent.judge.data import Arrays, poisoned, strided
from argus.agent.judge.problem import Sizes, shape_text
from argus.device.guards import launch_grid
from argus.device.launch import flat, scalar_values
from argus.ir.kernel import Kernel
from argus.spec import ResultSpec
from argus.tasks.algebra import AlgebraComparison, compare_part, fitted

LONG = 3000
"""Wave instructions of a workgroup from which on one wave is followed."""
DRAWN = 6
"""Workgroups that are tried until one writes."""


@dataclass(frozen=True, slots=True)
class ExactResult:
    """What was compared: `wave` alone, if the workgroup is long."""

    sizes: Sizes
    workgroup: int
    wave: int | None
    comparison: AlgebraComparison

    @property
    def place(self) -> str:
        wave = "" if self.wave is None else f", wave {self.wave}"
        return f"{shape_text(self.sizes)}, workgroup {self.workgroup}{wave}"

    def to_json(self) -> list[Any]:
        """As evidence: nothing in it depends on the machine that judges."""
        found = self.comparison
        return [self.place, found.verdict, found.elements, found.not_followed, found.cause]


def exactly(
    kernel: Kernel, code: bytes, spec: ResultSpec, sizes: Sizes, given: Arrays, scalars: Mapping[str, float],
    seed: int, instructions: int,
) -> ExactResult | None:  # fmt: skip
    """`instructions`: of all waves of the launch. None if no workgroup that was drawn writes."""
    grid = launch_grid(kernel, sizes)
    groups = int(np.prod(grid))
    dice = random.Random(f"exact {seed}")
    wave = dice.randrange(kernel.waves) if kernel.waves > 1 and instructions > LONG * groups else None
    loaded = machine.load(code).kernel(kernel.name)
    values = scalar_values(kernel, sizes, scalars)
    for group in dice.sample(range(groups), min(groups, DRAWN)):

        def launch(passed: Sequence[Any], options: machine.Options, group: int = group) -> None:
            loaded(grid, kernel.threads, *passed, *values, options=replace(options, workgroups=[group]))

        fresh = {**given, **poisoned(kernel, sizes)}
        updated = {t.name: _copy(given[t.name]) for t in kernel.tensors if t.written and t.name in given}
        arrays = {t.name: updated.get(t.name, fresh[t.name]) for t in kernel.tensors}
        found = compare_part(launch, spec, arrays, {**sizes, **scalars}, fitted(kernel), wave, seed)
        if found is not None:
            return ExactResult(sizes, group, wave, found)
    return None


def _copy(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The same elements in memory of the same layout."""
    return strided(flat(array).copy(), array.shape, tuple(step // array.itemsize for step in array.strides))

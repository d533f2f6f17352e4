"""Can a task tell a right kernel from a wrong one? Asked before any candidate is judged.

A task is refused if an output of zeros would pass, if its result is no finite number for the judge's inputs (one NaN is
as good as another), or if it does not change with each of its inputs: then a candidate could leave work out and nobody
would see it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.agent.judge.data import inputs, poisoned
from argus.agent.judge.problem import Problem
from argus.ir.kernel import Kernel
from argus.lang import read
from argus.spec import ResultSpec, SpecError, evaluate
from argus.spec.compare import compare
from argus.tasks.inputs import make_scalars
from argus.tasks.routing import RoutingTensors


def examined(problem: Problem) -> tuple[Kernel, ResultSpec]:
    """The naive kernel and the specification of a problem that can tell. Raises `SpecError` for another."""
    naive = read(problem.naive, beside=problem.beside, target=problem.target)
    if naive.computes is None:
        raise SpecError(f"the naive kernel of {problem.task} states no specification")
    if len(naive.computes.results) != 1:
        raise SpecError(f"the naive kernel of {problem.task} states {len(naive.computes.results)} results, not one")
    (spec,) = naive.computes.results
    for sizes in problem.small[:1]:
        examine(naive, spec, sizes, problem.routing)
    return naive, spec


def examine(kernel: Kernel, spec: ResultSpec, sizes: Mapping[str, int], routing: RoutingTensors | None = None) -> None:
    """Raise `SpecError` if the task cannot tell."""
    symbols = {**sizes, **make_scalars(kernel, 0)}
    given = inputs(kernel, sizes, "normal", 1, routing)
    shown = poisoned(kernel, sizes)
    want = evaluate(spec, {**shown, **given}, symbols)
    if want.value.size and not np.isfinite(want.value).any():
        why = "a logarithm or root of negative numbers?"
        raise SpecError(f"{kernel.name}: the result has no finite value for inputs of both signs ({why})")
    zeros = np.zeros_like(shown[spec.result])
    if compare(zeros, want).wrong < zeros.size // 2:
        raise SpecError(f"{kernel.name}: an output of zeros would pass for half of the elements")
    for name in given:
        other = {**shown, **given, name: inputs(kernel, sizes, "normal", 2, routing)[name]}
        if np.array_equal(evaluate(spec, other, symbols).value, want.value, equal_nan=True):
            raise SpecError(f"{kernel.name}: the result does not depend on {name}")

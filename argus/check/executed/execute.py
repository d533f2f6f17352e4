"""The launches that execute a proof, run by the interpreter and compared with the specification.

    found = execute(kernel)
    found.launches       6, at each of which some element was compared
    found.problem        a Disagreement, or None
    found.skipped        why nothing was executed, if nothing was
    found.left_out       results that were compared at no launch, with the reason

An element counts only where the specification is finite. The tolerance is the error bound derived from the kernel's own
arithmetic (`argus.check.rounding`), and where there is none, or none at this launch, a multiple of the specification's
error (`executed.tolerance`). That a number leaves its type is outside of what is proved (`premises`): such a launch,
or one at which the specification is mostly not finite, is tried again with smaller inputs, and in the end not counted.
But a kernel whose numbers do so with ordinary inputs, however small, at every launch has premises that nobody meets
(`v + 0 * exp(v + 1e30)`): that is `beyond`, and its proof is withdrawn.
A launch whose inputs are not what the kernel states of its data is no launch of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.executed.inputs import data_of
from argus.check.executed.launches import launches
from argus.check.executed.outcome import Disagreement, Executed, SmallLaunch
from argus.check.executed.premises import outside
from argus.check.executed.tolerance import lost_digits, tolerance
from argus.ir import interp
from argus.ir.kernel import Kernel
from argus.layout.expr import ExprError
from argus.spec import Bounded, ResultSpec, SpecError, evaluate
from argus.spec.compare import compare

ATTEMPTS = 3
HALF = 0.5
ORDINARY = "normal"
NO_SPECIFICATION = "it states no specification"
TOO_LARGE = "no launch is small enough"
NOTHING = "at no launch the specification has a finite value for inputs that the kernel allows"


def execute(kernel: Kernel) -> Executed:
    """Run the launches until one disagrees."""
    if kernel.computes is None:
        return Executed(skipped=NO_SPECIFICATION)
    chosen = launches(kernel)
    done = elements = 0
    seen, unseen = set[str](), dict[str, str]()
    ordinary, beyond = False, None
    for launch in chosen:
        counted, problem, without = 0, None, dict[str, str]()
        for one in attempts(launch):
            counted, problem, share, without = _executed(kernel, one)
            if problem is None and share >= HALF:
                break
            if problem is not None and not outside(kernel, one):
                return Executed(done + 1, elements, problem=problem)
        if launch.kind == ORDINARY:
            ordinary, beyond = ordinary or problem is None, beyond or problem
        if problem is None:
            done, elements = done + (counted > 0), elements + counted
            seen |= {stated.result for stated in kernel.computes.results if counted} - set(without)
            unseen |= without
    if beyond is not None and not ordinary:
        return Executed(done, elements, beyond=beyond)
    left = {result: why for result, why in unseen.items() if result not in seen}
    if not done:
        return Executed(skipped=next(iter(left.values()), NOTHING if chosen else TOO_LARGE))
    return Executed(done, elements, left_out="; ".join(f"{result}: {why}" for result, why in left.items()))


def attempts(launch: SmallLaunch) -> Iterator[SmallLaunch]:
    """The launch, and the same with smaller and smaller inputs."""
    return (replace(launch, smaller=n) for n in range(ATTEMPTS))


def _executed(kernel: Kernel, launch: SmallLaunch) -> tuple[int, Disagreement | None, float, dict[str, str]]:
    """Elements compared at a launch, the first wrong one, the share of elements that could be compared, and results
    that were not."""
    inputs, given = data_of(kernel, launch)
    try:
        outcome = interp.run(kernel, inputs, launch.sizes, scalars=given)
    except (interp.InterpError, ExprError):
        return 0, None, 1.0, {}
    if any(h.kind == "stated" for h in outcome.hazards):
        return 0, None, 1.0, {}
    if outcome.hazards:
        first = outcome.hazards[0]
        hazard = f"{first.kind} {first.memory} {first.sentence}".rstrip()
        return 0, Disagreement(launch, "", (), 0.0, 0.0, hazard), 1.0, {}
    counted, found, without = compared(kernel, launch, inputs, given, outcome.arrays)
    written = sum(outcome.arrays[t.name].size for t in kernel.tensors if t.written and t.name not in without)
    return counted, found, counted / written if written else 1.0, without


def compared(
    kernel: Kernel,
    launch: SmallLaunch,
    inputs: Mapping[str, NDArray[Any]],
    given: Mapping[str, float | int],
    results: Mapping[str, NDArray[Any]],
) -> tuple[int, Disagreement | None, dict[str, str]]:
    """How many elements were compared, the first that is wrong, and results that were not compared, with the reason."""
    assert kernel.computes is not None
    symbols, total, without = {**launch.sizes, **given}, 0, dict[str, str]()
    for stated in kernel.computes.results:
        got = np.asarray(results[stated.result])
        want = _wanted(stated, inputs, symbols, got)
        if isinstance(want, str):
            without[stated.result] = want
            continue
        counts = np.isfinite(want.value) & np.isfinite(want.error)
        if launch.kind == "wide":
            counts &= np.isfinite(got.astype(np.float64))
        total += int(counts.sum())
        with np.errstate(over="ignore"):
            error = np.where(counts, tolerance(kernel, stated, inputs, symbols, want, got.dtype), 0.0)
            residue = None if want.residue is None else np.where(counts, want.residue, 0)
            loose = Bounded(want.indices, np.where(counts, want.value, 0.0), error, residue)
            found = compare(
                np.where(counts, got, np.zeros((), got.dtype)), loose, None if residue is not None else error
            )
        if found.first_wrong is not None:
            at = found.first_wrong
            lost = lost_digits(kernel, stated, inputs, symbols, want, found)
            problem = Disagreement(launch, stated.result, at, found.got, found.want, rounding=lost)
            return total, problem, without
    return total, None, without


def _wanted(
    stated: ResultSpec, inputs: Mapping[str, NDArray[Any]], symbols: Mapping[str, float], got: NDArray[Any]
) -> Bounded | str:
    """The specification's values; a sentence where it cannot be evaluated for these inputs."""
    try:
        with np.errstate(all="ignore"):
            want = evaluate(stated, {stated.result: got, **inputs}, symbols)
    except SpecError as error:
        return f"the specification has no value here: {error}"
    return want if want.value.shape == got.shape else "the specification has another shape than the output"

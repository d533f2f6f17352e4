"""The launches that execute a proof, run by the interpreter and compared with the specification.

    found = execute(kernel)
    found.launches       6, at each of which some element was compared
    found.problem        a Disagreement, or None
    found.skipped        why nothing was executed, if nothing was
    found.left_out       results that were compared at no launch, with the reason

An element counts only where the specification is finite. Of `wide` inputs results that are not finite do not count
either: that an intermediate value overflows is outside of what is proved. So is underflow: the error has at least the
smallest normal number of f32. A launch whose inputs are not what the
kernel states of its data is no launch of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argus.check.executed.inputs import arrays, scalars
from argus.check.executed.launches import launches
from argus.check.executed.outcome import Disagreement, Executed, SmallLaunch
from argus.check.executed.rounding import slack
from argus.ir import interp
from argus.ir.kernel import Kernel
from argus.layout.expr import ExprError
from argus.spec import Bounded, ResultSpec, SpecError, evaluate
from argus.spec.compare import compare
from argus.spec.values import LEAST_F32

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
    for launch in chosen:
        inputs = arrays(kernel, launch.sizes, launch.kind, launch.seed)
        given = scalars(kernel, launch.kind, launch.seed)
        try:
            outcome = interp.run(kernel, inputs, launch.sizes, scalars=given)
        except (interp.InterpError, ExprError):
            continue
        if any(h.kind == "stated" for h in outcome.hazards):
            continue
        if outcome.hazards:
            first = outcome.hazards[0]
            problem = Disagreement(launch, "", (), 0.0, 0.0, f"{first.kind} {first.memory} {first.sentence}".rstrip())
            return Executed(done + 1, elements, problem=problem)
        counted, found, without = compared(kernel, launch, inputs, given, outcome.arrays)
        if found is not None:
            return Executed(done + 1, elements, problem=found)
        seen |= {stated.result for stated in kernel.computes.results} - set(without)
        unseen |= without
        done, elements = done + (counted > 0), elements + counted
    left = {result: why for result, why in unseen.items() if result not in seen}
    if not done:
        return Executed(skipped=next(iter(left.values()), NOTHING if chosen else TOO_LARGE))
    return Executed(done, elements, left_out="; ".join(f"{result}: {why}" for result, why in left.items()))


def compared(
    kernel: Kernel,
    launch: SmallLaunch,
    inputs: Mapping[str, NDArray[Any]],
    given: Mapping[str, float | int],
    results: Mapping[str, NDArray[Any]],
) -> tuple[int, Disagreement | None, dict[str, str]]:
    """How many elements were compared, the first that is wrong, and results that were not compared, with the reason."""
    assert kernel.computes is not None
    allowed, total, without = slack(kernel), 0, dict[str, str]()
    for stated in kernel.computes.results:
        got = np.asarray(results[stated.result])
        want = _wanted(stated, inputs, {**launch.sizes, **given}, got)
        if isinstance(want, str):
            without[stated.result] = want
            continue
        counts = np.isfinite(want.value) & np.isfinite(want.error)
        if launch.kind == "wide":
            counts &= np.isfinite(got.astype(np.float64))
        total += int(counts.sum())
        with np.errstate(over="ignore"):
            unit = 2.0**-53 if got.dtype == np.float64 else 2.0**-24
            least = 0.0 if want.residue is not None else LEAST_F32 + unit * np.abs(want.value)
            error = np.where(counts, allowed * (want.error + least), 0.0)
            residue = None if want.residue is None else np.where(counts, want.residue, 0)
            loose = Bounded(want.indices, np.where(counts, want.value, 0.0), error, residue)
            found = compare(np.where(counts, got, np.zeros((), got.dtype)), loose)
        if found.first_wrong is not None:
            problem = Disagreement(launch, stated.result, found.first_wrong, found.got, found.want)
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

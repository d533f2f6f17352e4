"""The third source of truth: the object in exact algebra (`argus.tasks.algebra`), without a tolerance.

    found = exact_of(program, kernel, code, sizes, "mixed", seed=3)
    found.verdict       "equal", "different", "not followed", "unconfirmed", "exact", "not asked"
    found.detail        the first different element and who stored it, or why a value was lost

Float comparison has to allow for rounding; here a dropped addend shows however small it is. What it is held against is
the `computes` of the text, so a mutated specification is noticed too. *different* is said only if a second run, with
other inputs and other residues, says it again. *exact*: no floats, and comparing results is exact already. *not asked*:
a value is wrong by more than rounding in the kernel's types explains.

Rounding is the identity here: a mutant that computes in fewer digits is equal (docs/algebra.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.check.rounding import ErrorBound, rounding
from argus.check.rounding.narrowing import narrowed
from argus.device.guards import LaunchRefused, launch_grid
from argus.ir.kernel import Kernel
from argus.machine import MachineError
from argus.spec import SpecError, evaluate
from argus.tasks.algebra import AlgebraComparison, compare_kernel
from bench.verdict_fuzz.fewer_digits import fewer_digits
from bench.verdict_fuzz.launch_data import LaunchMemory, inputs
from bench.verdict_fuzz.program import Arrays, Generated, Sizes

RESIDUES = 0x5EED
SENTINEL = 77
Verdict = Literal["equal", "different", "not followed", "unconfirmed", "exact", "not asked"]


@dataclass(frozen=True, slots=True)
class ExactTruth:
    """`doubtful`: what is not followed differs only where a choice is doubtful, and no value was lost."""

    verdict: Verdict
    detail: str = ""
    doubtful: bool = False


def exact_of(program: Generated, kernel: Kernel, code: bytes, sizes: Sizes, kind: str, seed: int) -> ExactTruth:
    """One launch in exact algebra, and a second one if the first differs."""
    if all(t.dtype.kind != "float" for t in kernel.tensors):
        return ExactTruth("exact")
    found = _once(program, kernel, code, sizes, kind, seed, RESIDUES)
    if found.verdict != "different":
        return found
    again = _once(program, kernel, code, sizes, kind, seed + 1, RESIDUES + 1)
    return found if again.verdict == "different" else ExactTruth("unconfirmed", found.detail)


def told_of_wrong(
    program: Generated, kernel: Kernel, code: bytes, sizes: Sizes, kind: str, seed: int, given: Arrays,
    results: Mapping[str, NDArray[Any]],
) -> ExactTruth:  # fmt: skip
    """What exact algebra says of a launch with a value outside of the tolerance of f32. It is not asked where the error
    is above the bound of the kernel's own types: there the value is wrong, whatever algebra says."""
    try:
        if not within_derived_bounds(program, kernel, sizes, given, results):
            return ExactTruth("not asked")
    except SpecError:
        pass  # no bound can be evaluated at this launch (a scan, a stated range): algebra decides
    return exact_of(program, kernel, code, sizes, kind, seed)


def only_rounded(program: Generated, kernel: Kernel, exact: ExactTruth, text: str) -> bool:
    """Wrong values, within the bound of their types (`told_of_wrong`), that come of fewer digits than f32: the numbers
    are the specified ones, or, where a rounded number decides (floor, a comparison), it is one of a narrow type, or,
    where algebra does not follow or is not sure, the text is the program's but for float types (`fewer_digits`)."""
    lost = exact.verdict in ("not followed", "unconfirmed") and bool(narrowed(kernel))
    return exact.verdict == "equal" or (lost and (exact.doubtful or fewer_digits(program.source, text)))


def within_derived_bounds(
    program: Generated, kernel: Kernel, sizes: Sizes, given: Arrays, results: Mapping[str, NDArray[Any]]
) -> bool:
    """No result is further from its specification than the checker's own bound for the kernel's types
    (docs/rounding.md); what has no bound, and what leaves a narrow type there or on the way, is not judged."""
    derived = rounding(kernel)
    symbols = {**sizes, **program.scalars}
    for spec in kernel.computes.results if kernel.computes is not None else ():
        bound, got = derived.of(spec.result), results[spec.result]
        if isinstance(bound, ErrorBound):
            with np.errstate(all="ignore"):
                want = evaluate(spec, {spec.result: got, **given}, symbols).value
                most = bound.at(spec, given, symbols, want)
                judged = np.isfinite(want) & np.isfinite(got) & (np.abs(want) + most <= largest(got.dtype))
                if (judged & ~(np.abs(got.astype(np.float64) - want) <= most)).any():
                    return False
    return True


def largest(dtype: np.dtype[Any]) -> float:
    """The largest number of a type."""
    return float(np.iinfo(dtype).max if dtype.kind in "iu" else ml_dtypes.finfo(dtype).max)


def _once(
    program: Generated, kernel: Kernel, code: bytes, sizes: Sizes, kind: str, seed: int, residues: int
) -> ExactTruth:
    if kernel.computes is None or 0 in launch_grid(kernel, sizes):
        return ExactTruth("not followed", "no specification, or nothing is launched")
    memory = LaunchMemory(kernel, inputs(program, kernel, sizes, kind, seed), sizes, SENTINEL)
    try:
        found = compare_kernel(kernel, code, sizes, memory.views, program.scalars, residues)
    except (SpecError, MachineError, LaunchRefused) as error:
        return ExactTruth("not followed", str(error).splitlines()[0])
    first = min(found, key=_order, default=None)
    if first is None:
        return ExactTruth("equal")
    return ExactTruth(first.verdict, _detail(first), all(c.doubtful == c.not_followed for c in found))


def _order(found: AlgebraComparison) -> int:
    return ("different", "not followed", "equal").index(found.verdict)


def _detail(found: AlgebraComparison) -> str:
    return "" if found.verdict == "equal" else found.cause if found.verdict == "not followed" else str(found)

"""A lowered kernel on the checking interpreter, beside numpy in float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.agent.lower import lower
from argus.check import check
from argus.clock.sampled import matrix_element, prepared, sample, time_prepared
from argus.compile.cache import compile_cached
from argus.device.simulated import CheckingDevice
from argus.ir.passes.schedule import scheduled
from argus.lang import read
from argus.tasks.task import load_task
from argus.tasks.work import work_of

Step = tuple[str, dict[str, object]]
Doubles = npt.NDArray[np.float64]


def lowered(text: str, *steps: Step) -> str:
    """The source after steps; a task's name stands for its naive kernel."""
    text = text if "\n" in text else load_task(text).source
    for name, params in steps:
        text = lower(text, name, params)
    return text


def status(text: str) -> str:
    return check(scheduled(read(text))).status


def refuted(text: str) -> set[str]:
    return {v.rule for v in check(scheduled(read(text))).verdicts if v.status == "refuted"}


def simulated(text: str, sizes: dict[str, int]) -> float:
    """Microseconds of a launch on the clock."""
    kernel = read(text)
    work = work_of(kernel, compile_cached(scheduled(kernel)).object, sizes, 0)
    seen = sample(work, 0)
    return float(time_prepared(work, prepared(seen, 0), matrix_element(seen))[1].sustained.microseconds)


def run(text: str, sizes: dict[str, int], given: dict[str, Doubles], out: str, shape: tuple[int, ...]) -> Doubles:
    """The output of a launch on bf16 arrays; a report of the machine is a failure."""
    kernel = read(text)
    arrays: dict[str, npt.NDArray[np.generic]] = {n: a.astype(ml_dtypes.bfloat16) for n, a in given.items()}
    arrays[out] = np.full(shape, np.nan, ml_dtypes.bfloat16)
    scalars = {s.name: 1e-5 for s in kernel.scalars}
    outcome = CheckingDevice().launch(kernel, compile_cached(scheduled(kernel)).object, sizes, arrays, scalars)
    assert not outcome.reports
    return arrays[out].astype(np.float64)


def rounded(array: Doubles) -> Doubles:
    return array.astype(ml_dtypes.bfloat16).astype(np.float64)


def multiplies(text: str, m: int, n: int, k: int) -> bool:
    """Whether a kernel computes A @ B.T."""
    dice = np.random.default_rng(7)
    a, b = rounded(dice.normal(size=(m, k))), rounded(dice.normal(size=(n, k)))
    got = run(text, {"M": m, "N": n, "K": k}, {"A": a, "B": b}, "C", (m, n))
    return bool(np.allclose(got, a @ b.T, rtol=1e-2, atol=1e-2 * np.sqrt(k)))


def normalises(text: str, m: int, n: int) -> bool:
    """Whether a kernel computes the softmax of rows."""
    x = rounded(np.random.default_rng(8).normal(size=(m, n)) * 3)
    got = run(text, {"M": m, "N": n}, {"X": x}, "Y", (m, n))
    e = np.exp(x - x.max(1, keepdims=True))
    return bool(np.allclose(got, e / e.sum(1, keepdims=True), rtol=2e-2, atol=1e-6))

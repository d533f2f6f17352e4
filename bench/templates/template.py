"""One template: its launches, the parameter sets it must be right on, its definition in float64, one large shape.

    case = one("map_chain", {"FIRST": "relu"}, A=1, B=1, C=1000)
    checked(template, case)             raises `WrongResult`, or returns the worst error over its bound

A case is one launch or several; what a launch reads or writes is there for those after it, by name, in the shape they
ask for. Three comparisons, each independent of the next: every launch's output with its `computes` line in float64,
with the bound of the arithmetic; the chain of `computes` lines with the template's reference, which is written from the
operator's definition with numpy; and the shapes of both. So neither a wrong kernel nor a wrong specification passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.check import check
from argus.check.report import Report
from argus.check.rounding import Rounding, rounding
from argus.check.rounding.derived_comparison import compare_derived
from argus.clock import PARAMETERS, Launch
from argus.clock.sampled import sample, time_observed
from argus.clock.uncertainty import FULL_CLOCK, Interval, interval_of
from argus.compile.cache import compile_cached
from argus.device.guards import element_strides
from argus.device.simulated import JitDevice
from argus.ir.kernel import Kernel, KnobValue
from argus.ir.stages import Scheduled
from argus.pipeline import program_of
from argus.spec import evaluate
from argus.spec.compare import compare
from argus.tasks.inputs import make_arrays, make_scalars
from argus.tasks.work import work_of

KERNELS = Path(__file__).parents[2] / "argus" / "kernels"
SAME = 1e-9
"""How far a specification may be from the reference, relative to the largest value: both are float64."""

Floats = Mapping[str, npt.NDArray[np.float64]]
Reference = Callable[[Floats, Mapping[str, float], Mapping[str, KnobValue]], npt.NDArray[np.float64]]


class WrongResult(AssertionError):
    """A result outside of its bound, or a specification that is not the operator."""


@dataclass(frozen=True)
class Step:
    """One launch: a kernel of a file with its knobs, at these sizes; `takes`: an input -> the earlier result it is, or
    a name of its own where an earlier launch has another input of that name; `numbers`: scalars that follow from the
    sizes, the others are drawn."""

    file: str
    kernel: str
    knobs: tuple[tuple[str, KnobValue], ...]
    sizes: Mapping[str, int]
    takes: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def program(self) -> Scheduled:
        return _program(self.file, self.kernel, self.knobs)

    def text(self) -> str:
        return f"{self.file}:{self.kernel} {dict(self.knobs)} {dict(self.sizes)}"


Case = tuple[Step, ...]


@dataclass(frozen=True)
class Template:
    """`bound`: what the large shape is held against, `memory` or `matrix`; `moved`: bytes the operator must move there;
    `draw` changes the drawn inputs where the definition asks for it (positive numbers); `derived`: results are compared
    by the bound that is derived of the kernel's own arithmetic, not by that of f32."""

    name: str
    cases: tuple[Case, ...]
    large: Case
    reference: Reference
    moved: float = 0.0
    bound: str = "memory"
    draw: Callable[[dict[str, npt.NDArray[Any]]], None] | None = None
    derived: bool = False

    @property
    def settings(self) -> dict[tuple[str, str, tuple[tuple[str, KnobValue], ...]], Step]:
        """Every kernel with other knobs once, the large shape's first."""
        return {(s.file, s.kernel, s.knobs): s for case in (*self.cases[::-1], self.large) for s in case}


def step(
    file: str,
    kernel: str,
    knobs: Mapping[str, KnobValue],
    takes: Mapping[str, str] | None = None,
    numbers: Mapping[str, float] | None = None,
    **sizes: int,
) -> Step:
    return Step(
        file, kernel, tuple(sorted(knobs.items())), sizes, tuple((takes or {}).items()), tuple((numbers or {}).items())
    )


def one(file: str, knobs: Mapping[str, KnobValue], **sizes: int) -> Case:
    """A case of one launch, of the kernel with its file's name."""
    return (step(file, file, knobs, **sizes),)


@cache
def _program(file: str, kernel: str, knobs: tuple[tuple[str, KnobValue], ...]) -> Scheduled:
    return program_of(KERNELS / f"{file}.py", dict(knobs), kernel)


@cache
def _rounding(kernel: Kernel) -> Rounding:
    return rounding(kernel)


def proved(template: Template) -> tuple[list[Report], float]:
    """The reports of every setting, and the longest CPU seconds of one."""
    reports, longest = [], 0.0
    for found in template.settings.values():
        program = found.program
        started = time.process_time()
        reports.append(check(program))
        longest = max(longest, time.process_time() - started)
    return reports, longest


def checked(template: Template, case: Case, seed: int = 0) -> float:
    """Run a case and compare; the worst error over its bound."""
    pool: dict[str, npt.NDArray[Any]] = {}
    exact: dict[str, npt.NDArray[Any]] = {}
    symbols: dict[str, float] = {}
    knobs: dict[str, KnobValue] = {}
    worst, last = 0.0, ""
    for number, here in enumerate(case):
        kernel = here.program.kernel
        drawn = make_arrays(kernel, here.sizes, seed + number)
        if template.draw is not None:
            template.draw(drawn)
        taken = dict(here.takes)
        steps = element_strides(kernel, here.sizes)
        arrays = {t.name: drawn[t.name] for t in kernel.tensors}
        for tensor in kernel.tensors:
            source = taken.get(tensor.name, tensor.name)
            if tensor.read and source in pool:
                arrays[tensor.name] = _seen(pool[source], arrays[tensor.name].shape, steps[tensor.name])
        given = {t.name: arrays[t.name].copy() for t in kernel.tensors if t.read}
        scalars = {**make_scalars(kernel, seed), **dict(here.numbers)}
        symbols |= {**here.sizes, **scalars}
        knobs |= {k.name: kernel.settings.get(k.name, k.default) for k in kernel.knobs}
        JitDevice().launch(kernel, compile_cached(here.program).object, here.sizes, arrays, scalars)
        assert kernel.computes is not None
        sources = {name: np.asarray(exact.get(taken.get(name, name), given[name])) for name in given}
        floats = {n: _seen(a.astype(np.float64), given[n].shape, steps[n]) for n, a in sources.items()}
        exact |= {taken.get(n, n): a for n, a in floats.items() if n not in taken or taken[n] not in exact}
        for result in kernel.computes.results:
            shown = {result.result: arrays[result.result]}  # says how far indices run that stand at no input
            inputs, numbers = {**shown, **given}, {**here.sizes, **scalars}
            if template.derived:
                bound = _rounding(here.program.kernel).of(result.result)
                found = compare_derived(bound, result, inputs, numbers, arrays[result.result])
            else:
                found = compare(arrays[result.result], evaluate(result, inputs, numbers))
            if not found.ok:
                raise WrongResult(f"{here.text()}: {found}")
            worst = max(worst, found.worst)
            exact[result.result] = evaluate(result, {**shown, **floats}, {**here.sizes, **scalars}).value
            last = result.result
        pool |= arrays
    want = template.reference({k: v for k, v in exact.items() if k != last}, symbols, knobs)
    _same(case, exact[last], want)
    return worst


def _seen(array: npt.NDArray[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> npt.NDArray[Any]:
    """An earlier array as an input of a later launch: in another shape, or as windows of it."""
    if array.size == np.prod(shape):
        return array.reshape(shape)
    return np.lib.stride_tricks.as_strided(array, shape, tuple(step * array.itemsize for step in strides))


def _same(case: Case, specified: npt.NDArray[np.float64], want: npt.NDArray[np.float64]) -> None:
    if specified.shape != want.shape:
        raise WrongResult(f"{case[-1].text()}: specified {specified.shape}, the operator has {want.shape}")
    finite = np.isfinite(want)
    size = max(1.0, float(np.abs(want[finite]).max(initial=0.0)))
    wrong = ~np.isclose(specified, want, rtol=SAME, atol=SAME * size, equal_nan=True)
    if wrong.any():
        where = tuple(np.argwhere(wrong)[0])
        raise WrongResult(f"{case[-1].text()}: specified {specified[where]} at {where}, the operator is {want[where]}")


@dataclass(frozen=True)
class Timing:
    """Simulated, at the sustained clock; `share` of the roof, and `share_full` of it at 2100 MHz; `mhz`: the sustained
    clock of the longest launch."""

    us: float
    interval: Interval
    share: float
    share_full: float
    mhz: float

    @property
    def share_at_clock(self) -> float:
        """Of the matrix peak at the sustained clock."""
        return self.share * FULL_CLOCK / self.mhz


def timed(template: Template) -> Timing:
    """The large shape on the clock; the launches of a case added."""
    launches: list[Launch] = []
    for here in template.large:
        work = work_of(here.program.kernel, compile_cached(here.program).object, here.sizes, seed=0)
        launches.append(time_observed(work, sample(work))[1])
    us = sum(launch.sustained.microseconds for launch in launches)
    longest = max(launches, key=lambda launch: launch.sustained.microseconds)
    if template.bound == "matrix":
        share, full = longest.sustained.matrix_peak_share or 0.0, longest.matrix_peak_share or 0.0
    else:
        roof = PARAMETERS["hbm_bandwidth"] * 1e3
        share = template.moved / us / roof
        full = template.moved / sum(launch.microseconds for launch in launches) / roof
    return Timing(us, interval_of(*launches), share, full, longest.sustained.clock_mhz)

"""Truth is the machine: the compiled object at several sizes and inputs, against the numpy meaning.

    found = truth_of(program, scheduled)
    found.kind      "right", "wrong", "hazard", "vague", "rounded", "beyond", "refused" or "untested"
    found.detail    which launch, which executor, which element
    found.exact     what exact algebra says of it (`exact`), if it was asked

*wrong*: an executor gives another result than the meaning allows, the machine reports a race, a missing wait or a bad
access, or a byte beside an output has changed. *hazard*: only the IR interpreter, the second witness, objects. The
*vague*: nothing is wrong, but most elements were not judged (they leave the type they are computed in). The
compiler takes the kernel whatever the checker says of it; one that it refuses cannot be wrong on the machine.

A launch runs under the checking interpreter with all checks, sequentially, in a random order of waves, and translated
(JIT). Outputs start as a number that changes from run to run, so an element nobody writes is seen.

What then looks right runs once more in exact algebra, at the second launch (a tail, and more than one block):
*different* there is *wrong*. What looks wrong by a value does too, at that launch. If it is equal there, or differs
only where a number of a narrow type decides, and no error is above the bound that the checker derives from the kernel's
own types, it is *rounded*: a mutant that computes in fewer digits is proved for real numbers, and rightly so. Where
algebra does not follow the object, its text must be that of the program but for float types (`fewer_digits`). If an
error is above, it is wrong.

*beyond*: an element is wrong at a launch at which a number of the kernel is too large or too small for its type, as the
premises of every proof exclude, and not at the same launch with floats so much smaller that none is, nor at any other.

A launch whose inputs are not what the kernel states of them (`ag.as_index`) is no launch of it. One whose inputs are,
element by element, is, even if a thread holds another number: a zero that it read outside of a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus import machine
from argus.check.executed.premises import outside_with
from argus.compile import CompileError
from argus.device.guards import LaunchRefused, check_sizes, launch_grid
from argus.device.launch import scalar_values
from argus.ir.index_ranges import limit_of, stated_ranges
from argus.ir.interp import InterpError, InterpSchedule, extents
from argus.ir.interp import run as run_ir
from argus.ir.kernel import Kernel
from argus.ir.ops import Symbol, walk
from argus.ir.stages import Scheduled
from argus.layout import expr as E
from argus.layout.expr import ExprError
from argus.machine.checks import ALL_CHECKS
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.compiled_once import compiled_once
from bench.verdict_fuzz.exact import ExactTruth, exact_of, only_rounded, told_of_wrong
from bench.verdict_fuzz.launch_data import LaunchMemory, inputs
from bench.verdict_fuzz.program import Generated, Sizes

MOST_STEPS = 5_000_000
SMALLER = (1.0, 2.0**-6, 2.0**-12)
WITNESS = 9
"""Seed of the inputs of the IR interpreter."""
MOST_LAUNCHES = 5
KINDS = ("mixed", "positive", "negative", "special", "full")
SENTINELS = (77, 33, 55)
CHECKED: dict[str, Any] = {"checks": tuple(name for name in ALL_CHECKS if name != "uninitialised")}
"""Not `uninitialised`: it takes the unused upper half of a 64-bit operand for a use (docs/mutation.md)."""
ORDERS: tuple[dict[str, Any], ...] = (
    {"schedule": "sequential"},
    {"schedule": "random", "quantum": 3, "seed": 1},
    {"schedule": "random", "quantum": 17, "seed": 2, "soffset_in_range": False},
    {"partial_in_range": True},
)
IR_ORDERS = (
    InterpSchedule("forward", "late"),
    InterpSchedule("reverse", "late", arms="else"),
    InterpSchedule("lockstep", "early"),
    InterpSchedule("random", "late", seed=5),
)


@dataclass(frozen=True, slots=True)
class Truth:
    kind: str
    detail: str = ""
    exact: ExactTruth | None = None


MISSTATED = Truth("untested", "the inputs are not what the kernel states of them")


@dataclass(frozen=True, slots=True)
class Found:
    """What is wrong at one launch. `results`: all of them, if it is an element that is wrong."""

    text: str
    results: Mapping[str, NDArray[Any]] | None = None


def half_ulp(dtype: np.dtype[Any], magnitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the spacing of an output format around a magnitude; infinite beyond its largest number."""
    if dtype.kind in "iu":
        return np.zeros_like(magnitude)
    info = ml_dtypes.finfo(dtype)
    least = float(info.smallest_subnormal)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        exponent = np.floor(np.log2(np.maximum(magnitude, least)))
        spacing = np.maximum(2.0 ** (exponent - int(info.nmant)), float(info.smallest_normal) * 2.0 ** -int(info.nmant))
    spacing = np.where(
        magnitude < float(info.smallest_normal), np.maximum(spacing, float(info.smallest_normal)), spacing
    )
    return np.where(magnitude > float(info.max) * 0.99, np.inf, 0.51 * spacing)


@dataclass
class Tally:
    """Elements that were written, and those that the meaning judges."""

    elements: int = 0
    judged: int = 0

    @property
    def vague(self) -> bool:
        return 2 * self.judged < self.elements


def difference(got: NDArray[Any], want: Real, tally: Tally | None = None) -> str:
    """The first element outside its bound, or nothing."""
    value, error = np.broadcast_to(want.value, got.shape), np.broadcast_to(want.error, got.shape)
    if got.dtype.kind in "iu":
        info = np.iinfo(got.dtype)
        error = np.where((value < info.min) | (value > info.max), np.inf, error)
    with np.errstate(invalid="ignore"):
        bound = error + half_ulp(got.dtype, np.abs(value) + np.where(np.isfinite(error), error, 0))
        judged = np.isfinite(value) & np.isfinite(bound)
        wrong = judged & ~(np.abs(got.astype(np.float64) - value) <= bound)
    if tally is not None:
        tally.elements += got.size
        tally.judged += int(judged.sum())
    if not wrong.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{list(where)} is {got[where]}, not {value[where]:.9g} ± {bound[where]:.2g} ({int(wrong.sum())} wrong)"


def legal(kernel: Kernel, sizes: Sizes) -> bool:
    try:
        check_sizes(kernel, sizes)
        return all(bool(E.evaluate(c, dict(sizes))) for c in kernel.requires)
    except (LaunchRefused, ExprError, KeyError):
        return False


def truth_of(
    program: Generated, scheduled: Scheduled, more: tuple[Mapping[str, int], ...] = (), text: str = ""
) -> Truth:
    """The first thing that is wrong at any launch; `more` are sizes somebody else suggests, `text` is what the kernel
    was read from, if it is not the program's own."""
    kernel = scheduled.kernel
    launches = [dict(s) for s in program.launches if legal(kernel, s)][:MOST_LAUNCHES]
    launches += [dict(s) for s in more if legal(kernel, s) and _small(s)]
    if not launches:
        return Truth("untested", "no launch is legal")
    try:
        code = compiled_once(scheduled)
    except CompileError as error:
        return Truth("refused", error.code)
    loaded = machine.load(code).kernel(kernel.name)
    tally = Tally()
    rounded: Truth | None = None
    beyond: Truth | None = None
    for n, (launched, sizes) in enumerate(_with_scalars(program, launches)):
        for executor, options, kind in _runs(n, kernel):
            found = _launch(
                launched, kernel, loaded, sizes, kind, executor, options, SENTINELS[n % len(SENTINELS)], tally
            )
            if found is None:
                continue
            given = inputs(launched, kernel, sizes, kind, _seed(kind, sizes))
            if misstated(launched, kernel, given, sizes):
                return MISSTATED
            what = f"{sizes} {kind} {executor} {_briefly(options)}: {found.text}"
            if found.results is None:
                return Truth("wrong", what)
            seed = _seed(kind, sizes)
            exact = told_of_wrong(launched, kernel, code, sizes, kind, seed, given, found.results)
            if only_rounded(launched, kernel, exact, text):
                rounded = Truth("rounded", what, exact)
                continue
            smaller = tamed(kernel, sizes, given, launched.scalars)
            if smaller is not None and smaller < 1:
                again = _launch(launched, kernel, loaded, sizes, kind, executor, options, SENTINELS[0], tally, smaller)
                if again is None:
                    beyond = Truth("beyond", what, exact)
                    continue
                what += f"; floats times {smaller}: {again.text}"
            return Truth("wrong", what, exact)
    for n, sizes in enumerate(launches[:2]):
        hazard = _witness(program, kernel, sizes, IR_ORDERS[2 * n : 2 * n + 2], rounded is None)
        if hazard is None:
            continue
        given = inputs(program, kernel, sizes, "mixed", WITNESS)
        if misstated(program, kernel, given, sizes):
            return MISSTATED
        what = f"{sizes} IR interpreter: {hazard.text}"
        if hazard.results is not None:
            exact = told_of_wrong(program, kernel, code, sizes, "mixed", WITNESS, given, hazard.results)
            if only_rounded(program, kernel, exact, text):
                rounded = Truth("rounded", what, exact)
                continue
        return Truth("hazard", what)
    if rounded is not None:
        return rounded
    if beyond is not None:
        return beyond
    sizes = launches[min(1, len(launches) - 1)]
    exact = exact_of(program, kernel, code, sizes, "mixed", _seed("mixed", sizes))
    if exact.verdict == "different":
        return Truth("wrong", f"{sizes} mixed: {exact.detail}", exact)
    return Truth("vague" if tally.vague else "right", exact=exact)


def _with_scalars(program: Generated, launches: list[dict[str, int]]) -> Iterator[tuple[Generated, dict[str, int]]]:
    """Every launch, with one choice of scalars after the other; each choice has a launch."""
    choices = (program, *program.others)
    for n in range(max(len(launches), len(choices))):
        yield choices[n % len(choices)], launches[n % len(launches)]


def _seed(kind: str, sizes: Sizes) -> int:
    """Of the inputs of a launch."""
    return len(kind) + sum(sizes.values())


def _small(sizes: Mapping[str, int]) -> bool:
    return all(v <= 4096 for v in sizes.values()) and prod(max(v, 1) for v in sizes.values()) <= 1 << 20


def _runs(n: int, kernel: Kernel) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Executor, options and inputs of the n-th launch."""
    yield "checking", CHECKED, KINDS[n % 2]
    yield "checking", ORDERS[n % len(ORDERS)], "mixed"
    for kind in KINDS[1:] if any(t.dtype.name[0] in "iu" for t in kernel.tensors) else KINDS[1:4]:
        yield "jit", {}, kind


def _launch(
    program: Generated, kernel: Kernel, loaded: Any, sizes: Sizes, kind: str, executor: str,
    options: dict[str, Any], sentinel: int, tally: Tally, factor: float = 1.0,
) -> Found | None:  # fmt: skip
    """What is wrong at a launch, with its floats as drawn or times a factor."""
    given = scaled(inputs(program, kernel, sizes, kind, _seed(kind, sizes)), factor)
    memory = LaunchMemory(kernel, given, sizes, sentinel)
    grid = launch_grid(kernel, sizes)
    if 0 not in grid:
        try:
            result = loaded(
                grid, (kernel.threads, 1, 1), *memory.flat.values(),
                *scalar_values(kernel, sizes, program.scalars),
                options=machine.Options(max_steps=MOST_STEPS, **options), executor=executor,
            )  # fmt: skip
        except machine.MachineError as error:
            return Found(f"machine: {str(error).splitlines()[0]}")
        if result.errors:
            return Found(f"machine: {str(result.errors[0]).splitlines()[0]}")
    for name, want in program.meaning(given, sizes).items():
        found = difference(memory.views[name], want, tally)
        if found:
            return Found(f"{name}{found}", memory.views)
    for tensor in kernel.tensors:
        if 0 not in extents(tensor, sizes) and memory.gaps(tensor):
            return Found(f"{tensor.name}: memory beside its elements has changed")
    return None


def tamed(
    kernel: Kernel, sizes: Sizes, given: Mapping[str, NDArray[Any]], scalars: Mapping[str, float]
) -> float | None:
    """By how much floats are multiplied so that no number is beyond its type; None: by none of the factors tried."""
    for factor in SMALLER:
        if not outside_with(kernel, sizes, scaled(given, factor), scalars):
            return factor
    return None


def scaled(given: Mapping[str, NDArray[Any]], factor: float) -> dict[str, NDArray[Any]]:
    """Floats times a factor; whole numbers as they are."""
    whole = {name: a for name, a in given.items() if a.dtype.kind in "iu"}
    return {name: whole.get(name, (a.astype(np.float64) * factor).astype(a.dtype)) for name, a in given.items()}


def misstated(program: Generated, kernel: Kernel, given: Mapping[str, NDArray[Any]], sizes: Sizes) -> bool:
    """The inputs are not what the kernel states of them, so nothing is promised."""
    if all(op.declared.word != "symbol" for op in walk(kernel.body)):
        return False
    try:
        with np.errstate(all="ignore"):
            outcome = run_ir(kernel, given, sizes, scalars=program.scalars)
    except (InterpError, ExprError):
        return False
    return any(h.kind == "stated" for h in outcome.hazards) and not as_stated(kernel, given, sizes)


def as_stated(kernel: Kernel, given: Mapping[str, NDArray[Any]], sizes: Sizes) -> bool:
    """Every element of the inputs is seen to be as stated: the bounds are numbers at these sizes, and it is inside."""
    for op in walk(kernel.body):
        if isinstance(op, Symbol):
            limits = [limit_of(op, fact) for fact in op.facts]
            if any(limit is None or not {v.name for v in limit.free()} <= sizes.keys() for limit in limits):
                return False
    return all(
        bool(((low <= given[t.name]) & (given[t.name] <= high)).all())
        for t in kernel.tensors
        if t.name in given
        for low, high in stated_ranges(kernel, t, sizes)
    )


def _witness(
    program: Generated, kernel: Kernel, sizes: Sizes, orders: tuple[InterpSchedule, ...], values: bool
) -> Found | None:
    """What the IR interpreter objects to; `values`: results count too."""
    given = inputs(program, kernel, sizes, "mixed", WITNESS)
    want = program.meaning(given, sizes)
    for order in orders:
        try:
            with np.errstate(all="ignore"):
                outcome = run_ir(kernel, given, sizes, schedule=order, scalars=program.scalars, provenance=True)
        except (InterpError, ExprError) as error:
            return Found(f"{error}")
        if outcome.hazards:
            return Found(f"{order.order} {order.visibility}: {outcome.hazards[0]}")
        for name, value in want.items() if values else ():
            found = difference(outcome.arrays[name], value)
            if found:
                return Found(f"{order.order} {order.visibility}: {name}{found}", outcome.arrays)
    return None


def written_once(program: Generated, kernel: Kernel, sizes: Sizes) -> bool:
    """Every element of every output is written exactly once at this launch, in the IR."""
    try:
        outcome = run_ir(kernel, inputs(program, kernel, sizes, "mixed", WITNESS), sizes, scalars=program.scalars)
    except (InterpError, ExprError, KeyError):
        return False
    return all(bool((count == 1).all()) for count in outcome.writes.values())


def _briefly(options: dict[str, Any]) -> str:
    return "checked" if "checks" in options else " ".join(f"{k}={v}" for k, v in options.items())

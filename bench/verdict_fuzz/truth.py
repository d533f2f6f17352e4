"""Truth is the machine: the compiled object at several sizes and inputs, against the numpy meaning.

    found = truth_of(program, scheduled)
    found.kind      "right", "wrong", "hazard", "vague", "refused" or "untested"
    found.detail    which launch, which executor, which element

*wrong*: an executor gives another result than the meaning allows, the machine reports a race, a missing wait or a bad
access, or a byte beside an output has changed. *hazard*: only the IR interpreter, the second witness, objects. The
*vague*: nothing is wrong, but most elements were not judged (they leave the type they are computed in). The
compiler takes the kernel whatever the checker says of it; one that it refuses cannot be wrong on the machine.

A launch runs under the checking interpreter with all checks, sequentially, in a random order of waves, and translated
(JIT). Outputs start as a number that changes from run to run, so an element nobody writes is seen.
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
from argus.compile import CompileError, compile_kernel
from argus.device.guards import LaunchRefused, check_sizes, launch_grid
from argus.device.launch import scalar_values
from argus.ir.interp import InterpError, InterpSchedule, extents
from argus.ir.interp import run as run_ir
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.ir.stages import Scheduled
from argus.layout import expr as E
from argus.layout.expr import ExprError
from argus.machine.checks import ALL_CHECKS
from bench.verdict_fuzz.bounded import Real
from bench.verdict_fuzz.program import Generated, Sizes

MOST_STEPS = 5_000_000
MOST_LAUNCHES = 5
KINDS = ("mixed", "positive", "negative", "special", "full")
SENTINELS = (77, 33, 55)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e4, -1e4, 2.0**-126, 0.5, 3.0, -7.0)
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


def draw(kind: str, dice: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Inputs of one sort; integers over their whole range where the kind is `full`."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if kind == "full":
            edges = np.array([info.min, info.max, 0, 1, info.max // 2, info.min // 2], dtype=dtype)
            some = dice.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            return np.where(dice.random(shape) < 0.3, dice.choice(edges, shape), some).astype(dtype)
        low = 0 if kind == "positive" or info.min == 0 else -9
        high = 0 if kind == "negative" and info.min < 0 else 9
        return dice.integers(low, high, shape, endpoint=True).astype(dtype)
    match kind:
        case "positive":
            made = dice.uniform(0.1, 3.0, shape)
        case "negative":
            made = -dice.uniform(0.1, 3.0, shape)
        case "special":
            made = dice.choice(np.array(SPECIAL), shape)
        case _:
            made = dice.normal(0.0, 2.0, shape)
    return np.asarray(made, dtype=np.float32).astype(dtype)


def inputs(program: Generated, kernel: Kernel, sizes: Sizes, kind: str, seed: int) -> dict[str, NDArray[Any]]:
    dice = np.random.default_rng(seed)
    made = {}
    for tensor in kernel.tensors:
        if tensor.read:
            shape = extents(tensor, sizes)
            special = program.draws.get(tensor.name)
            given = special(dice, shape, sizes) if special else draw(kind, dice, shape, numpy_dtype(tensor.dtype))
            made[tensor.name] = given.astype(numpy_dtype(tensor.dtype))
    return made


class _Memory:
    """The arrays of one launch as the kernel's memory: strides with gaps, outputs full of a sentinel."""

    def __init__(self, kernel: Kernel, given: Mapping[str, NDArray[Any]], sizes: Sizes, sentinel: int) -> None:
        self.flat: dict[str, NDArray[Any]] = {}
        self.views: dict[str, NDArray[Any]] = {}
        self.before: dict[str, NDArray[Any]] = {}
        for tensor in kernel.tensors:
            flat, view = _buffer(tensor, sizes, sentinel)
            if tensor.name in given:
                view[...] = given[tensor.name]
            self.flat[tensor.name], self.views[tensor.name] = flat, view
            self.before[tensor.name] = flat.copy()

    def gaps(self, tensor: Tensor) -> bool:
        """A byte between the rows of an output, or of a tensor that is only read, has changed."""
        now, then, view = self.flat[tensor.name], self.before[tensor.name], self.views[tensor.name]
        if not tensor.written:
            return bool((_bytes(now) != _bytes(then)).any())
        inside = np.zeros(len(now), dtype=np.bool_)
        steps = tuple(s // now.itemsize for s in view.strides)
        np.lib.stride_tricks.as_strided(inside, view.shape, steps)[...] = True
        return bool((_bytes(now[~inside]) != _bytes(then[~inside])).any())


def _bytes(a: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(a).view(np.uint8)


def _buffer(tensor: Tensor, sizes: Sizes, sentinel: int) -> tuple[NDArray[Any], NDArray[Any]]:
    shape = extents(tensor, sizes)
    dtype = numpy_dtype(tensor.dtype)
    steps = tuple(int(E.evaluate(s, sizes)) for s in tensor.strides)
    count = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    flat = np.full(max(count, 1), sentinel).astype(dtype)
    if 0 in shape:
        return flat[:0], np.empty(shape, dtype)
    return flat, np.lib.stride_tricks.as_strided(flat, shape, tuple(s * dtype.itemsize for s in steps))


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


def truth_of(program: Generated, scheduled: Scheduled, more: tuple[Mapping[str, int], ...] = ()) -> Truth:
    """The first thing that is wrong at any launch; `more` are sizes somebody else suggests."""
    kernel = scheduled.kernel
    launches = [dict(s) for s in program.launches if legal(kernel, s)][:MOST_LAUNCHES]
    launches += [dict(s) for s in more if legal(kernel, s) and _small(s)]
    if not launches:
        return Truth("untested", "no launch is legal")
    try:
        compiled = compile_kernel(scheduled)
    except CompileError as error:
        return Truth("refused", error.code)
    loaded = machine.load(compiled.object).kernel(kernel.name)
    tally = Tally()
    for n, sizes in enumerate(launches):
        for executor, options, kind in _runs(n, kernel):
            found = _launch(
                program, kernel, loaded, sizes, kind, executor, options, SENTINELS[n % len(SENTINELS)], tally
            )
            if found:
                return Truth("wrong", f"{sizes} {kind} {executor} {_briefly(options)}: {found}")
    for n, sizes in enumerate(launches[:2]):
        found = _witness(program, kernel, sizes, IR_ORDERS[2 * n : 2 * n + 2])
        if found:
            return Truth("hazard", f"{sizes} IR interpreter: {found}")
    return Truth("vague" if tally.vague else "right")


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
    options: dict[str, Any], sentinel: int, tally: Tally,
) -> str:  # fmt: skip
    given = inputs(program, kernel, sizes, kind, seed=len(kind) + sum(sizes.values()))
    memory = _Memory(kernel, given, sizes, sentinel)
    grid = launch_grid(kernel, sizes)
    if 0 not in grid:
        try:
            result = loaded(
                grid, (kernel.threads, 1, 1), *memory.flat.values(),
                *scalar_values(kernel, sizes, program.scalars),
                options=machine.Options(max_steps=MOST_STEPS, **options), executor=executor,
            )  # fmt: skip
        except machine.MachineError as error:
            return f"machine: {str(error).splitlines()[0]}"
        if result.errors:
            return f"machine: {str(result.errors[0]).splitlines()[0]}"
    for name, want in program.meaning(given, sizes).items():
        found = difference(memory.views[name], want, tally)
        if found:
            return f"{name}{found}"
    for tensor in kernel.tensors:
        if 0 not in extents(tensor, sizes) and memory.gaps(tensor):
            return f"{tensor.name}: memory beside its elements has changed"
    return ""


def _witness(program: Generated, kernel: Kernel, sizes: Sizes, orders: tuple[InterpSchedule, ...]) -> str:
    given = inputs(program, kernel, sizes, "mixed", seed=9)
    want = program.meaning(given, sizes)
    for order in orders:
        try:
            with np.errstate(all="ignore"):
                outcome = run_ir(kernel, given, sizes, schedule=order, scalars=program.scalars, provenance=True)
        except (InterpError, ExprError) as error:
            return f"{error}"
        if outcome.hazards:
            return f"{order.order} {order.visibility}: {outcome.hazards[0]}"
        for name, value in want.items():
            found = difference(outcome.arrays[name], value)
            if found:
                return f"{order.order} {order.visibility}: {name}{found}"
    return ""


def written_once(program: Generated, kernel: Kernel, sizes: Sizes) -> bool:
    """Every element of every output is written exactly once at this launch, in the IR."""
    try:
        outcome = run_ir(kernel, inputs(program, kernel, sizes, "mixed", seed=9), sizes, scalars=program.scalars)
    except (InterpError, ExprError, KeyError):
        return False
    return all(bool((count == 1).all()) for count in outcome.writes.values())


def _briefly(options: dict[str, Any]) -> str:
    return "checked" if "checks" in options else " ".join(f"{k}={v}" for k, v in options.items())

"""Counterexamples of `value`: a small launch whose result is far from the specification, and who stored it.

Inputs are those of `executed.inputs`: of both signs, integers over all that their type or the kernel's statements
allow. An element counts only where the specification is finite and fits the type of the output; of inputs of wide
spread only where the result is finite, too. A launch at which a number leaves its type shows nothing, since a proof
takes for granted that none does (`executed.premises`); it is tried again with smaller inputs. The wrong element is
named with the block, wave, lane and register element whose store wrote it, the two terms, their smallest difference,
and the first line that parts from the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.check.executed.execute import attempts
from argus.check.executed.inputs import data_of
from argus.check.executed.launches import MOST_STEPS, steps
from argus.check.executed.outcome import Kind, SmallLaunch
from argus.check.executed.premises import outside
from argus.check.executed.tolerance import derived
from argus.check.explain.search_budget import may_search
from argus.check.explain.small_executions import beyond, larger, launches, longest, ragged, stated, varied, whole_tiles
from argus.check.explain.term_difference import difference, parting_line
from argus.check.explain.term_text import shown
from argus.check.explain.writers import writers
from argus.check.report import Counterexample, Party
from argus.check.rounding import ErrorBound
from argus.check.rounding.derived_comparison import telling
from argus.check.rounding.narrowing import reads_as_xf32
from argus.check.rules.value import Differs
from argus.check.walk import KernelWalk
from argus.ir import interp, ops
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.ops import Tensor
from argus.ir.origins import numbers
from argus.ir.types import DType, Span
from argus.layout.expr import ExprError
from argus.spec import Bounded, ResultSpec, SpecError, evaluate, stored
from argus.spec.tree import (
    Arithmetic,
    IndexName,
    IndexReduction,
    Negation,
    NumberLiteral,
    ScalarName,
    SizeName,
    TensorElement,
)
from argus.spec.walk import walk

FAR = {8: 0.25, 16: 0.1, 32: 0.01, 64: 0.01}
"""Bits of the narrowest floating type in the kernel -> which part of a value is far."""
ROUNDED = 2.0**-18
"""Which part of the largest input may remain of numbers that cancel."""
WIDE_ENOUGH = 32
MOST = 1 << 18
"""Elements of all tensors in a launch that is tried."""
SEED = 1
INPUTS = "inputs: "
SMALLER = ", divided by 8 to the power "


def counterexample(flow: KernelWalk, span: Span, op: int, terms: Differs | None = None) -> Counterexample | None:
    """The first small launch whose result is far from the specification."""
    assert flow.spec is not None
    output = flow.spec.output
    for trial in _trials(flow.kernel):
        for launch in attempts(trial):
            found = _far(flow.kernel, output, launch)
            if found is None:
                break
            if not outside(flow.kernel, launch):
                return _told(flow, span, op, launch, found, terms)
    return None


def _told(
    flow: KernelWalk, span: Span, op: int, launch: SmallLaunch, found: tuple[tuple[int, ...], float, float],
    terms: Differs | None,
) -> Counterexample:  # fmt: skip
    """The wrong element with who stored it, the terms and where they part."""
    kernel, (at, got, want) = flow.kernel, found
    assert flow.spec is not None
    output, sizes = flow.spec.output, dict(launch.sizes)
    coords = dict(zip(output.axes, at, strict=True))
    named = ", ".join(f"{axis}={c}" for axis, c in coords.items())
    text = f"{output.name}[{named}] is {got:.6g}, the specification gives {want:.6g}"
    made, given = data_of(kernel, launch)
    wrote, _ = writers(kernel, made, sizes, given, output, at)
    details: tuple[str, ...] = ()
    if terms is not None:
        tables = flow.tables
        details += (f"stored: `{shown(terms.stored, tables)}`", f"specified: `{shown(terms.specified, tables)}`")
        small = difference(terms.stored, terms.specified, tables)
        details += (f"difference: {small}",) if small else ()
        line = parting_line(flow, terms.specified)
        details += (f"the terms part at {line}",) if line is not None and line != span else ()
    details += (_inputs_line(launch),)
    hint = "compare what is computed with the specification, operand by operand"
    message = "the kernel computes something else than it says"
    if not wrote:
        operand = Party("value", 0, 0, f"{text}; no store wrote it", output.name, coords, span=span)
        return Counterexample("value", span, op, message, sizes, (0, 0, 0), {}, 0, (operand,), hint, details=details)
    last = wrote[-1]
    operand = Party("value", last.thread, last.element, f"holds {text}", output.name, coords, span=last.op.span)
    return Counterexample(
        "value", last.op.span, last.op.id, message, sizes, last.block, dict(last.loops), last.wave, (operand,), hint,
        details=details,
    )  # fmt: skip


def _inputs_line(launch: SmallLaunch) -> str:
    smaller = f"{SMALLER}{launch.smaller}" if launch.smaller else ""
    return f"{INPUTS}{launch.kind}, seed {launch.seed}{smaller}"


def launch_of(shown: Counterexample) -> SmallLaunch:
    """The launch that a counterexample of `value` shows; of another rule's, one with ordinary inputs."""
    text = next((d for d in shown.details if d.startswith(INPUTS)), f"{INPUTS}normal, seed {SEED}")
    kind = next(kind for kind in get_args(Kind) if text.startswith(f"{INPUTS}{kind},"))
    _, _, smaller = text.partition(SMALLER)
    return SmallLaunch(shown.sizes, kind, SEED, int(smaller or 0))


def _trials(kernel: Kernel) -> list[SmallLaunch]:
    """Small launches, with sizes that divide evenly and such that do not, loops of several iterations, the example; the
    largest of them also with inputs of wide spread; the smallest and the largest with sparse inputs, the smallest with
    negative ones and integers of the whole range; ramps and powers where the specification has maxima or products."""
    small = varied(kernel)
    others = [
        *ragged(kernel),
        *larger(kernel),
        *longest(kernel),
        *stated(kernel),
        *beyond(kernel),
        *whole_tiles(kernel),
    ]
    small += [sizes for sizes in others if sizes not in small and _elements(kernel, sizes) <= MOST]
    found = [sizes for sizes in launches(kernel, 400) if _elements(kernel, sizes) <= MOST]
    largest = found[-1:] if found[-1:] != small[-1:] else []
    whole = any(t.read and t.dtype.kind in ("int", "uint") for t in kernel.tensors)
    integers: Kind = "whole" if _wraps_alike(kernel) else "half"
    kinds: tuple[Kind, ...] = ("negative", integers) if whole else ("negative",)
    trials = [SmallLaunch(sizes, "normal", SEED) for sizes in (*small, *largest)]
    trials += [SmallLaunch(sizes, "wide", SEED) for sizes in largest]
    trials += [SmallLaunch(sizes, kind, SEED) for kind in kinds for sizes in small[:1]]
    trials += [SmallLaunch(sizes, "sparse", SEED) for sizes in (*small[:1], *largest)]
    kinds_of = _reductions(kernel)
    more: list[Kind] = ["powers"] if kinds_of & {"prod", "argmax", "argmin"} else []
    more += ["rising", "falling"] if kinds_of - {"sum", "prod"} else []
    trials += [SmallLaunch(sizes, kind, SEED) for kind in more for sizes in (*small, *largest)]
    return [trial for trial in trials if steps(kernel, trial.sizes) <= MOST_STEPS]


def _wraps_alike(kernel: Kernel) -> bool:
    """The specification is made of sums and products: wrapped integers give the wrapped result, in any order."""
    ring = Arithmetic | Negation | NumberLiteral | TensorElement | IndexReduction | IndexName | SizeName | ScalarName
    parts = [p for r in (kernel.computes.results if kernel.computes else ()) for p in walk(r.expression)]
    return all(
        isinstance(p, ring)
        and not (isinstance(p, IndexReduction) and p.kind not in ("sum", "prod"))
        and not (isinstance(p, Arithmetic) and p.op not in "+-*")
        for p in parts
    )


def _reductions(kernel: Kernel) -> set[str]:
    """The kinds of reductions in the specification."""
    parts = [p for r in (kernel.computes.results if kernel.computes else ()) for p in walk(r.expression)]
    return {p.kind for p in parts if isinstance(p, IndexReduction)}


def _elements(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    return sum(int(np.prod(interp.extents(t, sizes))) for t in kernel.tensors)


def _part(kernel: Kernel, exact: bool) -> float:
    """Which part of a value is far; a small one where the specification rounds nothing, nor does any type."""
    types = [t.dtype for t in kernel.tensors] + [v.dtype for op in ops.walk(kernel.body) for v in op.results]
    bits = min((t.bits for t in types if t.kind == "float"), default=32)
    if any(reads_as_xf32(op) for op in ops.walk(kernel.body)):
        bits = min(bits, 16)  # xf32 has the digits of f16
    return ROUNDED if exact and bits >= WIDE_ENOUGH else FAR[bits]


def largest_number(dtype: DType) -> tuple[float, float]:
    """The least and the greatest finite number of a type."""
    if dtype.kind == "float":
        most = float(ml_dtypes.finfo(numpy_dtype(dtype)).max)
        return -most, most
    if dtype.kind == "bool":
        return 0.0, 1.0
    low, high = numbers(dtype)
    return float(low), float(high)


def _largest(given: Mapping[str, NDArray[Any]]) -> float:
    """The greatest magnitude of a floating input."""
    floats = [np.abs(a.astype(np.float64)) for a in given.values() if a.dtype.kind not in "iub" and a.size]
    return max((float(np.nanmax(a, initial=0.0)) for a in floats), default=0.0)


def _vanishing(dtype: DType) -> float:
    """What a type may not hold because it is too small; whole numbers have nothing of the kind."""
    if dtype.kind != "float":
        return 0.0
    return max(float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_subnormal), float(np.finfo(np.float32).tiny))


def _rounded_away(
    kernel: Kernel, stated: ResultSpec, inputs: Mapping[str, NDArray[Any]], symbols: Mapping[str, float],
    got: NDArray[np.float64], wanted: Bounded,
) -> NDArray[np.bool_]:  # fmt: skip
    """Where rounding alone explains the difference, by the bound of the kernel's own arithmetic, if that tells
    something: `max(x + 1000, 1000) - 1000` of f32 is the maximum of x and 0, with fewer digits."""
    bound = derived(kernel).of(stated.result)
    if wanted.residue is not None or not isinstance(bound, ErrorBound):
        return np.zeros(got.shape, dtype=bool)
    with np.errstate(all="ignore"):
        most = bound.at(stated, inputs, symbols, wanted.value)
        return telling(most, np.zeros_like(most), wanted.value) & (np.abs(got - wanted.value) <= most)


def _far(kernel: Kernel, output: Tensor, launch: SmallLaunch) -> tuple[tuple[int, ...], float, float] | None:
    """An element that is far from the specification: its index, its value, the specified one."""
    assert kernel.computes is not None
    (stated,) = kernel.computes.results
    sizes, (made, given) = launch.sizes, data_of(kernel, launch)
    if not may_search(1):
        return None
    try:
        outcome = interp.run(kernel, made, sizes, scalars=given)
        with np.errstate(all="ignore"):  # the output says how far indices run that no input has plainly
            wanted = evaluate(stated, {output.name: outcome.arrays[output.name], **made}, {**sizes, **given})
    except (interp.InterpError, ExprError, SpecError):
        return None
    if any(h.kind == "stated" for h in outcome.hazards):
        return None
    wanted = stored(wanted, outcome.arrays[output.name].dtype)
    got = np.asarray(outcome.arrays[output.name]).astype(np.float64)
    if got.shape != wanted.value.shape:
        return None
    low, high = largest_number(output.dtype)
    usable = np.isfinite(wanted.value) & np.isfinite(wanted.error)
    with np.errstate(invalid="ignore"):  # infinities, which are not usable
        usable &= (wanted.value - wanted.error >= low) & (wanted.value + wanted.error <= high)
    if launch.kind == "wide":
        usable &= np.isfinite(got)
    if not usable.any():
        return None
    typical = float(np.sqrt(np.mean(wanted.value[usable] ** 2)))
    with np.errstate(invalid="ignore"):
        part = 0.0 if wanted.residue is not None else _part(kernel, exact=not wanted.error.any())
        limit = part * (np.abs(wanted.value) + typical) + 16 * wanted.error
        limit += ROUNDED * _largest(made) if part else 0.0  # where numbers of this size cancel
        limit += _vanishing(output.dtype)
        wrong = usable & ~(np.abs(got - wanted.value) <= limit)
    if wrong.any():
        wrong &= ~_rounded_away(kernel, stated, {**made, output.name: got}, {**sizes, **given}, got, wanted)
    if not wrong.any():
        return None
    at = tuple(int(n) for n in np.argwhere(wrong)[0])
    return at, float(got[at]), float(wanted.value[at])

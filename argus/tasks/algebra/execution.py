"""Running a kernel, or two objects, in exact algebra.

    compare_kernel(kernel, code, sizes, arrays, scalars)       the object against the kernel's `computes`
    compare_specified(launch, spec, arrays, symbols)           anybody's object against a specification
    compare_objects(first, second, names, arrays)              two launches of the same arguments
    compare_part(launch, result, arrays, symbols, wave)        what some workgroups stored, or one wave of each

The arrays are those of an ordinary run; the real values only decide comparisons and maxima.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argus import machine
from argus.device.guards import check_arrays, check_sizes, launch_grid
from argus.device.launch import flat, scalar_values
from argus.ir.kernel import Kernel
from argus.machine.algebra import AlgebraNumbers, AlgebraShadow, Constants
from argus.machine.algebra.numbers import choose, of_floats
from argus.machine.algebra.shadow import NOT_ASKED
from argus.spec import ResultSpec, Specification
from argus.tasks.algebra.approximations import fitted
from argus.tasks.algebra.comparison import AlgebraComparison, compare_numbers
from argus.tasks.algebra.specification import AlgebraEvaluator, named_constants

Array = npt.NDArray[np.generic]
SEED = 0x5EED
ATTEMPTS = 3
EXACT = 2.0**53
"""Whole doubles below it are exact."""

Launch = Callable[[Sequence[Array], machine.Options], object]
"""Runs an object on arrays, which it writes, with these options."""


def compare_kernel(
    kernel: Kernel,
    code: bytes,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, float],
    seed: int = SEED,
) -> list[AlgebraComparison]:
    """The object against its specification, result by result. The arrays are written as by any launch."""
    if kernel.computes is None:
        raise machine.LaunchError(f"{kernel.name} states no specification (computes=...)")
    check_sizes(kernel, sizes)
    check_arrays(kernel, sizes, arrays)
    grid = launch_grid(kernel, sizes)

    def launch(passed: Sequence[Array], options: machine.Options) -> None:
        values = scalar_values(kernel, sizes, scalars)
        machine.load(code).kernel(kernel.name)(grid, kernel.threads, *passed, *values, options=options)

    if 0 in grid:
        return []
    ordered = {t.name: arrays[t.name] for t in kernel.tensors}
    return compare_specified(launch, kernel.computes, ordered, {**sizes, **scalars}, seed, fitted(kernel))


def compare_specified(
    launch: Launch,
    spec: Specification,
    arrays: Mapping[str, Array],
    symbols: Mapping[str, float],
    seed: int = SEED,
    coefficients: frozenset[float] = frozenset(),
) -> list[AlgebraComparison]:
    """Any object against a specification of its arrays, which are given in the order of its arguments. What only
    doubts leave open is tried again with other residues, as long as that settles something: a root may be a square
    then, an unknown function stays one. `coefficients` of polynomials are doubtful (`Constants`)."""
    inputs = {name: array.copy() for name, array in arrays.items()}
    made = _specified(launch, spec, arrays, inputs, symbols, seed, coefficients)
    for attempt in range(1, ATTEMPTS):
        if any(c.verdict == "different" for c in made) or not any(c.doubtful for c in made):
            break
        for name, array in inputs.items():
            arrays[name][...] = array
        again = _specified(launch, spec, arrays, inputs, symbols, seed + attempt, coefficients)
        before = sum(c.not_followed for c in made)
        made = [b if b.different or b.not_followed < a.not_followed else a for a, b in zip(made, again, strict=True)]
        if sum(c.not_followed for c in made) == before:
            break
    return made


def _specified(
    launch: Launch,
    spec: Specification,
    arrays: Mapping[str, Array],
    inputs: Mapping[str, Array],
    symbols: Mapping[str, float],
    seed: int,
    coefficients: frozenset[float],
) -> list[AlgebraComparison]:
    named = [c for result in spec.results for c in named_constants(result, inputs, symbols, seed)]
    constants = Constants(seed, named, coefficients)
    passed = [flat(array) for array in arrays.values()]
    shadow = AlgebraShadow(passed, constants, seed)
    launch(passed, machine.Options(shadow=shadow))
    made = []
    for result in spec.results:
        array = arrays[result.result]
        want = AlgebraEvaluator(inputs, symbols, constants, seed).result(result, array.shape)
        made.append(_compared(result.result, shadow, list(arrays).index(result.result), array, want))
    return made


def compare_part(
    launch: Launch,
    spec: ResultSpec,
    arrays: Mapping[str, Array],
    symbols: Mapping[str, float],
    coefficients: frozenset[float],
    wave: int | None = None,
    seed: int = SEED,
) -> AlgebraComparison | None:
    """The elements that a launch of some workgroups has stored (of `wave`: those that depend on no other wave's
    arithmetic), against their specification; None if nothing was stored. Where only a doubt is left, it is left."""
    inputs = {name: array.copy() for name, array in arrays.items()}
    constants = Constants(seed, named_constants(spec, inputs, symbols, seed), coefficients)
    passed = [flat(array) for array in arrays.values()]
    shadow = AlgebraShadow(passed, constants, seed, wave)
    launch(passed, machine.Options(shadow=shadow))
    k, array = list(arrays).index(spec.result), arrays[spec.result]
    places = _places(array)
    at = np.nonzero(shadow.stored(k)[places])
    got, lost = shadow.numbers(k, places[at])
    asked = lost != shadow.table.lost(NOT_ASKED)
    if not asked.any():
        return None
    at, got, lost = tuple(where[asked] for where in at), got.at(asked), lost[asked]
    positions = [np.unique(where) for where in at]
    box = AlgebraEvaluator(inputs, symbols, constants, seed).result(spec, array.shape, positions)
    inside = tuple(np.searchsorted(axis, where) for axis, where in zip(positions, at, strict=True))
    want = box.at(inside)
    if array.dtype.kind in "iu":
        want = _wrapped(want, np.iinfo(array.dtype.name))
    found = compare_numbers(spec.result, got, want, lambda n: shadow.cause(int(lost[n])))
    if found.first is None:
        return found
    first = tuple(int(where[found.first[0]]) for where in at)
    return replace(found, first=first, writer=shadow.writer(k, int(places[first])))


def _compared(name: str, shadow: AlgebraShadow, k: int, array: Array, want: AlgebraNumbers) -> AlgebraComparison:
    """An array of the launch against numbers of its shape."""
    places = _places(array)
    got, lost = shadow.numbers(k)
    elements = places.reshape(-1)
    if array.dtype.kind in "iu":
        want = _wrapped(want, np.iinfo(array.dtype.name))
    stored = shadow.stored(k)[places]
    comparison = compare_numbers(name, got.at(places), want, lambda n: shadow.cause(int(lost[elements[n]])), stored)
    if comparison.first is None:
        return comparison
    return replace(comparison, writer=shadow.writer(k, int(places[comparison.first])))


def _wrapped(want: AlgebraNumbers, limits: np.iinfo[Any]) -> AlgebraNumbers:
    """Whole numbers as an integer type holds them, modulo its range."""
    outside = (want.real < limits.min) | (want.real > limits.max)
    inside = np.mod(want.real - limits.min, 2.0**limits.bits) + limits.min
    return choose(outside & (np.abs(want.real) < EXACT), of_floats(inside), want)


def _places(array: Array) -> npt.NDArray[np.int64]:
    """Where in its memory each element of an array lies, in elements."""
    made = np.zeros(array.shape, np.int64)
    for axis, (extent, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        shape = [1] * array.ndim
        shape[axis] = extent
        made = made + np.arange(extent).reshape(shape) * (step // array.itemsize)
    return made


def compare_objects(
    first: Launch, second: Launch, names: Sequence[str], arrays: Sequence[Array], seed: int = SEED
) -> list[AlgebraComparison]:
    """Two objects on the same arrays: every array that one of them changes. `arrays` keep what `first` leaves."""
    constants = Constants(seed)
    before = [array.copy() for array in arrays]
    others = [array.copy() for array in arrays]
    mine, theirs = AlgebraShadow(arrays, constants, seed), AlgebraShadow(others, constants, seed)
    first(arrays, machine.Options(shadow=mine))
    second(others, machine.Options(shadow=theirs))
    made = []
    for k, name in enumerate(names):
        changed = any(x[k].tobytes() != before[k].tobytes() for x in (arrays, others))
        if changed:
            want, _ = theirs.numbers(k)
            places = _places(others[k])
            made.append(_compared(name, mine, k, arrays[k], want.at(places)))
    return made

"""Running a kernel, or two objects, in exact algebra.

    compare_kernel(kernel, code, sizes, arrays, scalars)       the object against the kernel's `computes`
    compare_objects(first, second, names, arrays, changed)     two launches of the same arguments

The arrays are those of an ordinary run; the real values only decide comparisons and maxima.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from argus import machine
from argus.device.guards import check_arrays, check_sizes, launch_grid
from argus.device.launch import flat, scalar_values
from argus.ir.kernel import Kernel
from argus.machine.algebra import AlgebraShadow, Constants, Numbers
from argus.tasks.algebra.comparison import AlgebraComparison, compare_numbers
from argus.tasks.algebra.specification import AlgebraEvaluator, named_constants

Array = npt.NDArray[np.generic]
SEED = 0x5EED


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
    inputs = {name: array.copy() for name, array in arrays.items()}
    symbols = {**sizes, **scalars}
    results = kernel.computes.results
    named = [c for spec in results for c in named_constants(spec, inputs, symbols, seed)]
    constants = Constants(seed, named)
    order = [t.name for t in kernel.tensors]
    passed = [flat(arrays[name]) for name in order]
    shadow = AlgebraShadow(passed, constants, seed)
    grid = launch_grid(kernel, sizes)
    if 0 not in grid:
        launched = machine.load(code).kernel(kernel.name)
        values = scalar_values(kernel, sizes, scalars)
        launched(grid, kernel.threads, *passed, *values, options=machine.Options(shadow=shadow))
    made = []
    for spec in results:
        evaluator = AlgebraEvaluator(inputs, symbols, constants, seed)
        want = evaluator.result(spec, arrays[spec.result].shape)
        made.append(_compared(spec.result, shadow, order.index(spec.result), arrays[spec.result], want))
    return made


def _compared(name: str, shadow: AlgebraShadow, k: int, array: Array, want: Numbers) -> AlgebraComparison:
    """An array of the launch against numbers of its shape."""
    places = _places(array)
    got, lost = shadow.numbers(k)
    causes = [shadow.cause(int(value)) for value in lost[places.reshape(-1)]]
    comparison, _ = compare_numbers(name, got.at(places), want, causes)
    if comparison.first is None:
        return comparison
    writer = shadow.writer(k, int(places[comparison.first]))
    return AlgebraComparison(
        name, comparison.elements, comparison.different, comparison.not_followed, comparison.first, writer,
        comparison.cause,
    )  # fmt: skip


def _places(array: Array) -> npt.NDArray[np.int64]:
    """Where in its memory each element of an array lies, in elements."""
    made = np.zeros(array.shape, np.int64)
    for axis, (extent, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        shape = [1] * array.ndim
        shape[axis] = extent
        made = made + np.arange(extent).reshape(shape) * (step // array.itemsize)
    return made


Launch = Callable[[Sequence[Array], machine.Options], object]
"""Runs an object on arrays, which it writes, with these options."""


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

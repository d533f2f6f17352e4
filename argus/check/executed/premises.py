"""A premise of every proof of values, at one launch: no number is beyond the largest of its type.

    overflows(kernel, launch)                a sum, a product or a conversion made an infinity of finite numbers, or a
                                             conversion the largest number of one beyond it
    overflows_with(kernel, sizes, inputs, scalars)     the same of any inputs

Asked only of a launch that disagrees. Functions of elements are looked at element by element: a masked -inf does not
hide the overflow of its neighbor. An infinity at a pole (1/0, log2(0)) is no overflow: a padded element that meets one
is a mistake of the kernel, and the proof should have seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from argus.check.executed.inputs import data_of
from argus.check.executed.outcome import SmallLaunch
from argus.ir import interp, ops
from argus.ir.interp import OpEvent
from argus.ir.interp.numbers import numpy_dtype
from argus.ir.kernel import Kernel
from argus.ir.ops import Op

DIVISIONS = frozenset({"div", "rcp"})
POLES = frozenset({"log", "log2", "rsqrt", "pow"})
"""Infinite at a finite argument by what they are."""
COMPUTING = frozenset({"map", "convert", "mfma"})


def overflows(kernel: Kernel, launch: SmallLaunch) -> bool:
    """A number is beyond its type at a launch of those that execute proofs."""
    return overflows_with(kernel, launch.sizes, *data_of(kernel, launch))


def overflows_with(
    kernel: Kernel, sizes: Mapping[str, int], inputs: Mapping[str, NDArray[Any]], given: Mapping[str, float | int]
) -> bool:
    """Execute the launch once more and look at every result."""
    found: list[Op] = []
    finite: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def before(event: OpEvent) -> None:
        floats = [r.data[event.active].astype(np.float64) for r in event.operands if r.data.dtype.kind not in "iub"]
        whole = _finite(floats, event.op.map_function is not None)
        if floats and event.op.map_function in DIVISIONS:
            whole = whole & (floats[-1] != 0)
        finite[event.op.id, event.wave] = whole & np.bool_(event.op.map_function not in POLES)
        into = event.op.results[0].dtype
        if event.op.declared.word == "convert" and into.kind == "float":
            largest = float(ml_dtypes.finfo(numpy_dtype(into)).max)
            found.extend(event.op for x in floats if (np.isfinite(x) & (np.abs(x) > largest)).any())

    def after(event: OpEvent) -> None:
        made = [r.data[event.active] for r in event.operands if r.data.dtype.kind not in "iub"]
        if any((np.isinf(x.astype(np.float64)) & finite[event.op.id, event.wave]).any() for x in made):
            found.append(event.op)

    watched = [op.id for op in ops.walk(kernel.body) if op.declared.word in COMPUTING]
    watch: dict[int, Callable[[OpEvent], None]] = dict.fromkeys(watched, before)
    results: dict[int, Callable[[OpEvent], None]] = dict.fromkeys(watched, after)
    with np.errstate(all="ignore"):
        interp.run(kernel, inputs, sizes, scalars=given, watch=watch, results=results)
    return bool(found)


def _finite(operands: list[NDArray[np.float64]], by_element: bool) -> NDArray[np.bool_]:
    """Where all operands are finite: element by element, or all of them together."""
    if not operands:
        return np.zeros((), np.bool_)
    if not by_element:
        return np.array(all(np.isfinite(x).all() for x in operands))
    each = np.isfinite(operands[0])
    for x in operands[1:]:
        each = each & np.isfinite(x)
    return each

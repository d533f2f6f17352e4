"""Premises of every proof of values, at one launch: no number is beyond the largest of its type, and none that is too
small for it is divided by, compared, rounded to a whole number, scaled up again, or under a root or logarithm.

    outside(kernel, launch)                          a premise does not hold at the launch
    outside_with(kernel, sizes, inputs, scalars)     the same with any inputs

Beyond its type: a sum, a product or a conversion made an infinity of finite numbers, or a conversion that does not
saturate was given one beyond its type, a float or a whole number. An infinity at a pole (1/0, log2(0)) is no overflow:
a padded element that meets one is a mistake of the kernel, and the proof should have seen it. Too small: a product, an
exponential or a conversion has vanished, that is became subnormal or 0 though no factor is 0; and somewhere a number as
small is used in one of these ways. The two are not followed from one to the other. What a conversion lost counts for
divisors, roots and logarithms alone: numbers are stored in narrow types in many kernels that compare others.

Asked only of a launch that disagrees. Functions of elements are looked at element by element: a masked -inf does not
hide the overflow of its neighbor.
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
from argus.ir.maps import JUMPS
from argus.ir.types import DType

DIVISIONS = frozenset({"div", "rcp"})
POLES = frozenset({"log", "log2", "rsqrt", "pow"})
"""Infinite at a finite argument by what they are."""
EXPONENTIALS = frozenset({"exp", "exp2", "sigmoid"})
PRODUCTS = frozenset({"mul", "div", "rcp"})
COMPARING = frozenset({"eq", "ne", "lt", "le", "gt", "ge", *JUMPS})
FAR = 1e6
COMPUTING = frozenset({"map", "convert", "mfma"})
Floats = NDArray[np.float64]
Where = NDArray[np.bool_]


def outside(kernel: Kernel, launch: SmallLaunch) -> bool:
    """A premise does not hold at a launch of those that execute proofs."""
    return outside_with(kernel, launch.sizes, *data_of(kernel, launch))


def outside_with(
    kernel: Kernel, sizes: Mapping[str, int], inputs: Mapping[str, NDArray[Any]], given: Mapping[str, float | int]
) -> bool:
    """Execute the launch once more and look at every operand and result."""
    seen = _Numbers()
    watched = [op.id for op in ops.walk(kernel.body) if op.declared.word in COMPUTING]
    watch: dict[int, Callable[[OpEvent], None]] = dict.fromkeys(watched, seen.operands)
    results: dict[int, Callable[[OpEvent], None]] = dict.fromkeys(watched, seen.results)
    with np.errstate(all="ignore"):
        interp.run(kernel, inputs, sizes, scalars=given, watch=watch, results=results)
    return seen.beyond or (seen.lost and seen.divides) or (seen.vanished and seen.compares)


class _Numbers:
    """What was seen of all numbers of a launch."""

    def __init__(self) -> None:
        self.beyond = self.divides = self.compares = False
        self.lost = self.vanished = False
        """By anything; by a product or an exponential."""
        self._finite: dict[tuple[int, int], Where] = {}
        self._not_zero: dict[tuple[int, int], Where] = {}

    def operands(self, event: OpEvent) -> None:
        fn, key = event.op.map_function, (event.op.id, event.wave)
        floats = _floats(event)
        whole = _everywhere(floats, fn is not None, np.isfinite)
        if floats and fn in DIVISIONS:
            whole = whole & (floats[-1] != 0)
        self._finite[key] = whole & np.bool_(fn not in POLES)
        holds = _near if fn in EXPONENTIALS else _nonzero
        self._not_zero[key] = whole & _everywhere(floats, fn is not None, holds)
        into = event.op.results[0].dtype
        if event.op.converts_unbounded and into.kind == "float":
            largest = float(ml_dtypes.finfo(numpy_dtype(into)).max)
            given = [r.data[event.active].astype(np.float64) for r in event.operands]
            self.beyond |= any(bool((np.isfinite(x) & (np.abs(x) > largest)).any()) for x in given)
        argument = floats[-1:] if fn in DIVISIONS else floats[:1] if fn in POLES or fn == "sqrt" else []
        least = max((_least_of(v.dtype) for v in event.op.operands), default=0.0) if fn is not None else 0.0
        self.divides |= any(bool((np.abs(x) < least).any()) for x in argument)
        small = [np.abs(x) < least for x in floats]
        if fn in COMPARING:
            self.compares |= any(bool(x.any()) for x in small)
        elif fn == "mul":
            self.compares |= any(bool((x & (np.abs(y) > 1)).any()) for x, y in zip(small, floats[::-1], strict=True))

    def results(self, event: OpEvent) -> None:
        key = event.op.id, event.wave
        vanishing = event.op.map_function in EXPONENTIALS | PRODUCTS or event.op.declared.word == "convert"
        for x in _floats(event):
            self.beyond |= bool((np.isinf(x) & self._finite[key]).any())
            if vanishing:
                gone = bool(((np.abs(x) < _least_of(event.op.results[0].dtype)) & self._not_zero[key]).any())
                self.lost |= gone
                self.vanished |= gone and event.op.map_function is not None


def _floats(event: OpEvent) -> list[Floats]:
    return [r.data[event.active].astype(np.float64) for r in event.operands if r.data.dtype.kind not in "iub"]


def _nonzero(x: Floats) -> Where:
    return np.not_equal(x, 0)


def _near(x: Floats) -> Where:
    """Not a start of a maximum far below everything: of that the exponential is 0 by any measure."""
    return np.abs(x) < FAR


def _least_of(dtype: DType) -> float:
    """The smallest number of full precision."""
    return float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal) if dtype.kind == "float" else 0.0


def _everywhere(operands: list[Floats], by_element: bool, holds: Callable[[Floats], Where]) -> Where:
    """Where all operands are so: element by element, or all of them together."""
    if not operands:
        return np.zeros((), np.bool_)
    if not by_element:
        return np.array(all(holds(x).all() for x in operands))
    each = holds(operands[0])
    for x in operands[1:]:
        each = each & holds(x)
    return each

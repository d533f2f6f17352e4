"""A premise of every proof of values, at one launch: no number is beyond the largest of its type.

    overflows(kernel, launch)      a sum, a product or a conversion made an infinity of finite numbers, or a conversion
                                   the largest number of one beyond it

Asked only of a launch that disagrees. An infinity at a pole (1/0, log2(0)) is no overflow: a padded element that meets
one is a mistake of the kernel, and the proof should have seen it.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from argus.check.executed.inputs import arrays, scalars
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
    """Execute the launch once more and look at every result."""
    found: list[Op] = []
    finite: dict[tuple[int, int], bool] = {}

    def before(event: OpEvent) -> None:
        floats = [r.data[event.active].astype(np.float64) for r in event.operands if r.data.dtype.kind not in "iub"]
        whole = bool(floats) and all(np.isfinite(x).all() for x in floats)
        pole = event.op.map_function in POLES
        pole |= event.op.map_function in DIVISIONS and bool((floats[-1] == 0).any())
        finite[event.op.id, event.wave] = whole and not pole
        into = event.op.results[0].dtype
        if event.op.declared.word == "convert" and whole and into.kind == "float":
            largest = float(ml_dtypes.finfo(numpy_dtype(into)).max)
            found.extend(event.op for x in floats if (np.abs(x) > largest).any())

    def after(event: OpEvent) -> None:
        made = [r.data[event.active] for r in event.operands if r.data.dtype.kind not in "iub"]
        if finite[event.op.id, event.wave] and any(np.isinf(x.astype(np.float64)).any() for x in made):
            found.append(event.op)

    watched = [op.id for op in ops.walk(kernel.body) if op.declared.word in COMPUTING]
    watch: dict[int, Callable[[OpEvent], None]] = dict.fromkeys(watched, before)
    results: dict[int, Callable[[OpEvent], None]] = dict.fromkeys(watched, after)
    inputs = arrays(kernel, launch.sizes, launch.kind, launch.seed, launch.smaller)
    given = scalars(kernel, launch.kind, launch.seed)
    with np.errstate(all="ignore"):
        interp.run(kernel, inputs, launch.sizes, scalars=given, watch=watch, results=results)
    return bool(found)

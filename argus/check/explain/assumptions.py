"""What a proof of values takes for granted in this kernel, said in its report.

Values are compared as real numbers (`terms`), which holds where inputs are finite and nothing
overflows (`premises`). How far rounding takes results from that is in `argus.check.rounding`.
"""

from __future__ import annotations

from math import inf

from argus.check.terms.elementwise_terms import FLOOR
from argus.ir import ops
from argus.ir.float_formats import FORMATS
from argus.ir.kernel import Kernel


def premises(kernel: Kernel) -> tuple[str, ...]:
    """What every proof of values rests on: where it does not hold, nothing was shown."""
    types = {v.dtype.name for op in ops.walk(kernel.body) for v in op.results if v.dtype.kind == "float"}
    types |= {tensor.dtype.name for tensor in kernel.tensors if tensor.dtype.kind == "float"}
    if not types:
        return ()
    held = ", ".join(f"{name} {row.largest:g}" for name, row in FORMATS.items() if name in types)
    constants = [op.value for op in ops.walk(kernel.body) if isinstance(op, ops.Constant)]
    floors = [c for c in constants if -inf < c <= FLOOR]
    above = (f"a maximum that starts from {max(floors):g} is taken over nothing below it",) if floors else ()
    return "inputs are finite", f"no number is beyond the largest of its type ({held})", *above

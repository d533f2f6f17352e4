"""What a proof of values takes for granted in this kernel, said in its report.

Values are compared as real numbers (`terms`), which holds where inputs are finite, nothing overflows, and nothing that
matters vanishes (`premises`). How far rounding takes results from that is in `argus.check.rounding`.
"""

from __future__ import annotations

from math import inf

from argus.check.terms.elementwise_terms import FLOOR
from argus.ir import ops
from argus.ir.float_formats import FORMATS
from argus.ir.kernel import Kernel
from argus.ir.maps import JUMPS
from argus.spec.definedness import may_be_undefined

HANGS_ON_SMALL = {
    "div", "rcp", "log", "log2", "sqrt", "rsqrt", "pow", "eq", "ne", "lt", "le", "gt", "ge", "instruction",
    *JUMPS,
}  # fmt: skip
"""Functions whose result is another one if their argument has vanished; a sum loses nothing that can be seen."""
VANISHED = "divided by, compared, rounded to a whole number, scaled up again, or under a root or logarithm"

HAS_A_VALUE = (
    "the specification has a value over the real numbers: nothing in it is divided by 0 or outside of the domain of a "
    "root or logarithm, and a written inf is used as a mask only"
)


def premises(kernel: Kernel) -> tuple[str, ...]:
    """What every proof of values rests on: where it does not hold, nothing was shown."""
    types = {v.dtype.name for op in ops.walk(kernel.body) for v in op.results if v.dtype.kind == "float"}
    types |= {tensor.dtype.name for tensor in kernel.tensors if tensor.dtype.kind == "float"}
    if not types:
        return ()
    held = ", ".join(f"{name} {row.largest:g}" for name, row in FORMATS.items() if name in types)
    floors = [op.value for op in ops.walk(kernel.body) if isinstance(op, ops.Constant) and -inf < op.value <= FLOOR]
    above = (f"a maximum that starts from {max(floors):g} is taken over nothing below it",) if floors else ()
    small = ", ".join(f"{name} {2.0**row.least:g}" for name, row in FORMATS.items() if name in types)
    fns = [op.map_function or op.declared.word for op in ops.walk(kernel.body)]
    kept = any(fn in HANGS_ON_SMALL for fn in fns) or fns.count("mul") > 1
    below = (f"none that is too small for its type ({small}) is {VANISHED}",) if kept else ()
    specs = kernel.computes.results if kernel.computes is not None else ()
    poles = (HAS_A_VALUE,) if any(may_be_undefined(spec.expression) for spec in specs) else ()
    finite, largest = "inputs are finite and not subnormal", f"no number is beyond the largest of its type ({held})"
    return finite, largest, *poles, *below, *above

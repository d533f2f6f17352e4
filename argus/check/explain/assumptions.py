"""What a proof of values takes for granted in this kernel, said in its report.

Values are compared as real numbers (`terms`), which holds where inputs are finite and nothing
overflows (`premises`). Where that hides more than the last bits of a result, a note says so:

    a number is rounded to 8 bits and used again        fp8 keeps 4 of 24 bits, and nothing above 240
    the specification subtracts a maximum, the kernel   exponentials may overflow; as real numbers both are the same
    computes none
"""

from __future__ import annotations

from math import inf

from argus.check.terms.elementwise_terms import FLOOR
from argus.ir import ops
from argus.ir.float_formats import FORMATS
from argus.ir.kernel import Kernel
from argus.spec.tree import IndexReduction
from argus.spec.walk import walk

NARROW = 8


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


def assumptions(kernel: Kernel) -> tuple[str, ...]:
    """Notes for a kernel whose values were proved."""
    body = list(ops.walk(kernel.body))
    written = [(op, f) for op in body for f in op.footprints if f.writes and not f.reads]
    stored = {v for op, f in written if isinstance(f.memory, ops.Tensor) for v in op.operands}
    used = {v for op in body if not isinstance(op, ops.Store) for v in op.operands}
    lines = sorted(
        {
            op.span.line
            for op in body
            if isinstance(op, ops.Convert)
            and (op.value.dtype.kind, op.result.dtype.kind) == ("float", "float")
            and op.result.dtype.bits <= NARROW < op.value.dtype.bits
            and (op.result in used or op.result not in stored)
        }
    )
    notes = []
    if lines:
        where = ", ".join(str(n) for n in lines)
        notes.append(f"values are compared as real numbers: rounding to 8 bits in line {where} is not looked at")
    stated = () if kernel.computes is None else kernel.computes.results
    parts = [part for result in stated for part in walk(result.expression)]
    subtracts = any(isinstance(part, IndexReduction) and part.kind == "max" for part in parts)
    maps = [op for op in body if isinstance(op, ops.Map)]
    exponentials = any(op.fn in ("exp2", "exp") for op in maps)
    if subtracts and exponentials and not any(op.fn == "max" for op in maps):
        notes.append("the specification takes a maximum, the kernel none: overflow of exponentials is not looked at")
    return tuple(notes)

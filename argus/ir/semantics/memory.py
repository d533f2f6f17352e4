"""Bytes: how far a tensor reaches, what the hardware decides together, and where a direct copy lands.

extent_bytes(y)          2*N of a bf16 tensor of N elements
alignment(2*N + 4*b, {N: 2})     4: what divides an address or a size, with N known to be even
copied_to(op)            the LDS bytes of one lane of a direct copy: four, whatever it moves
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, lcm

from argus.ir.ops import Access, CopyToLds, Tensor
from argus.ir.ops.places import BUFFER_GRANULE, COPY_STRIDE
from argus.layout import expr as E
from argus.layout.expr import Expr

DWORD = BUFFER_GRANULE
"""Bytes that a buffer's range check decides together."""
COPY_BYTES = COPY_STRIDE
"""Bytes of LDS that each lane of a direct copy writes, and that neighboring lanes are apart."""
MAX_BYTES = 2**31
"""What a buffer holds at most, from its base on. Proofs speak of tensors that are smaller; launches of larger ones are
accepted where no lane is this far from the base of its workgroup, and all numbers fit (`compile/large_tensors`)."""
MOST_BYTES = 2**46
"""No tensor is as large: the base of a buffer has 48 bits."""
TOP = 1 << 20
_LANE = E.var("lane", 0, 63)


def extent_bytes(tensor: Tensor) -> Expr:
    """Bytes from the first to past the last element."""
    dense = all(tensor.strides[n] is tensor.strides[n + 1] * tensor.shape[n + 1] for n in range(len(tensor.shape) - 1))
    if dense and tensor.strides[-1] is E.const(1):
        return tensor.strides[0] * tensor.shape[0] * tensor.dtype.bytes
    last: Expr = E.const(0)
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        last = last + (extent - 1) * stride
    return (last + 1) * tensor.dtype.bytes


def may_be_large(tensor: Tensor) -> bool:
    """The ranges of the tensor's sizes do not keep it below MAX_BYTES."""
    most = extent_bytes(tensor).hi
    return most is None or most >= MAX_BYTES


def copied_to(op: CopyToLds) -> Access:
    """The LDS bytes that a lane of a direct copy writes. Those past its elements hold no element afterwards."""
    return Access(op.into, op.lds_base + COPY_BYTES * _LANE, COPY_BYTES // op.into.dtype.bytes)


def multiples(requires: Iterable[Expr]) -> dict[Expr, int]:
    """Numbers that are required to divide a size: from `N % 8 == 0`."""
    found: dict[Expr, int] = {}
    for condition in requires:
        for part in condition.args if condition.op == "land" else (condition,):
            if part.op != "eq" or part.args[1] is not E.const(0) or part.args[0].op != "mod":
                continue
            number, divisor = part.args[0].args
            if number.op == "var" and divisor.op == "const" and divisor.value > 0:
                found[number] = lcm(divisor.value, found.get(number, 1))
    return found


def alignment(e: Expr, known: Mapping[Expr, int] | None = None) -> int:
    """A power of two that divides e for every value of its variables (at most 2**20)."""
    given: Mapping[Expr, int] = known or {}
    if e.op == "const":
        return min(TOP, e.value & -e.value) if e.value else TOP
    if e.op == "var":
        return gcd(given.get(e, 1), TOP)
    if e.op == "mul":
        product = 1
        for arg in e.args:
            product *= alignment(arg, given)
        return min(TOP, product)
    if e.op in ("add", "xor", "or", "min", "max", "mod"):
        return min(alignment(arg, given) for arg in e.args)
    if e.op == "select":
        return min(alignment(arg, given) for arg in e.args[1:])
    if e.op == "and":
        return max(alignment(arg, given) for arg in e.args)
    if e.op == "shl" and e.args[1].op == "const":
        return min(TOP, alignment(e.args[0], given) << min(e.args[1].value, 20))
    return 1

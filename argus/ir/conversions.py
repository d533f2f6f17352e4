"""What a change of element type (`argus.ir.ops.Convert`) means, for any two types of numbers.

A result is the source's number, rounded once, or cut off. Three questions decide it, and each is asked by itself:

                    f16 to bf16     fp8 to bf8      bf8 to fp8      bf8 to f16
    within          yes             yes             no: 57344       yes
    exact           no: digits      no: digits      no: 57344       yes

* `within`: every finite number of the source lies between the largest numbers of the target, so `saturate` does nothing
* `exact`: each of them is a number of the target, so nothing is rounded either
* `roundable`: whether the compiler does this rounding. Towards zero it does to f32, f16, bf16 and integers

Both follow from the formats. Interpreter, compiler, checker and reader ask here.
"""

from __future__ import annotations

from argus.ir.float_formats import FORMATS
from argus.ir.types import DType

ROUNDINGS = ("rne", "rtz")
TOWARD_ZERO = frozenset({"f32", "f16", "bf16"})
"""Float types to which the compiler rounds toward zero."""


def largest(dtype: DType) -> float:
    """The largest number of a float type."""
    return FORMATS[dtype.name].largest


def ends(dtype: DType) -> tuple[float, float]:
    """The least and the largest finite number of a type; whole ones of integers are exact."""
    match dtype.kind:
        case "float":
            return -largest(dtype), largest(dtype)
        case "int":
            return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1
        case _:
            return 0, (1 << dtype.bits) - 1


def within(source: DType, target: DType) -> bool:
    """Every finite number of a type lies between the ends of another."""
    (least, most), (low, high) = ends(source), ends(target)
    return low <= least and most <= high


def exact(source: DType, target: DType) -> bool:
    """Every finite number of a type is one of another."""
    if not within(source, target) or (source.kind == "float" and target.kind != "float"):
        return False
    if target.kind != "float":
        return True
    digits = FORMATS[target.name].digits
    if source.kind != "float":
        return source.bits - (source.kind == "int") <= digits
    return FORMATS[source.name].digits <= digits and _smallest(source) >= _smallest(target)


def _smallest(dtype: DType) -> int:
    """2 to this is the smallest number of a float type."""
    row = FORMATS[dtype.name]
    return row.least - row.digits + 1


def cut_at(source: DType, target: DType) -> float | None:
    """Where a conversion with `saturate` to a float type cuts numbers off, on both sides of 0; None: nowhere."""
    return None if target.kind != "float" or within(source, target) else largest(target)


def roundable(source: DType, target: DType, rounding: str) -> bool:
    """Whether the compiler does this rounding between these types."""
    if rounding not in ROUNDINGS:
        return False
    return rounding == "rne" or target.kind != "float" or target.name in TOWARD_ZERO or exact(source, target)

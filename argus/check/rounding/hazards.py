"""Hazards of floating point, noticed on the walk: where a kernel that is right for real numbers may be far off, or not
finite. Each is a note with a line and a reason; none changes a verdict.

| kind | what is noticed |
|---|---|
| narrowing | a computed number is rounded to fewer digits and computed with again; xf32 matrix instructions on f32 |
| exponential | exponentials that no maximum was subtracted from are added up |
| cancellation | a difference of two rounded numbers that come from the same inputs |
| sum16 | a sum is kept in 16 bits |
| overflow | sums or products are stored in a type that ends early (f16, fp8, bf8) |
| saturation | numbers go to fp8 or bf8 that were not scaled by their largest |
| test | a comparison of rounded numbers decides |
| division | a divisor that may be near zero |
| singular | a logarithm or a reciprocal root of what may be near zero |
| long_sum | a loop adds single elements to one f32 number |
| integer | an integer becomes a float with fewer digits |
| subnormal | exponentials go to a type whose small numbers end early, and are computed with again |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from argus.check.rounding.narrowing import narrowed, reads_as_xf32
from argus.check.rounding.rounded_value import Abstract, RoundedValue
from argus.ir import ops
from argus.ir.conversions import exact, within
from argus.ir.float_formats import FORMATS
from argus.ir.kernel import Kernel
from argus.ir.maps import JUMPS
from argus.ir.ops import Op
from argus.ir.types import Value

if TYPE_CHECKING:
    from argus.check.rounding.rounding_walk import RoundingWalk

HazardKind = Literal[
    "narrowing", "exponential", "cancellation", "sum16", "overflow", "saturation", "test", "division", "singular",
    "long_sum", "integer", "subnormal",
]  # fmt: skip
EARLY = ("f16", "fp8", "bf8")
"""Types that end, above and below, long before f32."""
EIGHT = ("fp8", "bf8")


@dataclass(frozen=True, slots=True, order=True)
class RoundingHazard:
    line: int
    kind: HazardKind
    reason: str

    def text(self) -> str:
        return f"line {self.line}: {self.reason} ({self.kind})"


class Hazards:
    """What was noticed so far."""

    def __init__(self, kernel: Kernel) -> None:
        self.found: set[RoundingHazard] = set()
        self._narrowed = narrowed(kernel)
        self._outputs = _only_stored(kernel)
        self._summed_in_loops: set[Value] = set()

    def note(self, kind: HazardKind, op: Op, reason: str) -> None:
        self.found.add(RoundingHazard(op.span.line, kind, reason))

    def before(self, op: Op, fn: str, args: list[Abstract], same: bool) -> None:
        """An elementwise function of these operands."""
        match fn, args:
            case (("add" | "sub"), [RoundedValue() as x, RoundedValue() as y]) if not same:
                self._difference(op, x, y, fn == "sub")
                if x.exponential and y.exponential and x.inputs & y.inputs:
                    self._unbounded_sum(op)
            case (("rcp" | "div"), [*_, RoundedValue() as y]):
                if not _away(y):
                    self.note("division", op, "the divisor may be near zero")
            case (_, [*_, RoundedValue() as x]) if fn in JUMPS and not x.exact:
                self.note("test", op, f"{fn} of a rounded number: rounding may take it over a jump")
            case (("rsqrt" | "log" | "log2"), [RoundedValue() as x]) if not _away(x):
                self.note("singular", op, f"{fn} of what may be near zero")

    def _difference(self, op: Op, x: RoundedValue, y: RoundedValue, subtracts: bool) -> None:
        against = (x.nonnegative and y.nonnegative) if subtracts else x.nonnegative and y.sign < 0
        maxima = x.ups or x.downs or y.ups or y.downs
        if x.computed and y.computed and x.summed and y.summed and against and x.inputs & y.inputs and not maxima:
            self.note("cancellation", op, "the difference of two rounded sums of the same inputs may cancel")

    def _unbounded_sum(self, op: Op) -> None:
        self.note(
            "exponential", op, "exponentials are added up from which no maximum was subtracted: they may overflow"
        )

    def matrix(self, op: Op, a: Abstract, b: Abstract) -> None:
        """A matrix instruction on these operands."""
        if any(isinstance(x, RoundedValue) and x.exponential for x in (a, b)):
            self._unbounded_sum(op)
        if reads_as_xf32(op):
            row = FORMATS["xf32"]
            error = f"an operand is off by up to {2.0 ** (1 - row.digits):.2g} of itself"
            self.note("narrowing", op, f"f32 operands are read with {row.digits} digits (xf32): {error}")

    def after(self, op: Op, fn: str, result: Value, made: Abstract) -> None:
        """An elementwise function gave this."""
        narrow = result.dtype.kind == "float" and result.dtype.bits <= 16
        if narrow and isinstance(made, RoundedValue) and fn in ("add", "fma") and made.summed and made.computed:
            self.note("sum16", op, f"a sum is kept in {result.dtype}, {FORMATS[result.dtype.name].digits} digits")

    def converted(self, op: ops.Convert, x: Abstract) -> None:
        source, dtype = op.value.dtype, op.result.dtype
        if not isinstance(x, RoundedValue):
            return
        if dtype.kind != "float":
            if source.kind == "float" and not x.exact:
                self.note("test", op, f"a rounded number becomes {dtype}: rounding may take it over a jump")
            return
        row = FORMATS[dtype.name]
        if source.kind in ("int", "uint"):
            if x.inputs and source.bits > row.digits + (source.kind == "int"):
                self.note("integer", op, f"{source} has more digits than {dtype}: large numbers are rounded")
            return
        if source.kind != "float" or exact(source, dtype):
            return
        if x.computed and op.result in self._narrowed and row.digits < FORMATS[source.name].digits:
            self.note("narrowing", op, f"a computed number is rounded to {dtype} and computed with again")
        if within(source, dtype):
            pass
        elif dtype.name in EIGHT:
            if not x.normalised and not (x.size is not None and (x.size.number or row.largest + 1) <= row.largest):
                self.note("saturation", op, f"{dtype} ends at {row.largest:g}: nothing scales the numbers to that")
        elif dtype.name in EARLY and (x.summed or x.products > 1) and not x.normalised and not x.weights:
            known = None if x.size is None else x.size.number
            if known is None or known > row.largest:
                self.note("overflow", op, f"{dtype} ends at {row.largest:g}: sums and products of inputs may be beyond")
        if dtype.name in EARLY and x.weights and op.result not in self._outputs:
            self.note(
                "subnormal", op, f"weights below {2.0 ** (row.least - row.digits + 1):.1g} become zero in {dtype}"
            )

    def loop(self, op: ops.For, walk: RoundingWalk) -> None:
        """A loop has been walked: sums that it makes one element at a time."""
        for arg, back in zip(op.args, op.yields, strict=True):
            made, addends, operands = walk.added.get(back, (op, (), ()))
            if back.dtype.name != "f32" or arg not in addends:
                continue
            others = [walk.whole(a) for a in operands if a is not arg]
            if others and not any(isinstance(x, RoundedValue) and x.summed for x in others):
                self.note(
                    "long_sum", made, "every turn adds one element to one f32 number: the error grows with the length"
                )


def _away(y: RoundedValue) -> bool:
    """Known not to be near zero, or a constant, a size or an argument that the author chose."""
    return y.weights or y.least is not None or not y.tensors


def _only_stored(kernel: Kernel) -> set[Value]:
    """Values that go to outputs and nowhere else."""
    body = list(ops.walk(kernel.body))
    storing = {id(op) for op in body for f in op.footprints if f.writes and not f.reads and f.space == "global"}
    used = {v for op in body if id(op) not in storing for v in op.operands}
    return {v for op in body if id(op) in storing for v in op.operands} - used

"""What is known of a register element: a real function f of the inputs, and how far the computed number is from it.

The computed number is, component by component, e^t times (f + a), with

    |t| <= theta + last        last: the rounding of the whole value that came last
    |a| <= alpha               what is not relative: underflow, cancellation

so |computed - f| <= (e^theta - 1) * (F + alpha) + ..., where the envelope F >= |f| is one of

    own     F = |f|: the value is a product, or a sum of what is not negative: its error is relative
    form    F = sign * f(inputs with some of them replaced by their magnitudes)

The second is why a bound needs no coordinates. A kernel that only adds and multiplies its inputs computes, of
magnitudes, the sum of the magnitudes of everything it adds up. And that the kernel's f is the specification's is proved
for all inputs: so F is the specification, evaluated at |A| and |B|. For C[m, n] = sum(A[m, k] * B[n, k], k) it is
sum(|A| * |B|).

An entry of `form` says how an input stands in f:

    plus, minus   replaced by its magnitude, or by minus that (a - b)
    even          f does not depend on its sign (a sum of squares)
    raw           left as it is: f is not negative whatever it is (exp)

and its parity: whether f changes its sign with it ("odd"), does not ("even"), or neither ("").

Running maxima. `ups` and `downs` count the maxima that were added and subtracted, `degree` the powers of two of them
that the value is a multiple of: exp2(s - T) has degree -1, a sum of these too, and their quotient degree 0. See
`functions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isinf
from typing import Literal

from argus.check.rounding.magnitudes import NOTHING, Magnitude, constant

Status = Literal["plus", "minus", "even", "raw"]
Parity = Literal["odd", "even", ""]
SCALAR = "="
"""Before the name of a scalar argument among inputs."""
Form = tuple[tuple[str, Status, Parity], ...]


@dataclass(frozen=True, slots=True)
class RoundedValue:
    form: Form | None = ()
    sign: int = 1
    own: bool = True
    theta: Magnitude = NOTHING
    last: float = 0.0
    alpha: Magnitude = NOTHING
    size: Magnitude | None = NOTHING
    """|f| and F are at most this, where anything is known."""
    least: Magnitude | None = None
    """f is at least this, one term."""
    nonnegative: bool = False
    ups: int = 0
    downs: int = 0
    degree: int | None = 0
    number: float | None = None
    monomial: bool = True
    """No sum: of magnitudes it is its own magnitude."""
    weights: bool = False
    """A sum of exponentials of what a maximum was subtracted from; the proof says that the maximum is one of them."""
    summed: bool = False
    """More than one element was added up."""
    exponential: bool = False
    """A multiple of an exponential from which no maximum was subtracted."""
    normalised: bool = False
    """A multiple of a quotient by a maximum."""
    products: int = 0
    """How many inputs were multiplied, at most."""
    absent: bool = False
    """An infinity that stands for nothing: the start of a maximum, a masked element; or a finite start of a maximum."""
    inputs: frozenset[str] = frozenset()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        fields = (
            self.form, self.sign, self.own, self.theta, self.last, self.alpha, self.size, self.least, self.nonnegative,
            self.ups, self.downs, self.degree, self.number, self.monomial,
            self.weights, self.summed, self.absent, self.inputs,
        )  # fmt: skip
        object.__setattr__(self, "_hash", hash(fields))

    def __hash__(self) -> int:
        return self._hash

    @property
    def exact(self) -> bool:
        return not self.theta and not self.last and not self.alpha

    @property
    def tensors(self) -> bool:
        """It depends on more than constants, sizes and scalar arguments."""
        return any(not name.startswith(SCALAR) for name in self.inputs)

    @property
    def infinite(self) -> bool:
        """What is added to it or multiplied with it stays nothing."""
        return self.absent and self.number is not None and isinf(self.number)

    @property
    def zero(self) -> bool:
        return self.number == 0 and self.exact

    @property
    def computed(self) -> bool:
        """Some operation was rounded (a constant's own error does not count)."""
        return not self.exact and self.number is None

    @property
    def total(self) -> Magnitude:
        """All of the relative error."""
        return self.theta + constant(self.last) if self.last else self.theta


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A value nothing is known about: where that began, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class BitPattern:
    """Registers read as another type: only moved, until they are read as their own again."""

    dtype: str
    value: RoundedValue | Unbounded


Abstract = RoundedValue | Unbounded | BitPattern


class NoRuleError(Exception):
    """An operation whose error is not bounded; the message is the reason."""

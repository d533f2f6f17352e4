"""Magnitudes: sums of coefficient times powers of what only a launch knows, each at least zero and rounded upwards.

    K * |A| * |B|                 the largest element of A, of B, and a size
    2^-24 * turns                 turns of a loop, an index expression
    |eps|^(-1/2)                  exponents are kept doubled: -1
    least(|X| * 2.9, 160)         the smaller of a magnitude and a number

Coefficients are floats, rounded up after every operation, so a magnitude is never below what it stands for. The maximum
of two magnitudes is taken coefficient by coefficient, which bounds it from above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from math import inf, nextafter
from typing import Literal

from argus.layout.expr import Expr

AtomKind = Literal["tensor", "scalar", "size", "turns", "turn", "least"]
SHORT_NAME = 24
"""Numbers of turns that are printed; longer ones are called so."""
VANISHING = 1e-30
"""Terms with smaller coefficients are underflow, and printed as that."""
OUTWARD = 1 + 1e-12
"""Beyond what evaluating a magnitude in float64 rounds."""


@dataclass(frozen=True, slots=True)
class LaunchQuantity:
    """What a launch knows: the largest magnitude of a tensor, of a scalar, a size, how often a loop turns."""

    kind: AtomKind
    name: str
    expr: Expr | None = None
    capped: Magnitude | None = None
    limit: float = inf

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.name

    def text(self) -> str:
        if self.kind in ("tensor", "scalar"):
            return f"|{self.name}|"
        if self.kind == "turns":
            short = self.name if self.name.isidentifier() else f"({self.name})"
            return short if len(self.name) <= SHORT_NAME else "turns"
        return self.name


Powers = tuple[tuple[LaunchQuantity, int], ...]
"""Atoms with doubled exponents, in the order of their keys."""


def up(x: float) -> float:
    """The next float above, unless the number is zero."""
    return nextafter(x, inf) if x else 0.0


@dataclass(frozen=True, slots=True)
class Magnitude:
    terms: tuple[tuple[Powers, float], ...]
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Magnitude) -> Magnitude:
        if not self.terms:
            return other
        if not other.terms:
            return self
        made = dict(self.terms)
        for powers, c in other.terms:
            made[powers] = up(made[powers] + c) if powers in made else c
        return _of(made)

    def __mul__(self, other: Magnitude) -> Magnitude:
        made: dict[Powers, float] = {}
        for p, c in self.terms:
            for q, d in other.terms:
                both = _product(p, q)
                made[both] = up(made.get(both, 0.0) + up(c * d))
        return _of(made)

    def times(self, number: float) -> Magnitude:
        """Multiplied with a number, not below zero."""
        if not number:
            return NOTHING
        return self if number == 1 else Magnitude(tuple((p, up(c * number)) for p, c in self.terms))

    def largest(self, other: Magnitude) -> Magnitude:
        """Not below either."""
        if not self.terms or self == other:
            return other
        made = dict(self.terms)
        for powers, c in other.terms:
            made[powers] = max(c, made.get(powers, 0.0))
        return _of(made)

    def within(self, other: Magnitude) -> bool:
        """Each coefficient is at most the other's."""
        theirs = dict(other.terms)
        return all(c <= theirs.get(p, 0.0) * OUTWARD for p, c in self.terms)

    def grown_from(self, other: Magnitude) -> Magnitude:
        """What was added to the other to make this, where coefficients grew."""
        theirs = dict(other.terms)
        return _of({p: up(c - theirs.get(p, 0.0)) for p, c in self.terms if c > theirs.get(p, 0.0) * OUTWARD})

    def inverse(self, twice: int = 2) -> Magnitude:
        """One term to the power -twice/2."""
        ((powers, c),) = self.terms
        return Magnitude(((tuple((a, -n * twice // 2) for a, n in powers), up(up(c ** (-twice / 2)))),))

    def root(self) -> Magnitude | None:
        """The square root of one term, if its exponents are whole afterwards."""
        if len(self.terms) != 1 or any(n % 2 for _, n in self.terms[0][0]):
            return None
        ((powers, c),) = self.terms
        return Magnitude(((tuple((a, n // 2) for a, n in powers), up(c**0.5)),))

    @property
    def number(self) -> float | None:
        """The value, if it is the same for all launches."""
        if not self.terms:
            return 0.0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def replaced(self, old: LaunchQuantity, new: Magnitude) -> Magnitude:
        """With another magnitude for an atom that stands there to the first power."""
        if all(old != a for p, _ in self.terms for a, _ in p):
            return self
        total = NOTHING
        for powers, c in self.terms:
            part = constant(c)
            for atom, n in powers:
                if atom == old:
                    for _ in range(n // 2):
                        part = part * new
                else:
                    part = part * Magnitude((((((atom, n),), 1.0)),))
            total = total + part
        return total

    def atoms(self) -> set[LaunchQuantity]:
        found = {a for p, _ in self.terms for a, _ in p}
        for a in tuple(found):
            found |= a.capped.atoms() if a.capped is not None else set()
        return found

    def at(self, values: Mapping[tuple[str, str], float]) -> float:
        """The number at a launch; infinite where a launch has zero below a bar (`rsqrt(x + eps)` with eps = 0)."""
        total = 0.0
        for powers, c in self.terms:
            part = c
            for atom, n in powers:
                value = _value(atom, values)
                if value == 0.0 and n < 0:
                    return inf
                part *= value ** (n / 2)
            total += part
        return total * OUTWARD

    def text(self) -> str:
        """For people, three digits, rounded up."""
        shown = [_term_text(p, c) for p, c in self.terms if c >= VANISHING]
        return " + ".join([*shown, *["underflow"][: len(self.terms) - len(shown)]]) or "0"


def _value(atom: LaunchQuantity, values: Mapping[tuple[str, str], float]) -> float:
    if atom.kind == "least":
        assert atom.capped is not None
        return min(atom.capped.at(values), atom.limit)
    return values[atom.key]


def digits(c: float) -> str:
    """Upwards in three digits."""
    exact = Decimal(c)
    rounded = exact.quantize(Decimal((0, (1,), exact.adjusted() - 2)), ROUND_UP)
    return f"{float(rounded):.3g}"


def _term_text(powers: Powers, c: float) -> str:
    parts = [] if c == 1 and powers else [digits(c)]
    for atom, n in powers:
        parts.append(atom.text() + ("" if n == 2 else f"^{n // 2}" if n % 2 == 0 else f"^({n}/2)"))
    return " * ".join(parts)


def _product(p: Powers, q: Powers) -> Powers:
    if not p or not q:
        return p or q
    made = dict(p)
    for atom, n in q:
        made[atom] = made.get(atom, 0) + n
    return tuple(sorted(((a, n) for a, n in made.items() if n), key=lambda x: x[0].key))


def _of(made: Mapping[Powers, float]) -> Magnitude:
    return Magnitude(tuple(sorted(made.items(), key=lambda t: [(a.key, n) for a, n in t[0]])))


NOTHING = Magnitude(())


def constant(number: float) -> Magnitude:
    return Magnitude((((), abs(number)),)) if number else NOTHING


def atom(kind: AtomKind, name: str, expr: Expr | None = None) -> Magnitude:
    return Magnitude(((((LaunchQuantity(kind, name, expr), 2),), 1.0),))


def least(magnitude: Magnitude | None, number: float) -> Magnitude:
    """The smaller of a magnitude (None: any) and a number."""
    if magnitude is None:
        return constant(number)
    known = magnitude.number
    if known is not None:
        return constant(min(known, number))
    if any(a.kind == "turn" for a in magnitude.atoms()):
        return constant(number)
    shown = Magnitude(tuple(t for t in magnitude.terms if t[1] >= VANISHING))
    made = LaunchQuantity("least", f"min({shown.text()}, {number:g})", None, magnitude, number)
    return Magnitude(((((made, 2),), 1.0),))

"""What one elementwise function is: everything every pass needs, in one row.

    name, arity, kinds, out   how it is called: operands, element kinds, "same" (operand type), "bool" (a mask per
                              element) or "last" (the type of the last operand)
    meaning                   one line for the reference
    numpy                     what the interpreter computes; operands narrower than f32 arrive as f32
    real                      what it means for real numbers, written against any algebra (`Reals`): the checker's terms
    emission                  what LLVM is given, by element type or kind (forms: see `argus.compile.arithmetic`)
    program                   for a composite: the primitive functions it is made of, run by interpreter and compiler
    slots                     issue slots of 4 clocks that one element takes
    spec                      its name in `computes`, if it has one; its value and error slope there are in `argus.spec`
    domain                    where it is defined, if not everywhere
    keeps_zero                0 goes to 0
    reduces                   of elements at different coordinates it is this reduction
    ulps, inputs              largest error in units in the last place of f32 (0: exact, 1/2: rounded correctly), and
                              over how many inputs it was measured (0: it follows from the definition, or the
                              hardware's manual)
    exposed                   kernels call it as `ag.name`

A row without `real` is a function of its own to the checker: it equals only itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from argus.ir.maps.program import MapProgram

T = TypeVar("T")
NUMBERS = frozenset({"float", "int", "uint"})
FLOATS = frozenset({"float"})
INTEGERS = frozenset({"int", "uint"})
EVERYTHING = frozenset({"float", "int", "uint", "bool"})


class Reals(Protocol[T]):
    """Arithmetic of real numbers, on whatever stands for them."""

    def constant(self, value: float) -> T: ...
    def add(self, x: T, y: T) -> T: ...
    def negative(self, x: T) -> T: ...
    def multiply(self, x: T, y: T) -> T: ...
    def power(self, x: T, twice: int) -> T:
        """x to the power twice/2."""
        ...

    def exp2(self, x: T) -> T: ...
    def log2(self, x: T) -> T: ...
    def extreme(self, fn: Literal["max", "min"], args: tuple[T, ...]) -> T: ...
    def apply(self, fn: str, args: tuple[T, ...]) -> T:
        """A function nothing more is known about."""
        ...


Real = Callable[..., Any]
"""real(reals, x, ...): the result, of the type the algebra works on."""


@dataclass(frozen=True, slots=True)
class MapFn:
    name: str
    arity: int
    kinds: frozenset[str]
    out: Literal["same", "bool", "last"]
    meaning: str
    numpy: Callable[..., Any]
    emission: Mapping[str, str] = field(default_factory=dict)
    real: Real | None = None
    program: MapProgram | None = None
    slots: int = 1
    spec: str = ""
    domain: str = ""
    keeps_zero: bool = False
    reduces: Literal["sum", "max", "min"] | None = None
    ulps: float = 0.5
    inputs: int = 0
    exposed: bool = False

    def has(self, kind: str, name: str) -> bool:
        """It is compiled for elements of this type; programs and some instructions of the chip have no f64."""
        if name == "f64" and kind in self.kinds:
            return self.program is None and bool(self.emission.get(name, self.emission.get(kind, "")))
        return kind in self.kinds

    def means(self, reals: Reals[T], *args: T) -> T:
        """Its real meaning; without one of its own it is a function nothing more is known about."""
        made: T = self.real(reals, *args) if self.real is not None else reals.apply(self.name, args)
        return made

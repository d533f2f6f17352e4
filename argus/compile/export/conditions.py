"""Conditions of a launch as source text, once, for every launcher: sizes in, refusals out.

Index expressions become text through `argus.layout.emit`; the C++ form differs from Python's only in its operators
and in floor division, which C++ does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.ir.kernel import Kernel
from argus.ir.semantics import MAX_BYTES, base_limits, extent_bytes, grid_limits, reach
from argus.layout.emit import PythonSource, emit
from argus.layout.expr import Expr, var

ALIGNMENT = 16


class CppSource(PythonSource):
    """C++ text over 64-bit integers; `floor_div` and `floor_mod` are functions of the generated header."""

    def truth(self, value: bool) -> str:
        return "true" if value else "false"

    def apply(self, e: Expr, args: Sequence[str]) -> str:
        return f"{e.name}({', '.join(args)})"

    def udiv(self, a: str, b: str) -> str:
        return f"({a} / {b})"

    def floordiv(self, a: str, b: str) -> str:
        return f"floor_div({a}, {b})"

    def floormod(self, a: str, b: str) -> str:
        return f"floor_mod({a}, {b})"

    def lnot(self, a: str) -> str:
        return f"(!{a})"

    def land(self, a: str, b: str) -> str:
        return f"({a} && {b})"

    def lor(self, a: str, b: str) -> str:
        return f"({a} || {b})"

    def select(self, c: str, a: str, b: str) -> str:
        return f"({c} ? {a} : {b})"

    def minimum(self, a: str, b: str) -> str:
        return f"std::min<std::int64_t>({a}, {b})"

    def maximum(self, a: str, b: str) -> str:
        return f"std::max<std::int64_t>({a}, {b})"

    def as_number(self, truth: str) -> str:
        return f"({truth} ? 1 : 0)"


def python(e: Expr) -> str:
    return emit(e, PythonSource())


def cpp(e: Expr) -> str:
    return emit(e, CppSource())


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the sizes, as an expression, and the sentence of its refusal."""

    holds: Expr
    sentence: str


def conditions(kernel: Kernel) -> list[Condition]:
    """Everything that depends on the sizes alone."""
    found: list[Condition] = []
    for symbol in kernel.shapes:
        if symbol.lo is not None:
            found.append(Condition(_raw(symbol).ge(symbol.lo), f"{symbol.name} must be at least {symbol.lo}"))
        if symbol.hi is not None:
            found.append(Condition(_raw(symbol).le(symbol.hi), f"{symbol.name} must be at most {symbol.hi}"))
    found += [Condition(_raw(c), f"the kernel requires {c}") for c in kernel.requires]
    for t in kernel.tensors:
        size = _raw(extent_bytes(t))
        found.append(Condition(size.lt(MAX_BYTES), f"{t.name} must be smaller than 2**31 bytes"))
    found += [Condition(_raw(c), f"offsets must stay in reach: {c}") for c in reach(kernel)]
    found += [Condition(_raw(c), f"addresses must stay in reach: {c}") for c in base_limits(kernel)]
    found += [Condition(_raw(c), f"a launch has fewer workgroups: {c}") for c in grid_limits(kernel)]
    return found


def _raw(e: Expr) -> Expr:
    """The expression over unbounded variables, so that no condition is folded away by the bounds it is to check."""
    return e.subst({v: var(v.name) for v in e.free()})

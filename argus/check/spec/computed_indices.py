"""Computed indices of a specification: what they say about the axes they stand at.

    C[m, n] = sum(A[m, k] * SA[m, k // 128] * B[n, k], k)            axis KB of SA is derived from K by k // 128
    H[r, n] = sum(X[token[r], k] * W[n, k], k)                       X is looked up in token: its row belongs to r
    C[m, n] = sum(A[m, k] * B[n // 32, k // 16, n % 32, k % 16], k)  B is stored in tiles of 32 x 16
    H[r, n] = sum(X[r, k] * W[0, n, k], k) * ...                     W is used at a fixed place of its first axis

`Hints` are read off the line by syntax. `computed_places` uses them to bring terms of the kernel into the form of the
specification, and proves wherever it does so that it may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from argus.check.terms.atoms import own
from argus.ir.ops import Tensor
from argus.layout import expr as E
from argus.layout.expr import Expr
from argus.spec.tree import Arithmetic, IndexName, NumberLiteral, SpecNode
from argus.spec.walk import open_indices

Axes = Mapping[Tensor, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class SpecIndex:
    """An index of a subscript: an index of the output, or the variable of the `binder`-th reduction (0: none)."""

    name: str
    binder: int = 0


@dataclass(frozen=True, slots=True)
class Tiling:
    """Two axes of a tensor are quotient and remainder of one coordinate: its axis, the divisor, both positions."""

    axis: int
    divisor: int
    quotient: int
    remainder: int


@dataclass(frozen=True, slots=True)
class Formula:
    """A computed index of a tensor, and which of its names are bound by which reduction."""

    tensor: Tensor
    position: int
    node: SpecNode
    bound: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Hints:
    """`derived`: axis -> its coordinate from others'. `views`: (tensor, position) -> where it is looked up. `tilings`
    by tensor. `fixed`: (tensor, position) -> the numbers that stand there. `shifted`: axes with neighbors of an index
    of the result (`x[i] + x[i + 1]`), brought together by `shifted_places`."""

    derived: Mapping[int, Expr] = field(default_factory=dict)
    views: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    tilings: Mapping[str, tuple[Tiling, ...]] = field(default_factory=dict)
    fixed: Mapping[tuple[str, int], frozenset[int]] = field(default_factory=dict)
    shifted: frozenset[int] = frozenset()


def index_expression(node: SpecNode, homes: Mapping[str, int]) -> Expr | None:
    """A formula of indices as an expression of own coordinates, given the axis each index stands at; else None."""
    match node:
        case NumberLiteral(int() as value):
            return E.const(value)
        case IndexName(name) if name in homes:
            return own(homes[name])
        case Arithmetic(op, left, right):
            x, y = index_expression(left, homes), index_expression(right, homes)
            if x is None or y is None:
                return None
            match op:
                case "+":
                    return x + y
                case "-":
                    return x - y
                case "*":
                    return x * y
                case "//" if y.op == "const" and y.value > 0:
                    return x // y.value
                case "%" if y.op == "const" and y.value > 0:
                    return x % y.value
    return None


def neighbor(node: SpecNode) -> tuple[str, int] | None:
    """The index and the distance of `i + 1`, `i - 2`, `3 + i`; None for anything else."""
    match node:
        case Arithmetic("+", IndexName(name), NumberLiteral(int() as c)):
            return name, c
        case Arithmetic("+", NumberLiteral(int() as c), IndexName(name)):
            return name, c
        case Arithmetic("-", IndexName(name), NumberLiteral(int() as c)):
            return name, -c
    return None


def hints_of(
    axes: Axes,
    homes: Mapping[SpecIndex, int],
    plain: frozenset[int],
    formulas: Sequence[Formula],
    lookups: Sequence[tuple[Tensor, int, Tensor]],
) -> tuple[Hints, frozenset[int]]:
    """The hints, and axes whose indices are computed in a way nothing is known about. `homes` is the axis of every
    index, `plain` the axes at which plain indices stand."""
    derived: dict[int, Expr | None] = {}
    fixed: dict[tuple[str, int], frozenset[int]] = {}
    shared = {axes[t][p] for t, p, _ in lookups} | plain
    numbers = {axes[f.tensor][f.position] for f in formulas if _number(f.node) is not None}
    variable = {axes[f.tensor][f.position] for f in formulas if _number(f.node) is None}
    dark = {axes[t][p] for t, p, _ in lookups} & plain
    for f in formulas:
        axis, key = axes[f.tensor][f.position], (f.tensor.name, f.position)
        number = _number(f.node)
        if axis in shared or (axis in numbers and axis in variable):
            dark.add(axis)
        elif number is not None:
            fixed[key] = fixed.get(key, frozenset()) | {number}
        else:
            made = index_expression(f.node, _scope(f, homes))
            derived[axis] = made if derived.get(axis, made) is made else None
    dark |= {axis for axis, made in derived.items() if made is None}
    views: dict[tuple[str, int], frozenset[str]] = {}
    for tensor, position, through in lookups:
        views[tensor.name, position] = views.get((tensor.name, position), frozenset()) | {through.name}
    known = {axis: made for axis, made in derived.items() if made is not None and axis not in dark}
    return Hints(known, views, _tilings(axes, homes, formulas), fixed), frozenset(dark)


def _number(node: SpecNode) -> int | None:
    return node.value if isinstance(node, NumberLiteral) and isinstance(node.value, int) else None


def _scope(f: Formula, homes: Mapping[SpecIndex, int]) -> dict[str, int]:
    return {name: homes[i] for name in open_indices(f.node) if (i := SpecIndex(name, f.bound.get(name, 0))) in homes}


def _tilings(axes: Axes, homes: Mapping[SpecIndex, int], formulas: Sequence[Formula]) -> dict[str, tuple[Tiling, ...]]:
    """Tensors used with x // c at one axis and x % c at another, everywhere."""
    parts: dict[str, dict[int, set[tuple[str, int, int] | None]]] = {}
    for f in formulas:
        parts.setdefault(f.tensor.name, {}).setdefault(f.position, set()).add(_divided(f, homes))
    found: dict[str, tuple[Tiling, ...]] = {}
    for name, positions in parts.items():
        single = {p: next(iter(kinds)) for p, kinds in positions.items() if len(kinds) == 1}
        for p, high in single.items():
            for q, low in single.items():
                if high and low and high[0] == "quotient" and low[0] == "remainder" and high[1:] == low[1:]:
                    found[name] = (*found.get(name, ()), Tiling(high[1], high[2], p, q))
    return found


def _divided(f: Formula, homes: Mapping[SpecIndex, int]) -> tuple[str, int, int] | None:
    """(quotient or remainder, axis, divisor) of `x // c` or `x % c` with an index x."""
    match f.node:
        case Arithmetic(op, IndexName(name), NumberLiteral(int() as c)) if c > 0:
            home = homes.get(SpecIndex(name, f.bound.get(name, 0)))
            kind = "quotient" if op == "//" else "remainder" if op == "%" else None
            return None if home is None or kind is None else (kind, home, c)
    return None

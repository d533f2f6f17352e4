"""Computed indices of a specification: what they say about the axes they stand at.

    C[m, n] = sum(A[m, k] * SA[m, k // 128] * B[n, k], k)            axis KB of SA is derived from K by k // 128
    H[r, n] = sum(X[token[r], k] * W[n, k], k)                       X is looked up in token: its row belongs to r
    C[m, n] = sum(A[m, k] * B[n // 32, k // 16, n % 32, k % 16], k)  B is stored in tiles of 32 x 16
    H[r, n] = sum(X[r, k] * W[0, n, k], k) * ...                     W is used at a fixed place of its first axis
    Y[n, q] = X[n, 2 * q - 1] * W[0] + X[n, 2 * q] * W[1]            X is used at every second place, near 2 * q

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
from argus.spec.tree import Arithmetic, IndexName, Negation, NumberLiteral, SpecNode
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
class MultipleOf:
    """The coordinate of a tensor on one of its axes is `step` times that of an axis of the result, and a number."""

    axis: int
    step: int


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
    by tensor. `fixed`: (tensor, position) -> the numbers that stand there. `strided`: (tensor, position) -> the axis
    that its coordinate is a multiple of, but for a number. `shifted`: axes with neighbors of an index of the result
    (`x[i] + x[i + 1]`), brought together by `shifted_places`. `windows`: all axes along which a result may depend on
    several elements, which is no reason to doubt it. `products`: axes that a product is taken over. `places`: axes
    along which the specification asks for the place of an extreme."""

    derived: Mapping[int, Expr] = field(default_factory=dict)
    views: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    tilings: Mapping[str, tuple[Tiling, ...]] = field(default_factory=dict)
    fixed: Mapping[tuple[str, int], frozenset[int]] = field(default_factory=dict)
    strided: Mapping[tuple[str, int], MultipleOf] = field(default_factory=dict)
    shifted: frozenset[int] = frozenset()
    windows: frozenset[int] = frozenset()
    products: frozenset[int] = frozenset()
    places: frozenset[int] = frozenset()


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


def linear_form(node: SpecNode) -> tuple[dict[str, int], int] | None:
    """The factors of the indices in a formula, those of 0 left out, and its number; None if it is not linear."""
    match node:
        case NumberLiteral(int() as value):
            return {}, value
        case IndexName(name):
            return {name: 1}, 0
        case Negation(operand):
            return _scaled(linear_form(operand), -1)
        case Arithmetic("+" | "-" as op, left, right):
            x, y = linear_form(left), _scaled(linear_form(right), 1 if op == "+" else -1)
            if x is None or y is None:
                return None
            factors = {name: x[0].get(name, 0) + y[0].get(name, 0) for name in {**x[0], **y[0]}}
            return {name: factor for name, factor in factors.items() if factor}, x[1] + y[1]
        case Arithmetic("*", left, right):
            x, y = linear_form(left), linear_form(right)
            if x is None or y is None or (x[0] and y[0]):
                return None
            return _scaled(y, x[1]) if not x[0] else _scaled(x, y[1])
    return None


def _scaled(form: tuple[dict[str, int], int] | None, by: int) -> tuple[dict[str, int], int] | None:
    if form is None:
        return None
    return {name: by * factor for name, factor in form[0].items() if by}, by * form[1]


def affine(node: SpecNode) -> tuple[str, int, int] | None:
    """(index, step, number) of `step * index + number` with a positive step, `2 * i - 1`; None for anything else."""
    form = linear_form(node)
    if form is None or len(form[0]) != 1:
        return None
    ((name, step),) = form[0].items()
    return (name, step, form[1]) if step > 0 else None


def neighbor(node: SpecNode) -> tuple[str, int] | None:
    """The index and the distance of `i + 1`, `i - 2`, `3 + i`; None for anything else."""
    found = affine(node)
    return (found[0], found[2]) if found is not None and found[1] == 1 else None


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
    form = linear_form(node)
    return form[1] if form is not None and not form[0] else None


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

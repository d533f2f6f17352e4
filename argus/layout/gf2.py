"""The GF(2) interpreter: expressions that are linear over bits, as lists of columns.

A vector space over {0, 1}: numbers are bit vectors, addition is exclusive or.  A map that is linear in this sense
is known from its values at the powers of two, its *columns*:

    row in 0..7, chunk in 0..7          address = row*128 + (chunk ^ row)*16
    basis(address, [row, chunk])  ->    [144, 288, 576, 16, 32, 64]
                                         row bits 0,1,2 | chunk bits 0,1,2

Rank, inverse, kernel and "which lanes meet in a bank" are then a few integer operations instead of an enumeration.

`affine` also gives the constant part.  Linearity is decided structurally where possible and otherwise by complete
enumeration up to 2**16 points; above that an expression whose structure does not show it is reported as not linear
(None). Variables must be bounded by 0..2**n - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from argus.layout.evaluate import evaluate
from argus.layout.node import Expr, postorder

MAX_ENUMERATED_BITS = 16


@dataclass(frozen=True)
class Affine:
    """x -> constant ^ columns[i] for every set bit i of x; x packs the variables' bits, first variable lowest."""

    constant: int
    columns: tuple[int, ...]

    @property
    def support(self) -> int:
        """Every bit that can be set."""
        bits = self.constant
        for column in self.columns:
            bits |= column
        return bits


def basis(e: Expr, variables: Sequence[Expr]) -> list[int] | None:
    """Column images of the bits of `variables`, or None when `e` is not linear (up to a constant) over them."""
    found = affine(e, variables)
    return None if found is None else list(found.columns)


def affine(e: Expr, variables: Sequence[Expr]) -> Affine | None:
    """Constant and columns of `e` over the bits of `variables`, or None."""
    widths = [bit_width(v) for v in variables]
    if any(w is None for w in widths) or not e.free() <= frozenset(variables):
        return None
    sizes = [w for w in widths if w is not None]
    found = _structural(e, variables, sizes)
    if found is None and sum(sizes) <= MAX_ENUMERATED_BITS:
        found = _enumerated(e, variables, sizes)
    return found


def bit_width(variable: Expr) -> int | None:
    """n when the variable ranges over 0..2**n - 1, else None."""
    if variable.lo != 0 or variable.hi is None or (variable.hi + 1) & variable.hi:
        return None
    return variable.hi.bit_length()


def _structural(e: Expr, variables: Sequence[Expr], sizes: Sequence[int]) -> Affine | None:
    total = sum(sizes)
    done: dict[Expr, Affine | None] = {}
    offset = 0
    for variable, size in zip(variables, sizes, strict=True):
        columns = [0] * total
        columns[offset : offset + size] = [1 << i for i in range(size)]
        done[variable] = Affine(0, tuple(columns))
        offset += size
    for node in postorder(e, stop=done):
        done[node] = _interpret(node, [done[arg] for arg in node.args], total)
    return done[e]


def _interpret(node: Expr, args: Sequence[Affine | None], total: int) -> Affine | None:
    if node.op == "const":
        return Affine(node.value, (0,) * total) if node.value >= 0 else None
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args) or not known:
        return None
    match node.op:
        case "xor":
            result = known[0]
            for arg in known[1:]:
                result = _xor(result, arg)
            return result
        case "add" | "or":
            # Without a common bit there is no carry: a + b == a | b == a ^ b.
            result = known[0]
            for arg in known[1:]:
                if result.support & arg.support:
                    return None
                result = _xor(result, arg)
            return result
        case "mul" if len(known) == 2 and node.args[1].op == "const":
            return _times(known[0], node.args[1].value)
        case "floordiv" if _is_power(node.args[1]):
            shift = node.args[1].value.bit_length() - 1
            return Affine(known[0].constant >> shift, tuple(c >> shift for c in known[0].columns))
        case "mod" if _is_power(node.args[1]):
            return _masked(known[0], node.args[1].value - 1)
        case "and" if node.args[-1].op == "const" and len(known) == 2:
            return _masked(known[0], node.args[-1].value)
    return None


def _is_power(e: Expr) -> bool:
    return e.op == "const" and e.value > 0 and e.value & (e.value - 1) == 0


def _xor(a: Affine, b: Affine) -> Affine:
    return Affine(a.constant ^ b.constant, tuple(x ^ y for x, y in zip(a.columns, b.columns, strict=True)))


def _masked(a: Affine, mask: int) -> Affine:
    return Affine(a.constant & mask, tuple(c & mask for c in a.columns))


def _times(a: Affine, k: int) -> Affine | None:
    """k*a as a sum of shifted copies, which must not overlap."""
    if k < 0:
        return None
    result = Affine(0, (0,) * len(a.columns))
    while k:
        shift = (k & -k).bit_length() - 1
        copy = Affine(a.constant << shift, tuple(c << shift for c in a.columns))
        if result.support & copy.support:
            return None
        result = _xor(result, copy)
        k &= k - 1
    return result


def _enumerated(e: Expr, variables: Sequence[Expr], sizes: Sequence[int]) -> Affine | None:
    total = sum(sizes)
    if any(node.op == "apply" for node in postorder(e)):
        return None
    points = np.arange(1 << total, dtype=np.int64)
    env: dict[str, NDArray[np.int64]] = {}
    offset = 0
    for variable, size in zip(variables, sizes, strict=True):
        env[variable.name] = (points >> offset) & ((1 << size) - 1)
        offset += size
    values = np.broadcast_to(np.asarray(evaluate(e, env)), points.shape)
    if values.min() < 0:
        return None
    constant = int(values[0])
    columns = tuple(int(values[1 << i]) ^ constant for i in range(total))
    predicted = np.full(points.shape, constant, dtype=np.int64)
    for i, column in enumerate(columns):
        predicted ^= np.where((points >> i) & 1, column, 0)
    return Affine(constant, columns) if bool((predicted == values).all()) else None


def apply(columns: Sequence[int], x: int) -> int:
    """The image of the bit vector x."""
    image = 0
    for i, column in enumerate(columns):
        if x >> i & 1:
            image ^= column
    return image


def compose(outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    """Columns of x -> outer(inner(x))."""
    return [apply(outer, column) for column in inner]


def _eliminate(columns: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Leading bit -> (reduced vector, which columns were combined)."""
    pivots: dict[int, tuple[int, int]] = {}
    for i, column in enumerate(columns):
        combination = 1 << i
        while column:
            lead = column.bit_length() - 1
            if lead not in pivots:
                pivots[lead] = (column, combination)
                break
            column ^= pivots[lead][0]
            combination ^= pivots[lead][1]
    return pivots


def rank(columns: Sequence[int]) -> int:
    """Dimension of the span: the map takes 2**rank distinct values."""
    return len(_eliminate(columns))


def inverse(columns: Sequence[int]) -> list[int] | None:
    """Columns of the inverse map on len(columns) bits, or None when the map is not a bijection of them."""
    size = len(columns)
    pivots = _eliminate(columns)
    if sorted(pivots) != list(range(size)):
        return None
    result = []
    for bit in range(size):
        vector, combination = 1 << bit, 0
        while vector:
            reduced, used = pivots[vector.bit_length() - 1]
            vector ^= reduced
            combination ^= used
        result.append(combination)
    return result

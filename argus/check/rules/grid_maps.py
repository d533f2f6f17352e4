"""Grid maps: which block computes which tile, when block numbers are remapped before they are used.

    n = x%8 * (T//8) + min(x%8, T%8) + x//8         neighbours on one chiplet: a permutation of 0..T-1
    row, column = n // W, n % W                     digits of n, T = H*W
    g = n // (8*W); h = min(8, H - 8*g)             groups of eight rows, the last one smaller
    row, column = 8*g + (n - 8*g*W) % h, (n - 8*g*W) // h

`plain` rewrites such tile coordinates, step by step, into variables that are tile coordinates themselves. Each step
replaces a variable by others that number the same set, so the map is a bijection before the step if it is one after:

    chiplets   x of T values, seen only in the sum above: one variable n of T values
    mirror     T-1-x: one variable of T values
    digits     y of a*b values, as y//b and y%b: two variables, of a and b values
    groups     y of H*W values, as in the last two lines above: row of H values, column of W values
    joined     q of a and r of b values, seen only as q*b + r: one variable of a*b values

Sizes are symbolic: that chiplets or groups do not divide the grid is part of the rules, not a case. A grid of known
size is enumerated. What no step applies to is left to the caller (None); nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, permutations
from math import prod

import numpy as np

from argus.check.solve.block_numbers import cofactor, heights, parts
from argus.check.solve.prover import Prover
from argus.layout import expr as E
from argus.layout.expr import Expr, ExprError

Extents = dict[Expr, Expr]
Tuple = tuple[Expr, ...]
Step = tuple[Extents, Tuple]

MAX_STEPS = 24
MAX_BLOCKS = 1 << 20
"""Grids of known size up to this many blocks are enumerated."""


def plain(prover: Prover, extents: Mapping[Expr, Expr], tiles: Tuple) -> Step | None:
    """Variables with their numbers of values, and the tile coordinates as plain variables among them."""
    movers = dict(extents)
    if any(n.free() & movers.keys() for n in movers.values()):
        return None  # how often a loop runs depends on the block
    names = count()
    try:
        for _ in range(MAX_STEPS):
            if all(t.op in ("var", "const") for t in tiles):
                return movers, tiles
            step = next(_steps(prover, movers, tiles, names), None)
            if step is None:
                return _enumerated(movers, tiles)
            movers, tiles = step
    except ExprError:
        return None
    return None


def _steps(prover: Prover, movers: Extents, tiles: Tuple, names: Iterator[int]) -> Iterator[Step]:
    for rule in (_chiplets, _mirror, _digits, _groups, _joined):
        yield from rule(prover, movers, tiles, names)


def _fresh(names: Iterator[int], extent: Expr) -> Expr:
    high = None if extent.hi is None or extent.hi < 1 else extent.hi - 1
    return E.var(f"tile_{next(names)}", 0, high)


def _nodes(tiles: Tuple) -> list[Expr]:
    return list(dict.fromkeys(node for tile in tiles for node in E.postorder(tile)))


def _free(tiles: Tuple) -> frozenset[Expr]:
    return frozenset().union(*(tile.free() for tile in tiles))


def _put(tiles: Tuple, mapping: Mapping[Expr, Expr]) -> Tuple:
    return tuple(tile.subst(mapping) for tile in tiles)


def _exchanged(movers: Extents, gone: tuple[Expr, ...], come: Extents) -> Extents:
    return {v: n for v, n in movers.items() if v not in gone} | come


def _chiplets(prover: Prover, movers: Extents, tiles: Tuple, names: Iterator[int]) -> Iterator[Step]:
    """Chiplet c has T//8 blocks, one more if c < T%8; they start after those of the chiplets before it, and the block
    with number x is the (x//8)-th of chiplet x%8. Where T%8 is zero the minimum may be missing."""
    for node in _nodes(tiles):
        if node.op != "mod" or node.args[0] not in movers or node.args[1].op != "const" or node.args[1].value < 2:
            continue
        x, c = node.args
        total = movers[x]
        number = _fresh(names, total)
        before = [node * (total // c) + E.minimum(node, total % c)]
        if prover.holds((), (total % c).eq(0)) is True:
            before.append(node * (total // c))
        for start in before if (x // c).op == "floordiv" else ():
            changed = _put(tiles, {x // c: number - start})
            if x not in _free(changed):
                yield _exchanged(movers, (x,), {number: total}), changed


def _mirror(prover: Prover, movers: Extents, tiles: Tuple, names: Iterator[int]) -> Iterator[Step]:
    for tile in tiles:
        for x, factor in E.linear(tile)[0].items():
            if x in movers and factor == -1:
                other = _fresh(names, movers[x])
                yield _exchanged(movers, (x,), {other: movers[x]}), _put(tiles, {x: movers[x] - 1 - other})


def _digits(prover: Prover, movers: Extents, tiles: Tuple, names: Iterator[int]) -> Iterator[Step]:
    found = [
        node
        for node in _nodes(tiles)
        if node.op in ("floordiv", "mod") and node.args[0] in movers and not node.args[1].free() & movers.keys()
    ]
    for node in sorted(found, key=lambda node: node.args[1].value if node.args[1].op == "const" else 0):
        y, b = node.args
        a = cofactor(movers[y], b)
        if a is None or not _natural(prover, a, b):
            continue
        high, low = _fresh(names, a), _fresh(names, b)
        changed = _put(tiles, parts(y, b, high, low) | {y: high * b + low})
        yield _exchanged(movers, (y,), {high: a, low: b}), changed


def _groups(prover: Prover, movers: Extents, tiles: Tuple, names: Iterator[int]) -> Iterator[Step]:
    """Group g has h = min(R, H - g*R) rows of W tiles, so what is left of n inside it numbers h*W of them; r // h and
    r % h are a column and a row of the group, and g*R plus the latter every row of 0..H-1 once."""
    for node in _nodes(tiles):
        if node.op != "floordiv" or node.args[0] not in movers or node.args[1].free() & movers.keys():
            continue
        y, size = node.args
        group, rest, inner, column = (E.var(f"tile_{next(names)}", 0) for _ in range(4))
        grouped = _put(tiles, parts(y, size, group, rest) | {y: group * size + rest})
        for rows in heights(_nodes(grouped)):
            width = cofactor(size, E.const(rows))
            height = None if width is None else cofactor(movers[y], width)
            if width is None or height is None or not _natural(prover, height, width):
                continue
            here = E.minimum(E.const(rows), height - group * rows)
            row = _fresh(names, height)
            disjoint = _put(grouped, parts(rest, here, column, inner))
            changed = _put(disjoint, {inner: row - group * rows})
            if not _free(changed) & {group, rest, inner}:
                yield _exchanged(movers, (y,), {row: height, column: width}), changed


def _joined(prover: Prover, movers: Extents, tiles: Tuple, names: Iterator[int]) -> Iterator[Step]:
    used = _free(tiles)
    for high, low in permutations([v for v in movers if v in used], 2):
        total = movers[high] * movers[low]
        number = _fresh(names, total)
        changed = _put(tiles, {low: number - high * movers[low]})
        if not _free(changed) & {high, low}:
            yield _exchanged(movers, (high, low), {number: total}), changed


def _natural(prover: Prover, *sizes: Expr) -> bool:
    """No size is negative (then a product says nothing about its factors)."""
    return all((n.lo is not None and n.lo >= 0) or prover.holds((), n.ge(0)) is True for n in sizes)


def _enumerated(movers: Extents, tiles: Tuple) -> Step | None:
    """A grid of known size, block by block: all tiles of a box, each once."""
    if any(n.op != "const" or n.value < 1 for n in movers.values()) or not _free(tiles) <= movers.keys():
        return None
    sizes = [n.value for n in movers.values()]
    if prod(sizes) > MAX_BLOCKS:
        return None
    points = np.indices(sizes).reshape(len(sizes), -1)
    at = {v.name: points[i] for i, v in enumerate(movers)}
    found = np.stack([np.broadcast_to(np.asarray(E.evaluate(t, at)), points.shape[1:]) for t in tiles], axis=1)
    box = (found.max(axis=0) + 1).tolist()
    if found.min() < 0 or prod(box) != len(found) or len(np.unique(found, axis=0)) != len(found):
        return None
    made = {E.var(f"tile_{i}", 0): E.const(int(n)) for i, n in enumerate(box)}
    return made, tuple(made)

"""Fragments of attention are read one by one into a list instead of as one tile.

    k = sK.load(KEY, tiles=dict(Sk=2, D=8), width=16)   k = [sK.load(KEY, Sk=32 * (n // 8), …) for n in range(16)]
    for nt, ks, h in ag.unroll(2, 8, 2):             -> for n, h in ag.unroll(16, 2):
        s[nt] = ag.mfma(k[nt, ks, h], q[ks, h], s[nt])      s[n // 8] = ag.mfma(k[n][h], q[n % 8, h], s[n // 8])

A schedule can then put each read near the matrix instructions that use it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from argus.agent.lower.attention_reads import product_read
from argus.agent.lower.fragments import operand_extents
from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.softmax_turn import SoftmaxTurn, the_turn
from argus.agent.lower.source import (
    Instead,
    NotApplicableError,
    Source,
    drop_keyword,
    keyword,
    set_keyword,
)
from argus.agent.lower.text import expression


def single_fragments(source: Source, params: Mapping[str, object]) -> None:
    """Fragments of both products as lists."""
    turn = the_turn(source)
    for product in (turn.first, turn.second):
        _as_list(source, turn, product)


def _as_list(source: Source, turn: SoftmaxTurn, product: ast.For) -> None:
    read = product_read(source, turn, product)
    definition = owner_definition(source, read.owner)
    tiles = keyword(read.call, "tiles")
    if not isinstance(tiles, ast.Call) or not isinstance(read.statement, ast.Assign):
        raise NotApplicableError("fragments are not read as tiles")
    rows, depth = operand_extents(source, definition)
    sizes = {axis_name(definition, "row"): rows, axis_name(definition, "k"): depth}
    axes = [str(w.arg) for w in tiles.keywords]
    counts = [source.value(w.value) for w in tiles.keywords]
    if not 1 <= len(axes) <= 2 or any(c is None for c in counts):
        raise NotApplicableError("the number of fragments is not a number of the file")
    many = [c or 1 for c in counts]
    total, inner = many[0] * (many[1] if len(many) > 1 else 1), many[-1]
    number = source.fresh("n")
    outer_place, inner_place = f"({number} // {inner})", f"({number} % {inner})"
    places = [outer_place, inner_place] if len(axes) == 2 else [number]
    call = copy.deepcopy(read.call)
    drop_keyword(call, "tiles")
    width = keyword(call, "width")
    drop_keyword(call, "width")
    for axis, place in zip(axes, places, strict=True):
        if keyword(call, axis) is not None:
            raise NotApplicableError("the fragments have a place of their own")
        set_keyword(call, axis, expression(f"{sizes[axis]} * {place}"))
    if width is not None:
        set_keyword(call, "width", width)
    subscript = next(n for n in ast.walk(product) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == read.name)
    items = list(subscript.slice.elts) if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
    target = product.target.elts if isinstance(product.target, ast.Tuple) else [product.target]
    if not isinstance(product.iter, ast.Call) or not all(isinstance(i, ast.Name) for i in items):
        raise NotApplicableError("the product is not unrolled")
    counters = [ast.unparse(i) for i in items[: len(axes)]]
    rest = [(t, a) for t, a in zip(target, product.iter.args, strict=True) if ast.unparse(t) not in counters]
    inside = items[len(axes) :]
    fragment: ast.expr = ast.Subscript(ast.Name(read.name), ast.Name(number), ast.Load())
    if inside:
        index = inside[0] if len(inside) == 1 else ast.Tuple(inside, ast.Load())
        fragment = ast.Subscript(fragment, index, ast.Load())
    _Whole(subscript, fragment).visit(product)
    Instead({c: expression(p) for c, p in zip(counters, places, strict=True)}).visit(product)
    product.target = ast.Tuple([ast.Name(number), *(t for t, _ in rest)], ast.Store())
    product.iter.args = [ast.Constant(total), *(a for _, a in rest)]
    read.statement.value = expression(f"[{ast.unparse(call)} for {number} in range({total})]")


class _Whole(ast.NodeTransformer):
    """One node in place of another."""

    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if node is self._old:
            return self._new
        return self.generic_visit(node)

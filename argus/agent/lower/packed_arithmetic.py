"""Two f32 operations per instruction, by name: `v_pk_mul_f32` and `v_pk_add_f32` on neighbouring elements of a tile.

    e = ag.exp2((x - best) * LOG2E)     ->     e = ag.exp2(ag.v_pk_mul_f32(ag.v_pk_add_f32(x, -best), LOG2E))

Tiles are those converted to f32 after a load whose owner gives a lane an even number of neighbours, and what is
computed from them element by element. Numbers and one value per row meet both halves of a pair. Left to itself the
compiler packs what it can prove to lie in pairs; naming the instruction leaves it no choice.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.row_walks import row_owner
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword
from argus.agent.lower.text import expression

ELEMENTWISE = ("exp2", "log2", "where", "max", "min", "rcp", "rsqrt", "sqrt", "abs", "v_pk_mul_f32", "v_pk_add_f32")


def packed_arithmetic(source: Source, params: Mapping[str, object]) -> None:
    """Products, sums and differences of f32 tiles of a row kernel, in pairs."""
    _, owner, _, _ = row_owner(source)
    held = keyword(owner, "e")
    count = source.value(held) if held is not None else None
    if count is None or count % 2:
        raise NotApplicableError("a lane does not hold pairs of neighbours; `row_vectors` comes first")
    tiles: set[str] = set()
    changed = False
    for block in source.blocks():
        for node in block:
            given = node.targets[0] if isinstance(node, ast.Assign) else None
            if (
                isinstance(node, ast.Assign)
                and isinstance(given, ast.Name)
                and (_converted(node.value) or _is_wide(node.value, tiles))
            ):
                tiles.add(given.id)
    for block in source.blocks():
        for node in block:
            if isinstance(node, ast.Assign | ast.Expr):
                visitor = _Pairs(tiles)
                visitor.visit(node)
                changed |= visitor.changed
    if not changed:
        raise NotApplicableError("nothing is added or multiplied element by element")


def _converted(node: ast.expr) -> bool:
    """`X[…].load(…).to(f32)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "to"
        and [ast.unparse(a) for a in node.args] == ["f32"]
        and isinstance(node.func.value, ast.Call)
        and isinstance(node.func.value.func, ast.Attribute)
        and node.func.value.func.attr == "load"
    )


def _is_wide(node: ast.expr, tiles: set[str]) -> bool:
    """Whether an expression has a value per element of the row: names of tiles and arithmetic on them."""
    if isinstance(node, ast.Name):
        return node.id in tiles
    if isinstance(node, ast.BinOp):
        return _is_wide(node.left, tiles) or _is_wide(node.right, tiles)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_ag(node, node.func.attr):
        return node.func.attr in ELEMENTWISE and any(_is_wide(a, tiles) for a in node.args)
    return False


class _Pairs(ast.NodeTransformer):
    def __init__(self, tiles: set[str]) -> None:
        self._tiles, self.changed = tiles, False

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        wide = _is_wide(node, self._tiles)
        self.generic_visit(node)
        if not wide or not isinstance(node.op, ast.Mult | ast.Add | ast.Sub):
            return node
        self.changed = True
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        if isinstance(node.op, ast.Mult):
            return expression(f"ag.v_pk_mul_f32({left}, {right})")
        return expression(f"ag.v_pk_add_f32({left}, {'-' if isinstance(node.op, ast.Sub) else ''}({right}))")

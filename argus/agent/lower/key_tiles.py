"""Attention with several matrix tiles of keys per turn: scores are held as tiles, the second product is longer.

    for j in ag.range(Sk // 32):                            for j in ag.range(Sk // KEYS):
        s = ag.zeros(SCORES, f32, at=dict(Sk=32 * j, …)) ->     s = ag.zeros(SCORES, f32, …, tiles=dict(Sk=KEY_TILES))
        …                                                       …

More keys per turn mean fewer barriers and fewer maxima; registers for the scores are the price.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.source import (
    Instead,
    NotApplicableError,
    Source,
    SourceAccess,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression
from argus.agent.lower.two_products import two_products


def key_tiles(source: Source, params: Mapping[str, object]) -> None:
    """`tiles` matrix tiles of keys per turn."""
    found = two_products(source)
    call = found.scores.value
    if not isinstance(call, ast.Call) or keyword(call, "tiles") is not None:
        raise NotApplicableError("the scores are held as tiles already")
    owner = owner_definition(source, call.args[0])
    axis = axis_name(owner, "row")
    name = ast.unparse(found.scores.targets[0])
    operand = _loaded(source, found.first, found.loop)
    values = _loaded(source, found.second, found.loop)
    step = ast.unparse(found.step)
    Replace(found.variable, found.step, expression(f"KEYS * {found.variable}")).visit(found.loop)
    found.loop.iter = expression(f"ag.range({found.size} // KEYS)")
    set_keyword(call, "tiles", expression(f"dict({axis}=KEY_TILES)"))
    tile = source.fresh("nt")
    _prepend_tiles(operand, axis)
    counter, each = _more_values(source, found.second, values, axis)
    _Scores(name, operand.name, tile).visit(found.first)
    target = found.first.target.elts if isinstance(found.first.target, ast.Tuple) else [found.first.target]
    found.first.target = ast.Tuple([ast.Name(tile, ast.Store()), *target], ast.Store())
    if isinstance(found.first.iter, ast.Call):
        found.first.iter.args.insert(0, expression("KEY_TILES"))
    _Parts(counter, each).visit(found.second)
    source.define_first(f"KEY_TILES = {params['tiles']}\nKEYS = {step} * KEY_TILES")
    divisible(source, {found.size: "KEYS"})


def _loaded(source: Source, product: ast.For, loop: ast.For) -> SourceAccess:
    """The fragments that the loop loads for a product."""
    inside = {id(s) for s in ast.walk(loop)}
    found = [a for a in source.loads() if a.name in names(product) and id(a.statement) in inside]
    if len(found) != 1:
        raise NotApplicableError("a product does not take one operand that the loop loads")
    return found[0]


def _prepend_tiles(load: SourceAccess, axis: str) -> None:
    tiles = keyword(load.call, "tiles")
    if not isinstance(tiles, ast.Call):
        raise NotApplicableError("the operand is not held as tiles")
    tiles.keywords.insert(0, ast.keyword(axis, expression("KEY_TILES")))


def _more_values(source: Source, product: ast.For, load: SourceAccess, axis: str) -> tuple[str, int]:
    """The second product runs over more slices; the counter of its slices and how many there are per tile."""
    tiles = keyword(load.call, "tiles")
    count = keyword(tiles, axis) if isinstance(tiles, ast.Call) else None
    number = None if count is None else source.value(count)
    if not isinstance(tiles, ast.Call) or number is None or not isinstance(product.iter, ast.Call):
        raise NotApplicableError("the second product's operand has no slices along the keys")
    at = [str(k.arg) for k in tiles.keywords].index(axis)
    subscript = next(
        (n for n in ast.walk(product) if isinstance(n, ast.Subscript) and names(n.value) == {load.name}), None
    )
    items = subscript.slice.elts if subscript is not None and isinstance(subscript.slice, ast.Tuple) else []
    if at >= len(items) or not isinstance(items[at], ast.Name):
        raise NotApplicableError("the slices of the second product are not counted")
    counter = ast.unparse(items[at])
    set_keyword(tiles, axis, expression(f"{number} * KEY_TILES"))
    target = product.target.elts if isinstance(product.target, ast.Tuple) else [product.target]
    for n, t in enumerate(target):
        if isinstance(t, ast.Name) and t.id == counter:
            product.iter.args[n] = expression(f"{number} * KEY_TILES")
    return counter, number


class _Scores(ast.NodeTransformer):
    """`s` becomes `s[nt]`, `k[ks]` becomes `k[nt, ks]`."""

    def __init__(self, scores: str, operand: str, tile: str) -> None:
        self._scores, self._operand, self._tile = scores, operand, tile

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self._operand:
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            node.slice = ast.Tuple([ast.Name(self._tile, ast.Load()), *items], ast.Load())
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self._scores:
            return ast.Subscript(ast.Name(node.id, ast.Load()), ast.Name(self._tile, ast.Load()), node.ctx)
        return node


class _Parts(ast.NodeTransformer):
    """`p.regs(4 * ns, 4)` becomes `p[ns // 4].regs(4 * (ns % 4), 4)`."""

    def __init__(self, counter: str, each: int) -> None:
        self._counter, self._each = counter, each

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "regs":
            tile = expression(f"{ast.unparse(node.func.value)}[{self._counter} // {self._each}]")
            node.func.value = tile
            inside = expression(f"({self._counter} % {self._each})")
            node.args = [Instead({self._counter: inside}).visit(a) for a in node.args]
            return node
        self.generic_visit(node)
        return node

"""Two products in one loop, a softmax between them: more waves, more keys per turn, masked keys left out.

`query_waves`    several waves per workgroup, each with rows of its own; they share what they copy to LDS
`key_tiles`      a turn takes several matrix tiles of keys: scores are held as tiles, the second product is longer
`causal_skip`    the loop ends at the last key that a row of the workgroup sees
`causal_order`   workgroups with the longest loops start first, and neighbours differ in the batch, not in the rows

    for j in ag.range(Sk // 32):                            for j in ag.range(steps):
        s = ag.zeros(SCORES, f32, at=dict(Sk=32 * j, …))        s = ag.zeros(SCORES, f32, …, tiles=dict(Sk=KEY_TILES))
        …                                              ->       …
        s = ag.where(s.Sk <= s.Sq, …, -inf)                     s = ag.where(s.Sk <= s.Sq, …, -inf)

They look for the loop with two matrix products, of which the second takes registers of the first one's result, for a
grid with one blocked size, and for a mask between two coordinates; names do not matter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.blocking import Replace, divisible
from argus.agent.lower.matrix import axis_name, owner_definition
from argus.agent.lower.source import (
    Instead,
    NotApplicableError,
    Source,
    SourceAccess,
    is_ag,
    keyword,
    names,
    set_keyword,
)
from argus.agent.lower.text import expression, statements


@dataclass(frozen=True, slots=True)
class TwoProducts:
    """The loop, the size it walks along and its step; the statements that multiply, and the scores' accumulator."""

    loop: ast.For
    size: str
    step: ast.expr
    first: ast.For
    second: ast.For
    scores: ast.Assign

    @property
    def variable(self) -> str:
        return self.loop.target.id if isinstance(self.loop.target, ast.Name) else ""


def two_products(source: Source) -> TwoProducts:
    """The loop over `SIZE // n` that multiplies twice."""
    for loop in ast.walk(source.function):
        if not isinstance(loop, ast.For) or not is_ag(loop.iter, "range") or not isinstance(loop.iter, ast.Call):
            continue
        products = [s for s in loop.body if isinstance(s, ast.For) and any(is_ag(n, "mfma") for n in ast.walk(s))]
        extent = loop.iter.args[-1]
        if len(products) != 2 or not (isinstance(extent, ast.BinOp) and isinstance(extent.op, ast.FloorDiv)):
            continue
        first, second = products
        zeros = [
            s
            for s in loop.body
            if isinstance(s, ast.Assign) and is_ag(s.value, "zeros") and names(s.targets[0]) & names(first)
        ]
        taken = any(isinstance(n, ast.Attribute) and n.attr == "regs" for n in ast.walk(second))
        if len(zeros) == 1 and taken and isinstance(extent.left, ast.Name):
            return TwoProducts(loop, extent.left.id, extent.right, first, second, zeros[0])
    raise NotApplicableError("no loop over a size has two products, the second from the registers of the first")


def blocked(source: Source) -> tuple[ast.Assign, ast.Call, str, str, ast.expr]:
    """The grid statement, its call, and its one blocked number with size and block: `block`, `Sq`, `32`."""
    given, call = source.grid()
    blocks = source.sizes()
    if len(blocks) != 1 or not isinstance(given.targets[0], ast.Tuple):
        raise NotApplicableError("the grid has not exactly one size divided by a block")
    name, block = next(iter(blocks.items()))
    return given, call, name, block.size, block.by


def query_waves(source: Source, params: Mapping[str, object]) -> None:
    """`waves` waves per workgroup, each with a block of rows."""
    two_products(source)
    given, call, name, size, by = blocked(source)
    threads = keyword(source.decorator, "threads")
    if any(is_ag(n, "wave") for n in ast.walk(source.function)) or threads is None or source.value(threads) != 64:
        raise NotApplicableError("a workgroup has several waves already")
    whole = source.fresh("group")
    rows = f"{ast.unparse(by)} * WAVES"
    target = given.targets[0]
    if isinstance(target, ast.Tuple):
        at = next(n for n, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name)
        target.elts[at] = ast.Name(whole, ast.Store())
        call.args[at] = expression(f"{size} // ({rows})")
    body = next(b for b in source.blocks() if given in b)
    body[body.index(given) + 1 : body.index(given) + 1] = statements(f"{name} = WAVES * {whole} + ag.wave()")
    source.define_first(f"WAVES = {params['waves']}\nTHREADS = 64 * WAVES")
    set_keyword(source.decorator, "threads", expression("THREADS"))
    set_keyword(source.decorator, "waves", expression("(WAVES,)"))
    divisible(source, {size: f"({rows})"})


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


def causal_skip(source: Source, params: Mapping[str, object]) -> None:
    """The loop over keys ends where the mask hides everything from every row of the workgroup."""
    found = two_products(source)
    masks = [
        n
        for n in ast.walk(found.loop)
        if isinstance(n, ast.Call) and is_ag(n, "where") and isinstance(n.args[0], ast.Compare)
    ]
    compared = [m.args[0] for m in masks if isinstance(m.args[0], ast.Compare)]
    if not any(isinstance(c.ops[0], ast.LtE | ast.Lt) and isinstance(c.left, ast.Attribute) for c in compared):
        raise NotApplicableError("no mask lets a row see the keys up to its own number")
    _, _, name, _, by = blocked(source)
    steps = source.fresh("steps")
    end = f"{ast.unparse(by)} * ({name} + 1)"
    body = next(b for b in source.blocks() if found.loop in b)
    body[body.index(found.loop) : body.index(found.loop)] = statements(
        f"{steps} = ag.cdiv(ag.min({end}, {found.size}), {ast.unparse(found.step)})"
    )
    found.loop.iter = expression(f"ag.range({steps})")


def causal_order(source: Source, params: Mapping[str, object]) -> None:
    """The last rows first, in the slowest place of the grid."""
    given, call, name, _, _ = blocked(source)
    target = given.targets[0]
    if not isinstance(target, ast.Tuple) or keyword(call, "order") is not None:
        raise NotApplicableError("the blocks have an order already")
    at = next(n for n, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name)
    if at != len(target.elts) - 1:
        raise NotApplicableError("the rows do not come last in the grid")
    place = source.fresh("place")
    extent = call.args[at]
    target.elts = [ast.Name(place, ast.Store()), *target.elts[:at][::-1]]
    call.args = [extent, *call.args[:at][::-1]]
    body = next(b for b in source.blocks() if given in b)
    body[body.index(given) + 1 : body.index(given) + 1] = statements(f"{name} = {ast.unparse(extent)} - 1 - {place}")

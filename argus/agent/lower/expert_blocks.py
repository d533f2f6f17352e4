"""A wave takes several tiles of gathered rows with the same weights, the workgroup's waves neighbouring columns.

    row = ag.as_index(token[32 * bm].load(…), …)      row = [ag.as_index(token[32 * TILES * bm + 32 * i]…) for i in …]
    for kb in ag.range(K // 128):                     for kb in ag.range(K // 128):
        x = X[row, …]                                     wg = W[e, 0, WAVES * bn + w, …]
        wg = W[e, 0, bn, …]                       ->      for i in ag.unroll(TILES):
        g = products of wg and x                              x = X[row[i], …]
        gate = ag.fma(g, …, gate)                             g = products of wg and x
                                                              gate[i] = ag.fma(g, …, gate[i])

What depends on the gathered rows, or changes what the loop carries, is done per tile; loads that do not are done once.
A place that divides a row number (the expert of a block of rows) stays one for all tiles; whether that is right is the
checker's question.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.expert_loop import ROWS, main_loop
from argus.agent.lower.register_blocking import dependent_sizes
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression, statement


@dataclass(frozen=True, slots=True)
class Gather:
    """`row = ag.as_index(token[32 * bm].load(…), …)` and the block number it is made from."""

    node: ast.Assign
    name: str
    block: str


def gathers(source: Source) -> list[Gather]:
    """Statements that look up rows by block number, undivided."""
    blocks = source.sizes()
    found = []
    for node in source.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_ag(node.value, "as_index"):
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.BinOp):
                    divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv) for n in ast.walk(inner))
                    used = sorted(names(inner.slice) & set(blocks))
                    if used and not divided:
                        found.append(Gather(node, node.targets[0].id, used[0]))
    return found


def expert_blocks(source: Source, params: Mapping[str, object]) -> None:
    """`tiles` tiles of rows per wave, `waves` waves along the columns."""
    rows = gathers(source)
    if len(rows) != 1 or source.waves():
        raise NotApplicableError("this technique needs one wave that gathers its rows by a block number")
    gather = rows[0]
    loop, outer = main_loop(source)
    blocks = source.sizes()
    columns = [b for b in blocks if b != gather.block]
    if len(columns) != 1 or outer is not source.body:
        raise NotApplicableError("the grid is not rows and columns")
    column, counter, wave = columns[0], source.fresh("i"), source.fresh("w")
    carried = _carried(source, loop)
    grid, call = source.grid()
    of_tile = _Tile(gather, carried, counter)
    loop.body = _per_tile(loop.body, {gather.name, *carried}, of_tile, counter)
    at = outer.index(loop)
    after = [of_tile.visit(node) for node in outer[at + 1 :]]
    outer[at + 1 :] = [_unrolled(counter, after)]
    for number, node in enumerate(outer[:at]):
        outer[number] = _before(node, gather, carried, of_tile, counter)
    _split_tuples(outer)
    Instead({column: expression(f"WAVES * {column} + {wave}")}).visit(source.function)
    grid.targets = [ast.Tuple([ast.Name(b, ast.Store()) for b in (gather.block, column)], ast.Store())]
    extents = {gather.block: f"{ROWS} * TILES", column: f"{ROWS} * WAVES"}
    call.args = [expression(f"{blocks[b].size} // ({extents[b]})") for b in blocks]
    source.body.insert(source.body.index(grid) + 1, statement(f"{wave} = ag.wave()"))
    source.define_first(f"TILES = {params['tiles']}\nWAVES = {params['waves']}\nTHREADS = 64 * WAVES")
    set_keyword(source.decorator, "threads", expression("THREADS"))
    set_keyword(source.decorator, "waves", expression("(WAVES,)"))
    _requires(source, f"{blocks[column].size} % ({ROWS} * WAVES) == 0")
    example = keyword(source.decorator, "example")
    if isinstance(example, ast.Call):
        set_keyword(example, blocks[column].size, expression("128 * WAVES"))
        dependent_sizes(source)


def _carried(source: Source, loop: ast.For) -> list[str]:
    """Names that start from zeros before the loop and change in it."""
    changed = set().union(*(_assigned(node) for node in loop.body))
    started = {
        t.id
        for node in source.body
        if isinstance(node, ast.Assign) and any(is_ag(n, "zeros") for n in ast.walk(node.value))
        for target in node.targets
        for t in ast.walk(target)
        if isinstance(t, ast.Name)
    }
    found = sorted(changed & started)
    if not found:
        raise NotApplicableError("the loop carries no sums")
    return found


def _per_tile(body: list[ast.stmt], of_rows: set[str], of_tile: _Tile, counter: str) -> list[ast.stmt]:
    """Loads that do not depend on the rows, then the rest once per tile."""
    once: list[ast.stmt] = []
    each: list[ast.stmt] = []
    dependent = set(of_rows)
    for node in body:
        loads = any(isinstance(n, ast.Attribute) and n.attr == "load" for n in ast.walk(node))
        if loads and not names(node) & dependent:
            once.append(node)
        else:
            dependent |= _assigned(node)
            each.append(node)
    return [*once, _unrolled(counter, [of_tile.visit(node) for node in each])]


def _assigned(node: ast.stmt) -> set[str]:
    """Names that a statement, or one inside it, assigns; not those of comprehensions."""
    return {
        n.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Assign)
        for target in inner.targets
        for n in ast.walk(target)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _unrolled(counter: str, body: list[ast.stmt]) -> ast.stmt:
    made = statement(f"for {counter} in ag.unroll(TILES):\n    pass")
    if isinstance(made, ast.For):
        made.body = body
    return made


def _before(node: ast.stmt, gather: Gather, carried: list[str], of_tile: _Tile, counter: str) -> ast.stmt:
    """A statement before the loop: what is per tile becomes a list."""
    if not isinstance(node, ast.Assign):
        return node
    if node is gather.node:
        node.value = of_tile.visit(node.value)
        label = keyword(node.value, "name") if isinstance(node.value, ast.Call) else None
        if isinstance(label, ast.Constant) and isinstance(node.value, ast.Call):
            set_keyword(node.value, "name", expression(f"f'{label.value!s}{{{counter}}}'"))
        node.value = _list(node.value, counter)
        return node
    targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
    if any(isinstance(t, ast.Name) and t.id in carried for t in targets):
        if isinstance(node.value, ast.Tuple):
            node.value.elts = [_list(value, counter) for value in node.value.elts]
        else:
            node.value = _list(node.value, counter)
        return node
    made: ast.stmt = _Divided(gather.block).visit(node)
    return made


def _list(value: ast.expr, counter: str) -> ast.expr:
    made = expression(f"[x for {counter} in range(TILES)]")
    if isinstance(made, ast.ListComp):
        made.elt = value
    return made


def _split_tuples(block: list[ast.stmt]) -> None:
    """`a, b = [...], [...]` as two statements."""
    for node in list(block):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            at = block.index(node)
            pairs = zip(node.targets[0].elts, node.value.elts, strict=True)
            block[at : at + 1] = [ast.Assign([target], value, lineno=node.lineno) for target, value in pairs]


def _requires(source: Source, clause: str) -> None:
    given = keyword(source.decorator, "requires")
    old = f"{given.value!s} and " if isinstance(given, ast.Constant) else ""
    set_keyword(source.decorator, "requires", ast.Constant(f"{old}{clause}"))


class _Tile(ast.NodeTransformer):
    """What is per tile, for tile i: `row[i]`, `gate[i]`, and rows of the block that start at tile i."""

    def __init__(self, gather: Gather, carried: list[str], counter: str) -> None:
        self._gather, self._counter = gather, counter
        self._lists = {gather.name, *carried}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._lists:
            return ast.Subscript(ast.Name(node.id, ast.Load()), ast.Name(self._counter, ast.Load()), node.ctx)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Mult) and ast.unparse(node) == f"{ROWS} * {self._gather.block}":
            return expression(f"{ROWS} * TILES * {self._gather.block} + {ROWS} * {self._counter}")
        self.generic_visit(node)
        return node


class _Divided(ast.NodeTransformer):
    """`32 * bm // 128` for a block of TILES tiles."""

    def __init__(self, block: str) -> None:
        self._text = f"{ROWS} * {block}"
        self._new = f"{ROWS} * TILES * {block}"

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if ast.unparse(node) == self._text:
            return expression(self._new)
        self.generic_visit(node)
        return node

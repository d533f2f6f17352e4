"""Experts: sums of a tile of rows are added during the next tile, whose fragments are read before it.

    ag.barrier()                                             with ag.schedule(…):
    with ag.schedule(…):                                         fetch of the next steps; tiles of the first half
        fetch of the next steps                              with ag.schedule(…):
        for i in ag.unroll(TILES):                   ->          publish; tiles of the second half but the last
            x = ring[kb].rows.load(…, row=32 * i)            ag.barrier()
            g = products of x                                with ag.schedule(…):
            gate[i] = ag.fma(g, factor, gate[i])                 the last tile
                                                             a tile: read of the next; products; sums of the one before

The read of the last tile is the first one of the next step, behind the barrier that publishes it; nothing is read of a
slot after that barrier, so it may be overwritten. What is left at the end of a turn is added there.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass

from argus.agent.lower.expert_loop import main_loop
from argus.agent.lower.pipeline import shifted
from argus.agent.lower.source import Instead, NotApplicableError, Source, is_ag, names
from argus.agent.lower.text import expression, statement, statements

FIRST = "mfma valu*2 buffer_load mfma valu*2 ds_read"
SECOND = "mfma valu*2 ds_write mfma valu*2 ds_read"
LAST = "mfma valu*2 mfma valu*2 ds_read"


@dataclass(frozen=True, slots=True)
class LateTile:
    """A tile's turn: its counter and their number, the read of its rows, what multiplies, and what is added."""

    counter: str
    count: ast.expr
    read: ast.Assign
    middle: list[ast.stmt]
    added: list[tuple[str, ast.Call]]


def late_sums(source: Source, params: Mapping[str, object]) -> None:
    """Three groups of a step around its barrier; sums one tile late, fragments one tile ahead."""
    loop, outer = main_loop(source)
    match loop.body:
        case [
            ast.For(body=[ast.Assign() as step, ast.Expr(value=barrier), ast.With() as group, ast.Assign() as next_])
        ]:
            inner = loop.body[0]
        case _:
            raise NotApplicableError(
                "a turn is not steps of a barrier and one scheduled group; `expert_ring` comes first"
            )
    publish, fetch, tiles = group.body[-3:]
    if not is_ag(barrier, "barrier") or not isinstance(tiles, ast.For) or not isinstance(fetch, ast.Assign):
        raise NotApplicableError("a step must end with publish, fetch and tiles; `expert_ring` comes first")
    tile = _tile(tiles)
    name = ast.unparse(step.targets[0])
    if not isinstance(publish, ast.For) or name not in names(tile.read) or (source.value(tile.count) or 0) < 2:
        raise NotApplicableError("rows of at least two tiles must be read from a ring of steps")
    late, ahead = source.fresh("late"), source.fresh("ahead")
    fetched = ast.unparse(fetch.targets[0])
    coming = source.fresh(f"next_{fetched}")
    fetch.targets = [ast.Name(coming, ast.Store())]
    half, last = f"{ast.unparse(tile.count)} // 2", f"{ast.unparse(tile.count)} - 1"

    def tiles_of(first: str, end: str) -> ast.stmt:
        return _turn(tile, name, late, ahead, f"range({first}, {end})")

    groups = [
        _scheduled(FIRST, [*group.body[:-3], fetch, tiles_of("0", half)]),
        _scheduled(SECOND, [publish, tiles_of(half, last)]),
        statement("ag.barrier()"),
        _scheduled(LAST, [tiles_of(last, ast.unparse(tile.count))]),
    ]
    rotated = f"{_listed(next_.targets[0])}, {fetched} = {_listed(next_.value)}, {coming}"
    if isinstance(inner, ast.For):
        inner.body = [step, *groups, statement(rotated)]
    rest = _added(tile, late, expression(last))
    loop.body = [statement(f"{late} = []"), inner, *rest]
    start = shifted(Instead({tile.counter: ast.Constant(0)}).visit(copy.deepcopy(tile.read)), name, ast.Constant(0))
    at = outer.index(loop)
    outer[at:at] = [statement("ag.barrier()"), start]


def _tile(loop: ast.For) -> LateTile:
    """`x = ring[kb].rows.load(…)`; products; `gate[i] = ag.fma(g, factor, gate[i])` for every sum."""
    counter = loop.target
    if not isinstance(counter, ast.Name) or not is_ag(loop.iter, "unroll") or not isinstance(loop.iter, ast.Call):
        raise NotApplicableError("tiles of rows are not unrolled")
    read, *rest = loop.body
    added = [node for node in rest if _sum(node, counter.id) is not None]
    middle = [node for node in rest if node not in added]
    if not isinstance(read, ast.Assign) or not added or rest[: len(middle)] != middle:
        raise NotApplicableError("a tile is not a read, products and sums")
    sums = [found for node in added if (found := _sum(node, counter.id)) is not None]
    return LateTile(counter.id, loop.iter.args[0], read, middle, sums)


def _sum(node: ast.stmt, counter: str) -> tuple[str, ast.Call] | None:
    """`gate` and the call, of `gate[i] = ag.fma(part, factor, gate[i])`."""
    match node:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=sum_), slice=ast.Name(id=index))], value=ast.Call() as call
        ) if index == counter and is_ag(call, "fma") and ast.unparse(call.args[-1]) == f"{sum_}[{counter}]":
            return sum_, call
    return None


def _turn(tile: LateTile, step: str, late: str, ahead: str, over: str) -> ast.stmt:
    """Tiles of a group: read ahead, products, the sums of the tile before."""
    count, counter = ast.unparse(tile.count), tile.counter
    following = Instead({counter: expression(f"{counter} + 1")}).visit(copy.deepcopy(tile.read.value))
    first = Instead({counter: ast.Constant(0)}).visit(copy.deepcopy(tile.read.value))
    across = shifted(ast.Expr(first), step, expression(f"{step} + 1"))
    made = statement(
        f"for {counter} in {over}:\n"
        f"    if {counter} + 1 < {count}:\n"
        f"        {ahead} = {ast.unparse(following)}\n"
        f"    else:\n"
        f"        {ahead} = {ast.unparse(across)}\n"
        f"    if len({late}):\n"
        f"        pass\n"
    )
    if isinstance(made, ast.For):
        reads, adds = made.body
        if isinstance(adds, ast.If):
            adds.body = _added(tile, late, expression(f"({counter} + {count} - 1) % {count}"))
        parts = [ast.unparse(call.args[0]) for _, call in tile.added]
        factors = [ast.unparse(call.args[1]) for _, call in tile.added]
        after = statements(f"{late} = [{', '.join([*parts, *factors])}]\n{ast.unparse(tile.read.targets[0])} = {ahead}")
        made.body = [reads, *copy.deepcopy(tile.middle), adds, *after]
    return made


def _added(tile: LateTile, late: str, at: ast.expr) -> list[ast.stmt]:
    """The sums that wait, into tile `at`."""
    number, place = len(tile.added), ast.unparse(at)
    return [
        statement(f"{name}[{place}] = ag.fma({late}[{n}], {late}[{number + n}], {name}[{place}])")
        for n, (name, _) in enumerate(tile.added)
    ]


def _scheduled(order: str, body: list[ast.stmt]) -> ast.stmt:
    made = statement(f"with ag.schedule(order={order!r}):\n    pass")
    if isinstance(made, ast.With):
        made.body = body
    return made


def _listed(node: ast.expr) -> str:
    return ", ".join(ast.unparse(e) for e in node.elts) if isinstance(node, ast.Tuple) else ast.unparse(node)

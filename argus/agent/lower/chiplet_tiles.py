"""Which chiplet computes which block: the eight XCDs as a small rectangle that tiles the grid.

    bm, bn = ag.grid(M // BLOCK_M, N // BLOCK_N)
    ->  z, y, x = ag.grid(M // (BLOCK_M * 2), N // (BLOCK_N * 4), 8)                rows 2: 2 x 4 chiplets
        bm = z * 2 + x // 4
        bn = y * 4 + x % 4

Workgroups go to the XCDs in turn, so the number of a workgroup modulo 8 is its chiplet. In this numbering a chiplet
gets every second block row and every fourth block column: what it reads of both operands is a part of them, not all,
and its neighbours in time share rows and columns. `group` block rows of a chiplet are walked together. The grid must be
a multiple of the rectangle, which the kernel then requires.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import dependent_sizes, divisible
from argus.agent.lower.source import NotApplicableError, Source, keyword
from argus.agent.lower.text import expression, statements

XCDS = 8


def chiplet_tiles(source: Source, params: Mapping[str, object]) -> None:
    """`rows` x `8 // rows` chiplets tile the grid; each walks `group` of its block rows together."""
    rows, group = int(str(params["rows"])), int(str(params.get("group", 1)))
    columns = XCDS // rows
    given, call = source.grid()
    blocks = source.sizes()
    target = given.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or len(blocks) != 2 or len(call.args) != 2:
        raise NotApplicableError("the grid is not two sizes divided by blocks")
    if keyword(call, "order") is not None:
        raise NotApplicableError("the blocks have an order already")
    first, second = blocks
    z, y, x = (source.fresh(name) for name in ("across", "along", "part"))
    extents = {first: _times(blocks[first].by, rows * group), second: _times(blocks[second].by, columns)}
    new = [
        f"{z}, {y}, {x} = ag.grid({blocks[first].size} // ({extents[first]}), "
        f"{blocks[second].size} // ({extents[second]}), {XCDS * group})",
        f"{first} = {_row(z, x, rows, columns, group)}",
        f"{second} = {y} * {columns} + {x} % {columns}" if columns > 1 else f"{second} = {y}",
    ]
    block = next(b for b in source.blocks() if given in b)
    at = block.index(given)
    block[at : at + 1] = statements("\n".join(new))
    divisible(source, {blocks[name].size: f"({extents[name]})" for name in (first, second)})
    example = keyword(source.decorator, "example")
    if isinstance(example, ast.Call):
        for k in example.keywords:
            if k.arg in (blocks[first].size, blocks[second].size):
                name = first if k.arg == blocks[first].size else second
                k.value = expression(extents[name])
        dependent_sizes(source)


def _times(by: ast.expr, count: int) -> str:
    return f"{ast.unparse(by)} * {count}" if count > 1 else ast.unparse(by)


def _row(z: str, x: str, rows: int, columns: int, group: int) -> str:
    walked = f"({z} * {group} + {x} // {XCDS})" if group > 1 else z
    part = f"{x} % {XCDS}" if group > 1 else x
    if rows == 1:
        return walked
    return f"{walked} * {rows} + {part} // {columns}" if columns > 1 else f"{walked} * {rows} + {part}"

"""Blocks of rows are dealt to the chiplets, which walk GROUP of them together, column by column.

    bm, bn = ag.grid(rows, columns)          ->        one axis, from which chiplet, group, column and row are computed

Chiplets have L2 caches of their own: rows that share weights meet in one. The last group may be short.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import NotApplicableError, Source, keyword
from argus.agent.lower.text import statements

XCDS = 8


def chiplet_rows(source: Source, params: Mapping[str, object]) -> None:
    """The first block number in groups of 8 x `group`: a chiplet walks `group` of them column by column."""
    grid, call = source.grid()
    target = grid.targets[0]
    group = XCDS * int(str(params["group"]))
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or keyword(call, "order") is not None:
        raise NotApplicableError("the grid is not rows and columns in their plain order")
    row, column = (ast.unparse(t) for t in target.elts)
    rows, columns = (ast.unparse(a) for a in call.args)
    across, part = source.fresh("across"), source.fresh("part")
    at = source.body.index(grid)
    rest = source.body[at + 1 :]
    made = statements(
        f"{across}, {column}, {part} = ag.grid(ag.cdiv({rows}, {group}), {columns}, {group})\n"
        f"{row} = {group} * {across} + {part}\n"
        f"if {row} < {rows}:\n    pass"
    )
    if isinstance(made[-1], ast.If):
        made[-1].body = rest
    source.body[at:] = made

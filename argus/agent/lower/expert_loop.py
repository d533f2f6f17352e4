"""The main loop of a kernel whose rows are gathered and whose weights belong to an expert.

row = ag.as_index(token[32 * bm].load(…), …)
for kb in ag.range(K // 128):                       found by `main_loop`, whatever the names
    x = X[row, …]
    wg = W[e, 0, bn, …]
    gate = ag.fma(products of wg and x, …, gate)
"""

from __future__ import annotations

import ast

from argus.agent.lower.source import NotApplicableError, Source, is_ag

ROWS = 32


def main_loop(source: Source) -> tuple[ast.For, list[ast.stmt]]:
    """The loop that multiplies, and the statements it stands in."""
    for block in source.blocks():
        for node in block:
            if (
                isinstance(node, ast.For)
                and is_ag(node.iter, "range")
                and any(is_ag(inner, "mfma") for inner in ast.walk(node))
            ):
                return node, block
    raise NotApplicableError("no loop multiplies")

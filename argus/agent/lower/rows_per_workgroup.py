"""Row kernels in which every wave of a workgroup has its own row.

row = ag.grid(M)                         ->        row = ROWS * ag.grid(M // ROWS) + ag.wave()
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.row_walks import row_owner
from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    keyword,
    set_keyword,
)
from argus.agent.lower.text import expression


def rows_per_workgroup(source: Source, params: Mapping[str, object]) -> None:
    """`rows` waves per workgroup, each with a row of its own."""
    _, owner, thread, _ = row_owner(source)
    threads = keyword(source.decorator, "threads")
    if thread != "lane" or threads is None or source.value(threads) != 64 or keyword(owner, "wave") is not None:
        raise NotApplicableError("a workgroup has more than one wave already")
    given, call = source.grid()
    if given.value is not call or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
        raise NotApplicableError("the grid does not run over single rows")
    size, order = call.args[0].id, keyword(call, "order")
    inner = f", order={ast.unparse(order)}" if order is not None else ""
    given.value = expression(f"ROWS * ag.grid({size} // ROWS{inner}) + ag.wave()")
    source.define_first(f"ROWS = {params['rows']}")
    set_keyword(source.decorator, "threads", expression("64 * ROWS"))
    divisible(source, {size: "ROWS"})

"""A workgroup of several waves, each with a row of results of its own, or with several one after the other.

    z, p, bq = ag.grid(Z, P, Q // 64)       ->      z, bp, bq = ag.grid(Z, P // (ROWS * DEPTH), Q // 64)
    top = ag.full(OUT, f32, -inf)                   for u in ag.unroll(DEPTH):
    …                                                   p = ROWS * DEPTH * bp + ROWS * u + ag.wave()
                                                        top = ag.full(OUT, f32, -inf)
                                                        …

A row is what the last plain size of the grid counts.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.result_blocks import result_block
from argus.agent.lower.source import NotApplicableError, Source, keyword, set_keyword
from argus.agent.lower.text import expression, statement


def result_rows(source: Source, params: Mapping[str, object]) -> None:
    """`rows` waves per workgroup, `depth` rows of results per wave."""
    block = result_block(source)
    threads = keyword(source.decorator, "threads")
    if block.thread != "lane" or threads is None or source.value(threads) != 64:
        raise NotApplicableError("a workgroup has more than one wave already")
    given, call = source.grid()
    target = given.targets[0]
    if given.value is not call or given not in source.body or not isinstance(target, ast.Tuple):
        raise NotApplicableError("the grid does not count rows of results")
    counted = [
        (number, name.id, size.id)
        for number, (name, size) in enumerate(zip(target.elts, call.args, strict=False))
        if isinstance(name, ast.Name) and isinstance(size, ast.Name)
    ]
    if not counted:
        raise NotApplicableError("the grid does not count rows of results")
    number, row, size = counted[-1]
    rows, depth = int(str(params["rows"])), int(str(params.get("depth", 1)))
    group = source.fresh(f"b{row}")
    target.elts[number] = ast.Name(group, ast.Store())
    call.args[number] = expression(f"{size} // HEIGHT")
    at = source.body.index(given) + 1
    source.define_first(f"ROWS = {rows}\nHEIGHT = ROWS * {depth}")
    if depth == 1:
        source.body.insert(at, statement(f"{row} = ROWS * {group} + ag.wave()"))
    else:
        turn = source.fresh("u")
        loop = ast.For(ast.Name(turn, ast.Store()), expression(f"ag.unroll({depth})"), [], [])
        loop.body.append(statement(f"{row} = HEIGHT * {group} + ROWS * {turn} + ag.wave()"))
        loop.body += source.body[at:]
        source.body[at:] = [loop]
    set_keyword(source.decorator, "threads", expression("64 * ROWS"))
    divisible(source, {size: "HEIGHT"})

"""A lane makes several neighboring results, with accesses of up to 16 bytes.

    OUT = ag.Owner(lane=64, q="lane")                  OUT = ag.Owner(lane=64, e=PER_LANE, q=f"lane*{PER_LANE} + e")
    z, p, bq = ag.grid(Z, P, Q // 64)            ->    z, p, bq = ag.grid(Z, P, Q // CHUNK)
    tap = X[z, p, 64 * bq, r, s].load(OUT, width=4)    tap = X[z, p, CHUNK * bq, r, s].load(OUT, width=16)

Where neighboring results are not neighbors in a tensor, its accesses stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import BYTES
from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.result_blocks import at_block, neighbors, result_block
from argus.agent.lower.source import NotApplicableError, Source, keyword, set_keyword
from argus.agent.lower.text import expression


def result_vectors(source: Source, params: Mapping[str, object]) -> None:
    """As many results to a lane as `bytes` of the widest tensor."""
    block = result_block(source)
    formula = keyword(block.owner, block.axis)
    if not (isinstance(formula, ast.Constant) and formula.value == block.thread):
        raise NotApplicableError("the lanes make several results already")
    if ast.unparse(block.step) != ast.unparse(block.lanes):
        raise NotApplicableError("a block is not one result of every lane")
    if any(move.keyword("guard") is not None and not at_block(move, block) for move in block.moves):
        raise NotApplicableError("taps along the row begin between accesses: the image's edge would cut one in half")
    tensors = source.tensors()
    count = int(str(params["bytes"])) // max(BYTES[tensors[move.place].element] for move in block.moves)
    if count < 2:
        raise NotApplicableError("one result has as many bytes")
    for move in block.moves:
        if neighbors(source, move, block):
            size = BYTES[tensors[move.place].element]
            set_keyword(move.call, "width", ast.Constant(min(16, count * size)))
    Replace(block.variable, block.step, expression(f"CHUNK * {block.variable}")).visit(source.function)
    _, call = source.grid()
    for number, extent in enumerate(call.args):
        if ast.unparse(extent) == f"{block.size} // {ast.unparse(block.step)}":
            call.args[number] = expression(f"{block.size} // CHUNK")
    thread, lanes = block.thread, block.lanes
    block.owner.keywords = [
        ast.keyword(thread, lanes),
        ast.keyword("e", expression("PER_LANE")),
        ast.keyword(block.axis, expression(f"f'{thread}*{{PER_LANE}} + e'")),
    ]
    source.define_first(f"PER_LANE = {count}\nCHUNK = {ast.unparse(lanes)} * PER_LANE")
    divisible(source, {block.size: "CHUNK"})

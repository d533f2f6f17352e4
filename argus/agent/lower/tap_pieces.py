"""The taps of a row from one piece of it: a lane loads all columns that its results need once, with wide accesses.

    for s in range(3):                                            piece = X[…, CHUNK * bq - 4].load(IN, width=16, …)
        tap = X[…, 64 * bq + s - 1].load(IN, width=4, …)    ->    for s in range(3):
                                                                      tap = piece.regs(s + 3, PER_LANE)

A lane makes several neighboring results. Its piece begins at a multiple of an access, so that no access is cut by
the image's edge; a tap is what lies a few registers further.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.fragments import BYTES
from argus.agent.lower.register_blocking import Replace, divisible
from argus.agent.lower.result_blocks import result_block
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword, set_keyword, total
from argus.agent.lower.tap_loops import tap_loop, without
from argus.agent.lower.text import expression, statement


def tap_pieces(source: Source, params: Mapping[str, object]) -> None:
    """As many results to a lane as `bytes` of X, their taps from one piece of each row."""
    block = result_block(source)
    formula = keyword(block.owner, block.axis)
    if not (isinstance(formula, ast.Constant) and formula.value == block.thread):
        raise NotApplicableError("the lanes make several results already")
    found = tap_loop(source, block.variable)
    tensor = source.tensors()[found.load.place]
    width = 16 // BYTES[tensor.element]
    count = int(str(params["bytes"])) // BYTES[tensor.element]
    left = found.first // width * width
    piece = -(-(count + found.count - 1 + found.first - left) // width) * width
    name = source.fresh("piece")
    place = [ast.unparse(index) for index in found.load.index[:-1]]
    start = ast.unparse(total([*without(found.load.index[-1], found.variable)]))
    call = found.load.call
    text = f"{name} = {found.load.place}[{', '.join([*place, f'{start} - {-left}' if left < 0 else start])}].load()"
    made = statement(text)
    if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call):
        raise NotApplicableError("the load of a tap is no load of a tensor")
    made.value.args, made.value.keywords = list(call.args), list(call.keywords)
    set_keyword(made.value, "width", ast.Constant(16))
    found.block.insert(found.block.index(found.loop), made)
    call.func = ast.Attribute(ast.Name(name, ast.Load()), "regs", ast.Load())
    call.args = [expression(f"{found.variable} + {found.first - left}"), expression("PER_LANE")]
    call.keywords = []
    _held(source, block.owner, piece)
    for move in block.moves:
        if move.call is not call:
            set_keyword(move.call, "width", ast.Constant(min(16, count * BYTES[source.tensors()[move.place].element])))
    Replace(block.variable, block.step, expression(f"CHUNK * {block.variable}")).visit(source.function)
    _, grid = source.grid()
    for number, extent in enumerate(grid.args):
        if ast.unparse(extent) == f"{block.size} // {ast.unparse(block.step)}":
            grid.args[number] = expression(f"{block.size} // CHUNK")
    source.define_first(f"PER_LANE = {count}\nCHUNK = {ast.unparse(block.lanes)} * PER_LANE")
    divisible(source, {block.size: "CHUNK", tensor.axes[-1]: str(width)})


def _held(source: Source, loads: ast.Call, piece: int) -> None:
    """Owners of one element per lane along the row hold `PER_LANE` results; the one that loads, the whole piece."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and is_ag(node.value, "Owner") and isinstance(node.value, ast.Call):
            owner = node.value
            first, *rest = owner.keywords
            plain = len(rest) == 1 and isinstance(rest[0].value, ast.Constant) and rest[0].value.value == first.arg
            if plain and rest[0].arg is not None:
                extent = ast.Constant(piece) if owner is loads else expression("PER_LANE")
                formula = expression(f"f'{first.arg}*{{PER_LANE}} + e'")
                owner.keywords = [first, ast.keyword("e", extent), ast.keyword(rest[0].arg, formula)]

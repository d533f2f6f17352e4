"""Workgroups that start at different k and wrap around: the same sum in another order.

    for kt in ag.range(K // BLOCK_K):        begin = bm % (K // BLOCK_K)
        …                             ->     for kt in ag.range(begin, K // BLOCK_K):
                                                 …
                                             for kt in ag.range(begin):
                                                 …

Two loops with the same body, the second going on with the sum of the first. Workgroups of one row of blocks start
together, so what they share still meets in the caches; rows of blocks are `stride` steps apart.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import expression, statement


def stagger_k(source: Source, params: Mapping[str, object]) -> None:
    """Row number b of blocks starts `stride * b` steps into k."""
    stride = int(str(params["stride"]))
    first = next(iter(source.sizes()), None)
    if first is None:
        raise NotApplicableError("the grid does not run over blocks of a size")
    found = [
        (block, node)
        for block in source.blocks()
        for node in block
        if isinstance(node, ast.For) and is_ag(node.iter, "range") and any(is_ag(n, "mfma") for n in ast.walk(node))
    ]
    if len(found) != 1:
        raise NotApplicableError(f"{len(found)} loops multiply; one is needed")
    block, loop = found[0]
    if sum(is_ag(n, "mfma") for n in ast.walk(loop)) != 1:
        raise NotApplicableError("a turn has several products, whose order may matter")
    call, held = loop.iter, _accumulator(loop)
    if not isinstance(call, ast.Call) or len(call.args) != 1 or not isinstance(call.args[0], ast.BinOp):
        raise NotApplicableError("the loop does not run over the whole of a size from its start")
    if not isinstance(call.args[0].op, ast.FloorDiv) or _runs_ahead(loop):
        raise NotApplicableError("parts of a turn run ahead; the start is staggered before that")
    turns, size = ast.unparse(call.args[0]), ast.unparse(call.args[0].left)
    begin = source.fresh("begin")
    at = first if stride == 1 else f"{stride} * {first}"
    again = copy.deepcopy(loop)
    loop.iter = expression(f"ag.range({begin}, {turns})")
    again.iter = expression(f"ag.range({begin})")
    where = block.index(loop)
    block[where : where + 1] = [statement(f"{begin} = {at} % ({turns})"), loop, again]
    source.body.append(statement(f"ag.check.reduced({held}, {size}=(0, {size}))"))


def _accumulator(loop: ast.For) -> str:
    """What the loop's matrix instructions add to."""
    for node in ast.walk(loop):
        if is_ag(node, "mfma") and isinstance(node, ast.Call) and len(node.args) == 3:
            given = node.args[2].value if isinstance(node.args[2], ast.Subscript) else node.args[2]
            if isinstance(given, ast.Name) and not _starts_in(loop, given.id):
                return given.id
    raise NotApplicableError("the loop's matrix instructions add to no sum that the loop carries")


def _starts_in(loop: ast.For, name: str) -> bool:
    """Whether a turn starts the sum anew."""
    return any(
        isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name and is_ag(n.value, "zeros")
        for n in ast.walk(loop)
    )


def _runs_ahead(loop: ast.For) -> bool:
    """Whether an access of the loop belongs to another turn than its own."""
    name = loop.target.id if isinstance(loop.target, ast.Name) else ""
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Add)
        and isinstance(n.left, ast.Name)
        and n.left.id == name
        and isinstance(n.right, ast.Constant)
        for n in ast.walk(loop)
    )

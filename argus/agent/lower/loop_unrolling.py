"""Several turns of a loop written out: one branch for all of them, loads of one beside the arithmetic of the other.

    for i in ag.range(N // CHUNK):                           for i in ag.range(N // (4 * CHUNK)):
        x = X[row, CHUNK * i].load(PART, width=16)     ->        for turn in ag.unroll(4):
        total = total + x                                            x = X[row, CHUNK * (4 * i + turn)].load(…)
                                                                     total = total + x

The size must then be a multiple of that many steps, which `requires` says; a launch with another size is refused, never
cut short. Loops that end elsewhere (a last turn written on its own) or hold loops of their own are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import shifted, variable
from argus.agent.lower.register_blocking import divisible
from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import expression, is_comment, statement


def loop_unrolling(source: Source, params: Mapping[str, object]) -> None:
    """Every loop over a size in steps takes `turns` of them at once."""
    turns = int(str(params["turns"]))
    sizes: dict[str, str] = {}
    for block in source.blocks():
        for node in block:
            if isinstance(node, ast.For) and _is_plain(node):
                size, step = _extent(node)
                _written_out(source, node, turns, size, step)
                sizes[size] = f"({turns} * {step})" if step.isidentifier() else _times(source, turns, step)
    if not sizes:
        raise NotApplicableError("no loop runs over a size in steps, one access after the other")
    divisible(source, sizes)


def _is_plain(loop: ast.For) -> bool:
    """`for i in ag.range(SIZE // step)` without a loop of the machine or copies of several turns inside."""
    call = loop.iter
    return (
        isinstance(call, ast.Call)
        and is_ag(call, "range")
        and isinstance(loop.target, ast.Name)
        and len(call.args) == 1
        and isinstance(call.args[0], ast.BinOp)
        and isinstance(call.args[0].op, ast.FloorDiv)
        and isinstance(call.args[0].left, ast.Name)
        and isinstance(call.args[0].right, ast.Name | ast.Constant)
        and not any(is_ag(n.iter, "range") for s in loop.body for n in ast.walk(s) if isinstance(n, ast.For))
    )


def _extent(loop: ast.For) -> tuple[str, str]:
    extent = loop.iter.args[0] if isinstance(loop.iter, ast.Call) else None
    if not isinstance(extent, ast.BinOp):
        raise NotApplicableError("the loop does not run over a size in steps")
    return ast.unparse(extent.left), ast.unparse(extent.right)


def _times(source: Source, turns: int, step: str) -> str:
    value = source.value(expression(step))
    if value is None:
        raise NotApplicableError(f"{step} is not a number of the file")
    return str(turns * value)


def _written_out(source: Source, loop: ast.For, turns: int, size: str, step: str) -> None:
    name = variable(loop)
    turn = source.fresh("turn")
    copies = statement(f"for {turn} in ag.unroll({turns}):\n    pass")
    if isinstance(copies, ast.For):
        body = [s for s in loop.body if not is_comment(s)]
        copies.body = [shifted(s, name, expression(f"{turns} * {name} + {turn}")) for s in body]
    loop.body = [copies]
    loop.iter = expression(f"ag.range({size} // ({turns} * {step}))")

"""The maximum is taken before scaling; scale and shift are one multiply-add in the exponent.

    s = ag.where(s.Sk <= s.Sq, s * factor, -inf)           s = ag.where(s.Sk <= s.Sq, s, -inf)
    p = ag.exp2(s - new)                             ->    p = ag.exp2(ag.fma(s, factor, -(new * factor)))
    keep = ag.exp2(top - new)                              keep = ag.exp2((top - new) * factor)

The running maximum begins at a finite number: -inf times a factor, less itself, is not a number. A maximum before
scaling is the maximum afterwards only for a positive factor, which becomes a requirement of the kernel.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.softmax_turn import SoftmaxTurn, the_turn
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword, names, set_keyword
from argus.agent.lower.text import expression

LOWEST = "-1.0e30"


def fused_scale(source: Source, params: Mapping[str, object]) -> None:
    """`exp2(s * c - max)` as `exp2(fma(s, c, -(max * c)))`."""
    turn = the_turn(source)
    factor = _unscaled(turn)
    definition = next(
        (n for n in turn.outer if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == factor), None
    )
    tensors = source.tensors()
    scalars = [a.arg for a in source.function.args.args if a.arg not in tensors]
    used = [s for s in scalars if definition is not None and s in names(definition.value)]
    if not used:
        raise NotApplicableError("the scores are not scaled by an argument")
    changed = 0
    for node in turn.loop.body:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and is_ag(call, "exp2") and isinstance(call.args[0], ast.BinOp):
                inner = call.args[0]
                if not isinstance(inner.op, ast.Sub):
                    continue
                value, top = ast.unparse(inner.left), ast.unparse(inner.right)
                fused = f"ag.fma({value}, {factor}, -({top} * {factor}))"
                call.args[0] = expression(fused if value == turn.scores else f"({value} - {top}) * {factor}")
                changed += 1
    if not changed:
        raise NotApplicableError("no exponential of a difference follows")
    for node in turn.outer:
        begun = node.value if isinstance(node, ast.Assign) else None
        if isinstance(begun, ast.Call) and is_ag(begun, "full") and ast.unparse(begun.args[2]) == "-inf":
            begun.args[2] = expression(LOWEST)
    given = keyword(source.decorator, "requires")
    old = str(given.value) if isinstance(given, ast.Constant) else ""
    for name in used:
        if f"{name} > 0" not in old:
            old = f"{old} and {name} > 0" if old else f"{name} > 0"
    set_keyword(source.decorator, "requires", ast.Constant(old))


def _unscaled(turn: SoftmaxTurn) -> str:
    """Take the factor off the scores; its name."""
    for node in turn.loop.body:
        if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != turn.scores:
            continue
        masked = node.value if is_ag(node.value, "where") and isinstance(node.value, ast.Call) else None
        value = node.value if masked is None else masked.args[1]
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            left, right = ast.unparse(value.left), ast.unparse(value.right)
            if turn.scores in (left, right) and isinstance(
                value.right if left == turn.scores else value.left, ast.Name
            ):
                if masked is None:
                    turn.loop.body.remove(node)
                else:
                    masked.args[1] = ast.Name(turn.scores, ast.Load())
                return right if left == turn.scores else left
    raise NotApplicableError("the scores are not multiplied by one factor")

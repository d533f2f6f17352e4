"""Weights of the softmax are powers of two of at most zero: they are rounded to bf16 without a case for NaN.

p = ag.exp2(…).to(bf16)                  ->        p = ag.exp2(…).to(bf16, finite=True)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.softmax_turn import the_turn
from argus.agent.lower.source import NotApplicableError, Source, is_ag, keyword, set_keyword


def finite_rounding(source: Source, params: Mapping[str, object]) -> None:
    """Round the weights as finite numbers."""
    turn = the_turn(source)
    powers = {ast.unparse(n.targets[0]) for n in turn.loop.body if isinstance(n, ast.Assign) and is_ag(n.value, "exp2")}
    for node in turn.loop.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "to"
            and ast.unparse(call.func.value) in powers
            and keyword(call, "finite") is None
        ):
            set_keyword(call, "finite", ast.Constant(True))
            return
    raise NotApplicableError("no powers of two are rounded")

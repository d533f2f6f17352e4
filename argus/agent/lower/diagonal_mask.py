"""Waves whose rows see all keys of a turn jump over the causal mask.

s = ag.where(s.Sk <= s.Sq, s, -inf)      ->        if KEYS * (j + 1) > 32 * block + 1:
                                                       s = ag.where(s.Sk <= s.Sq, s, -inf)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.pipeline import shifted, variable
from argus.agent.lower.softmax_turn import score_axes, start_of, the_turn
from argus.agent.lower.source import NotApplicableError, Source, is_ag
from argus.agent.lower.text import expression, statement


def the_mask(body: list[ast.stmt], scores: str) -> tuple[ast.Assign, ast.Call] | None:
    """`s = ag.where(a <= b, …, -inf)`, if it stands here unconditionally."""
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == scores and is_ag(node.value, "where"):
            call = node.value
            if isinstance(call, ast.Call) and len(call.args) == 3 and isinstance(call.args[0], ast.Compare):
                return node, call
    return None


def diagonal_mask(source: Source, params: Mapping[str, object]) -> None:
    """Mask only where a key of the turn is hidden from a row of the wave."""
    turn = the_turn(source)
    found = the_mask(turn.loop.body, turn.scores)
    if found is None:
        raise NotApplicableError("no mask stands in every turn")
    node, call = found
    keys, queries = score_axes(source, turn)
    test, at, name = call.args[0], start_of(source, turn), variable(turn.loop)
    compared = isinstance(test, ast.Compare) and ast.unparse(test.left) == f"{turn.scores}.{keys}"
    if not isinstance(test, ast.Compare) or not compared or keys not in at or queries not in at:
        raise NotApplicableError("the mask does not compare keys with rows")
    if ast.unparse(test.comparators[0]) != f"{turn.scores}.{queries}" or not isinstance(test.ops[0], ast.LtE | ast.Lt):
        raise NotApplicableError("the mask is not one along the diagonal")
    following = shifted(ast.Expr(at[keys]), name, expression(f"({name} + 1)"))
    end = ast.unparse(following)
    seen = ast.unparse(at[queries]) + (" + 1" if isinstance(test.ops[0], ast.LtE) else "")
    branch = statement(f"if {end} > {seen}:\n    pass")
    place = turn.loop.body.index(node)
    masked = ast.Assign([ast.Name(turn.scores, ast.Store())], ast.Call(call.func, list(call.args), []))
    if isinstance(masked.value, ast.Call):
        masked.value.args[1] = ast.Name(turn.scores, ast.Load())
    if isinstance(branch, ast.If):
        branch.body = [masked]
    before: list[ast.stmt] = []
    if ast.unparse(call.args[1]) != turn.scores:
        before = [ast.Assign([ast.Name(turn.scores, ast.Store())], call.args[1])]
    turn.loop.body[place : place + 1] = [*before, branch]

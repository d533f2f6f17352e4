"""Lazy rescaling of a skewed softmax: the reference follows the maximum only when that has grown by 2**powers.

    new = ag.max(top, s.max("Sk"))            new = ag.max(top, s.max("Sk"))
                                              new = ag.where((new - top) * factor > 8.0, new, top)
    keep = ag.exp2((top - new) * factor)  ->  keep = ag.exp2((top - new) * factor)
    o = o * keep                              if ag.as_index(…keep != 1.0…) == 1:
                                                  o = o * keep

Softmax may subtract any reference from the scores, as long as the powers stay in range. Where the reference stays, the
factor is exactly one, so the product with the outputs is left out by a branch; it stands after the turn's first
products. Sums are one number per row and are scaled in any case.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.score_pipeline import FIRST_PART, SECOND_PART
from argus.agent.lower.source import NotApplicableError, Source, is_ag, names
from argus.agent.lower.text import is_comment, statement

ENDS = (ast.If, ast.With)


def lazy_rescale(source: Source, params: Mapping[str, object]) -> None:
    """Let the reference lag behind the maximum by up to `powers` of two."""
    powers = float(str(params.get("powers", 8)))
    first, second = (ast.unparse(statement(mark)) for mark in (FIRST_PART, SECOND_PART))
    done = [0, 0]
    if any(is_ag(n, "as_index") for n in ast.walk(source.function)):
        raise NotApplicableError("the outputs are rescaled on a condition already")
    for block in source.blocks():
        for mark in [n for n in block if is_comment(n) and ast.unparse(n) in (first, second)]:
            if ast.unparse(mark) == first:
                done[0] += _on_condition(block, block.index(mark) + 1)
            else:
                done[1] += _lagging(block, block.index(mark) + 1, powers)
    if not all(done):
        raise NotApplicableError("no skewed turn follows a running maximum and rescales its outputs")
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "argus" and all(a.name != "i32" for a in node.names):
            node.names = sorted([*node.names, ast.alias("i32")], key=lambda a: (a.name.islower(), a.name))


def _part(block: list[ast.stmt], begin: int) -> tuple[list[ast.stmt], int]:
    """The statements of a part, scheduled or not, and where it ends in its block."""
    node = block[begin]
    if isinstance(node, ast.With):
        return node.body, begin + 1
    end = begin
    while end < len(block) and not isinstance(block[end], ENDS) and not is_comment(block[end]):
        end += 1
    return block, end


def _on_condition(block: list[ast.stmt], begin: int) -> int:
    """Move `o = o * keep` behind the part, where the factor is not one."""
    body, end = _part(block, begin)
    inside = body if body is not block else block[begin:end]
    for node in inside:
        value = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
            continue
        if ast.unparse(value.left) == ast.unparse(node.targets[0]) and isinstance(value.right, ast.Name):
            factor = value.right.id
            chosen = f"ag.where({factor} != 1.0, i32(1), i32(0))"
            branch = statement(f"if ag.as_index({chosen}, 0, 1, name='moved') == 1:\n    pass")
            if isinstance(branch, ast.If):
                branch.body = [node]
            body.remove(node)
            block.insert(end if body is not block else end - 1, branch)
            return 1
    return 0


def _lagging(block: list[ast.stmt], begin: int, powers: float) -> int:
    """The new reference is the old one unless the maximum has grown by more than `powers`."""
    body, end = _part(block, begin)
    inside = body if body is not block else block[begin:end]
    for node in inside:
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call) or not is_ag(call, "max"):
            continue
        new, top = ast.unparse(node.targets[0]), ast.unparse(call.args[0])
        grown = f"({new} - {top})"
        for other in inside:
            used = other.value if isinstance(other, ast.Assign) else None
            if isinstance(used, ast.Call) and is_ag(used, "exp2") and {new, top} <= names(used):
                inner = used.args[0]
                scaled = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult)
                factor = ast.unparse(inner.right) if scaled and isinstance(inner, ast.BinOp) else ""
                grown = f"({new} - {top}) * {factor}" if factor else grown
        body.insert(body.index(node) + 1, statement(f"{new} = ag.where({grown} > {powers}, {new}, {top})"))
        return 1
    return 0

"""One division per row instead of one per element: x / weight becomes x times the reciprocal of weight.

Y[…].store((e / weight).to(bf16), …)     ->        scale = ag.rcp(weight); Y[…].store((e * scale).to(bf16), …)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from argus.agent.lower.source import (
    NotApplicableError,
    Source,
)
from argus.agent.lower.text import statement


def reciprocal(source: Source, params: Mapping[str, object]) -> None:
    """`x / d` with one d per row becomes `x * inverse` with `inverse = ag.rcp(d)`, in every branch with d."""
    found = [(block, node, division) for block in source.blocks() for node in block if (division := _division(node))]
    if not found:
        raise NotApplicableError("nothing is divided by one value per row")
    divisor = found[0][2].right
    inverse = source.fresh("inverse")
    blocks: list[list[ast.stmt]] = []
    for block, node, division in found:
        if not isinstance(divisor, ast.Name) or ast.dump(division.right) != ast.dump(divisor) or block in blocks:
            continue
        blocks.append(block)
        where, place = _last_definition(source, divisor.id, node)
        where.insert(place, statement(f"{inverse} = ag.rcp({divisor.id})"))
        division.op, division.right = ast.Mult(), ast.Name(inverse, ast.Load())


def _division(node: ast.stmt) -> ast.BinOp | None:
    """A division by a name in a statement that has no statements of its own."""
    if isinstance(node, ast.For | ast.With | ast.If):
        return None
    for inner in ast.walk(node):
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div) and isinstance(inner.right, ast.Name):
            return inner
    return None


def _last_definition(source: Source, name: str, use: ast.stmt) -> tuple[list[ast.stmt], int]:
    """Where a value is final: after the last assignment before its use, in the innermost block that has one."""
    around = [(block, at) for block in source.blocks() for at, node in enumerate(block) if use in ast.walk(node)]
    for block, at in reversed(around):
        stores = [n for n, node in enumerate(block) if any(_assigns(inner, name) for inner in ast.walk(node))]
        before = [n for n in stores if n < at]
        if before:
            return block, before[-1] + 1
        if stores:
            return block, at
    raise NotApplicableError(f"{name} is not computed in the kernel")


def _assigns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name

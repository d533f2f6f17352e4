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
    """`x / d` with one d per row becomes `x * inverse` with `inverse = ag.rcp(d)`."""
    for outer in source.blocks():
        for node in outer:
            division = _division(node)
            if division is None or not isinstance(division.right, ast.Name):
                continue
            name = division.right.id
            block, place = _last_definition(source, name, node)
            inverse = source.fresh("inverse")
            block.insert(place, statement(f"{inverse} = ag.rcp({name})"))
            division.op, division.right = ast.Mult(), ast.Name(inverse, ast.Load())
            return
    raise NotApplicableError("nothing is divided by one value per row")


def _division(node: ast.stmt) -> ast.BinOp | None:
    """A division by a name in a statement that is no loop."""
    if isinstance(node, ast.For | ast.With):
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

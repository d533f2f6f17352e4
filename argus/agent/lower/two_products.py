"""Two products in one loop, the second on registers of the first one's result: where the techniques of attention apply.

    for j in ag.range(Sk // 32):
        s[…] = ag.mfma(k, q, s[…])                      the first product: scores
        …                                               a softmax between them
        o[…] = ag.mfma(v, p, o[…])                      the second takes registers of the first one's result

`two_products` finds that loop, `blocked` the grid with one blocked size; names do not matter.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.agent.lower.source import (
    NotApplicableError,
    Source,
    is_ag,
    names,
)


@dataclass(frozen=True, slots=True)
class TwoProducts:
    """The loop, the size it walks along and its step; the statements that multiply, and the scores' accumulator."""

    loop: ast.For
    size: str
    step: ast.expr
    first: ast.For
    second: ast.For
    scores: ast.Assign

    @property
    def variable(self) -> str:
        return self.loop.target.id if isinstance(self.loop.target, ast.Name) else ""


def two_products(source: Source) -> TwoProducts:
    """The loop over `SIZE // n` that multiplies twice."""
    for loop in ast.walk(source.function):
        if not isinstance(loop, ast.For) or not is_ag(loop.iter, "range") or not isinstance(loop.iter, ast.Call):
            continue
        products = [s for s in loop.body if isinstance(s, ast.For) and any(is_ag(n, "mfma") for n in ast.walk(s))]
        extent = loop.iter.args[-1]
        if len(products) != 2 or not (isinstance(extent, ast.BinOp) and isinstance(extent.op, ast.FloorDiv)):
            continue
        first, second = products
        zeros = [
            s
            for s in loop.body
            if isinstance(s, ast.Assign) and is_ag(s.value, "zeros") and names(s.targets[0]) & names(first)
        ]
        taken = any(isinstance(n, ast.Attribute) and n.attr == "regs" for n in ast.walk(second))
        if len(zeros) == 1 and taken and isinstance(extent.left, ast.Name):
            return TwoProducts(loop, extent.left.id, extent.right, first, second, zeros[0])
    raise NotApplicableError("no loop over a size has two products, the second from the registers of the first")


def blocked(source: Source) -> tuple[ast.Assign, ast.Call, str, str, ast.expr]:
    """The grid statement, its call, and its one blocked number with size and block: `block`, `Sq`, `32`."""
    given, call = source.grid()
    blocks = source.sizes()
    if len(blocks) != 1 or not isinstance(given.targets[0], ast.Tuple):
        raise NotApplicableError("the grid has not exactly one size divided by a block")
    name, block = next(iter(blocks.items()))
    return given, call, name, block.size, block.by

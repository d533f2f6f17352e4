"""Results that are added up by index: a specification of the form

    Y[t, n] = Y[t, n] + sum(where(token[r] == t, F(r, t, n), 0), r)

says that for every r the amount F(r, token[r], n) is added to Y[token[r], n]. Seen from r this is an ordinary result
V[r, n] = F(r, token[r], n) whose elements are added, each once, where token says. So the rules judge V: `value` and
`placed` that what is added for r is V[r, n] and goes to token[r], `covers` that every (r, n) is added exactly once.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from argus.ir.ops import Tensor


@dataclass(frozen=True, slots=True)
class Scattered:
    """The result seen from where its amounts come from: indices, expression, and which index is looked up where."""

    names: tuple[str, ...]
    value: ast.expr
    position: int
    through: Tensor


def scattered(
    target: ast.Subscript, names: tuple[str, ...], value: ast.expr, tensors: dict[str, Tensor]
) -> Scattered | None:
    """The reading of a statement of this form; None if it has another."""
    match value:
        case ast.BinOp(
            left=ast.Subscript() as before,
            op=ast.Add(),
            right=ast.Call(
                func=ast.Name(id="sum"),
                args=[
                    ast.Call(
                        func=ast.Name(id="where"),
                        args=[
                            ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]),
                            amount,
                            ast.Constant(value=0 | 0.0),
                        ],
                    ),
                    ast.Name(id=source),
                ],
            ),
        ) if ast.unparse(before) == ast.unparse(target) and source not in names:
            pass
        case _:
            return None
    looked_up, index = (left, right) if isinstance(left, ast.Subscript) else (right, left)
    match looked_up, index:
        case ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=place)), ast.Name(id=name) if place == source:
            through = tensors.get(table)
        case _:
            return None
    written = target.value.id if isinstance(target.value, ast.Name) else ""
    used = {n.id for n in ast.walk(amount) if isinstance(n, ast.Name)}
    bound = {
        n.args[1].id
        for n in ast.walk(amount)
        if isinstance(n, ast.Call) and _binds(n) and isinstance(n.args[1], ast.Name)
    }
    if through is None or through.written or name not in names or written in used or bound & {name, source}:
        return None
    position = names.index(name)
    seen = (*names[:position], source, *names[position + 1 :])
    return Scattered(seen, _Replace(name, looked_up).visit(amount), position, through)


def _binds(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in ("sum", "max", "min") and len(node.args) >= 2


class _Replace(ast.NodeTransformer):
    """An index replaced by an element of a tensor."""

    def __init__(self, name: str, by: ast.expr) -> None:
        self.name, self.by = name, by

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.by if node.id == self.name else node

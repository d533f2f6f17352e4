"""What only the source says: where the names of a line were set, and which branches were left out of the kernel.

    i = 64 + ag.thread()                       line 8
    y[i].store(v, guard=i < N)                 the names of its index and guard: i, set at line 8

What the IR calls an expression, the author has written in steps; a wrong step is not the line of the access. Of a name
that is set several times the last setting above the line counts. A branch that no launch takes is not in the IR at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeGuard

from argus.ir import ops
from argus.ir.kernel import Kernel
from argus.ir.types import Span

MOST = 3
MOVES = frozenset({"load", "store", "copy", "atomic_add", "atomic_max", "atomic_min"})


class Definition(NamedTuple):
    """A name, and the line that sets it."""

    name: str
    line: int


@lru_cache(maxsize=8)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def definitions(kernel: Kernel, span: Span, only_indices: bool) -> list[Definition]:
    """Where the names of a statement were set: those in its indices and guards, or all of them."""
    text = kernel.text_of(span.file)
    if not text:
        return []
    body = next((f for f in _functions(_tree(text)) if f.lineno <= span.line <= (f.end_lineno or 0)), None)
    if body is None:
        return []
    statement = _innermost(body, span)
    names = list(dict.fromkeys(_names(statement, only_indices))) if statement is not None else []
    found = list[Definition]()
    for name in names:
        line = max((n for n in _settings(body, name) if n < span.line), default=0)
        if line and line not in {one.line for one in found}:
            found.append(Definition(name, line))
    return sorted(found, key=lambda one: -one.line)[:MOST]


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _innermost(function: ast.FunctionDef, span: Span) -> ast.stmt | None:
    """The smallest statement around a place; of a loop or branch only its head counts."""
    found = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node is not function and node.lineno <= span.line <= (node.end_lineno or 0)
    ]
    return max(found, key=lambda node: node.lineno, default=None)


def _names(statement: ast.stmt, only_indices: bool) -> Iterator[str]:
    for node in ast.walk(statement):
        if not only_indices:
            parts: list[ast.AST] = [node]
        elif isinstance(node, ast.Subscript):
            parts = list(ast.walk(node.slice))
        elif isinstance(node, ast.keyword) and node.arg == "guard":
            parts = list(ast.walk(node.value))
        else:
            continue
        yield from (part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))


def _settings(function: ast.FunctionDef, name: str) -> Iterator[int]:
    """Lines that set a name."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            yield node.lineno


def never_taken(kernel: Kernel) -> list[int]:
    """Branches on something computed with an arm of loads or stores none of which is in the kernel."""
    function = next((f for f in _functions(_tree(kernel.source)) if f.name == kernel.name), None)
    if function is None:
        return []
    lines = {op.span.line for op in ops.walk(kernel.body) if op.span.file == kernel.file}
    own = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found = []
    for branch in (node for node in ast.walk(function) if isinstance(node, ast.If)):
        computed = any(isinstance(n, ast.Name) and n.id in own for n in ast.walk(branch.test))
        moves = {n.lineno for arm in branch.body for n in ast.walk(arm) if _moves(n)}
        if computed and moves and not moves & lines:
            found.append(branch.lineno)
    return found


def _moves(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVES

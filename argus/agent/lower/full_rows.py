"""Rows that fill their registers exactly take a path of their own, without masks.

    x = X[row].load(PART, width=16, guard="shape").to(f32)         if N == WIDEST:
    x = ag.where(x.n < N, x, -inf)                                     x = X[row].load(PART, width=16).to(f32)
    …                                                       ->         …
    Y[row].store(y, width=16, guard="shape")                           Y[row].store(y, width=16)
                                                                   else:
                                                                       … as before

A row held in registers is masked for every length up to what they hold. At the one length that leaves nothing over,
all comparisons are true: the branch asks once for the whole workgroup. What is proved of either path is proved with
its condition.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

from argus.agent.lower.row_walks import row_owner
from argus.agent.lower.source import NotApplicableError, Source, drop_keyword, is_ag, keyword, names
from argus.agent.lower.text import expression

WIDEST = "WIDEST"


def full_rows(source: Source, params: Mapping[str, object]) -> None:
    """A branch on the row's length around everything from the first guarded load on."""
    _, _, _, axis = row_owner(source)
    if source.constant(WIDEST) is None:
        raise NotApplicableError("no row is held in registers; `row_resident` comes first")
    if any(isinstance(node, ast.If) and WIDEST in names(node.test) for node in ast.walk(source.function)):
        raise NotApplicableError("full rows have a path of their own already")
    block, at, size = _first_masked(source, axis)
    masked = block[at:]
    full = _unmasked(copy.deepcopy(masked), axis, size)
    branch = ast.If(expression(f"{size} == {WIDEST}"), full, masked)
    block[at:] = [branch]


def _first_masked(source: Source, axis: str) -> tuple[list[ast.stmt], int, str]:
    """Where the first load of a row guarded by its shape stands, and the size of the row."""
    tensors = source.tensors()
    for load in source.loads():
        if load.place in tensors and _by_shape(load.call):
            size = next((name for name in tensors[load.place].axes if name.lower() == axis), None)
            if size is not None:
                return load.block, load.block.index(load.statement), size
    raise NotApplicableError("no load of a row is guarded by the shape alone")


def _by_shape(call: ast.Call) -> bool:
    guard = keyword(call, "guard")
    return isinstance(guard, ast.Constant) and guard.value == "shape"


def _unmasked(block: Sequence[ast.stmt], axis: str, size: str) -> list[ast.stmt]:
    """Statements without guards by the shape and without masks of the row; what is left of `x = where(…, x, …)` is
    nothing."""
    found: list[ast.stmt] = []
    for node in block:
        new = _Full(axis, size).visit(node)
        if not _to_itself(new):
            found.append(new)
    return found


def _to_itself(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == ast.unparse(node.value)


class _Full(ast.NodeTransformer):
    """`ag.where(x.n < N, value, neutral)` is the value; an access guarded by the shape has no guard."""

    def __init__(self, axis: str, size: str) -> None:
        self._axis, self._size = axis, size

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if is_ag(node, "where") and len(node.args) == 3 and self._inside(node.args[0]):
            return node.args[1]
        if _by_shape(node):
            drop_keyword(node, "guard")
        return node

    def _inside(self, condition: ast.expr) -> bool:
        return (
            isinstance(condition, ast.Compare)
            and len(condition.ops) == 1
            and isinstance(condition.ops[0], ast.Lt)
            and isinstance(condition.left, ast.Attribute)
            and condition.left.attr == self._axis
            and ast.unparse(condition.comparators[0]) == self._size
        )
